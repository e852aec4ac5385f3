"""Time control: the only place that turns limits, game clock, caller's deadline and margins into one time budget.

limits.max_seconds ─┐
limits.clock ───────┤ clock_share
caller's deadline ──┤ less the reply time      → the minimum of them: Budget.seconds, from the moment of the request
quota of a client ──┘
Budget.deadline_ns: less the time to make the final report
"""

import time
from dataclasses import dataclass, replace

from plyd.engines.core.intrinsics import NEVER
from plyd.engines.core.search import Clock, Limits

EXPECTED_MOVES = 30  # assumed for a clock without `moves_to_go`
INCREMENT_SHARE = 0.8
CLOCK_RESERVE_SECONDS = 0.05  # always left on the clock
REPLY_SECONDS = 0.02  # reserved for the reply to reach the caller
DEADLINE_ROUNDING = 0.01  # gRPC rounds deadlines to few digits, which may lengthen one by this share
ANSWER_NS = 1_000_000  # reserved for the final report
ANSWER_SHARE = 0.1  # at most this share of the budget is reserved for the final report


@dataclass(frozen=True, slots=True)
class Budget:
    """The time budget of one search: its start on the monotonic clock, and its seconds (None: no limit)."""

    began_ns: int
    seconds: float | None

    @classmethod
    def start(
        cls, limits: Limits, *, caller_seconds: float | None = None, most_seconds: float | None = None
    ) -> "Budget":
        """The budget of a search that starts now: the minimum of limits, caller's deadline and `most_seconds`."""
        caller = None if caller_seconds is None else caller_seconds * (1 - DEADLINE_ROUNDING) - REPLY_SECONDS
        bounds = (limits.max_seconds, clock_share(limits.clock), caller, most_seconds)
        return cls(time.monotonic_ns(), min((bound for bound in bounds if bound is not None), default=None))

    @property
    def deadline_ns(self) -> int:
        """When the search must end for its answer to be in time; NEVER without a limit."""
        if self.seconds is None:
            return NEVER
        whole_ns = int(min(self.seconds * 1e9, NEVER))
        return min(NEVER, self.began_ns + whole_ns - min(ANSWER_NS, int(max(0, whole_ns) * ANSWER_SHARE)))

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the search began."""
        return (time.monotonic_ns() - self.began_ns) / 1e9

    def left_of(self, limits: Limits) -> Limits:
        """The limits, with the rest of this budget as their only time limit."""
        left = None if self.seconds is None else max(0.0, self.seconds - self.elapsed_seconds)
        return replace(limits, max_seconds=left, clock=None)


def clock_share(clock: Clock | None) -> float | None:
    """Seconds of the game clock to spend on this move."""
    if clock is None:
        return None
    moves = EXPECTED_MOVES if clock.moves_to_go is None else clock.moves_to_go
    share = clock.remaining_seconds / moves + INCREMENT_SHARE * clock.increment_seconds
    return max(0.0, min(share, clock.remaining_seconds - CLOCK_RESERVE_SECONDS))

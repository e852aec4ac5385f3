"""Time control: the only place that turns limits, game clock, caller's deadline and margins into one time budget.

limits.max_seconds ─┐
limits.clock ───────┤ most_of_clock
caller's deadline ──┤ less the reply time      → the minimum of them: Budget.seconds, from the moment of the request
quota of a client ──┘
Budget.deadline_ns: less the time to make the final report

With a game clock, `usual_seconds` is the share of an average move. A search ends earlier if the move is easy, and may
go on until `seconds` if it is hard: after `effort` times the usual time, which the search knows (SearchRun.effort).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from plyd.engines.core.intrinsics import NEVER
from plyd.engines.core.search import Clock, Limits

EXPECTED_MOVES = 20  # assumed for a clock without `moves_to_go`
INCREMENT_SHARE = 0.8
MOST_EFFORT = 2.5  # times the usual time that a hard move may take,
MOST_CLOCK_SHARE = 0.2  # and at most this share of the clock, unless the usual time is more
RIVAL_SHARE = 0.5  # of the visits of the best move
CLOCK_RESERVE_SECONDS = 0.05  # always left on the clock
REPLY_SECONDS = 0.02  # reserved for the reply to reach the caller
DEADLINE_ROUNDING = 0.01  # gRPC rounds deadlines to few digits, which may lengthen one by this share
ANSWER_NS = 1_000_000  # reserved for the final report
ANSWER_SHARE = 0.1  # at most this share of the budget is reserved for the final report


@dataclass(frozen=True, slots=True)
class Budget:
    """The time budget of one search: its start on the monotonic clock, and its seconds (None: no limit).

    `usual_seconds` is None without a game clock.
    """

    began_ns: int
    seconds: float | None
    usual_seconds: float | None = None

    @classmethod
    def start(
        cls, limits: Limits, *, caller_seconds: float | None = None, most_seconds: float | None = None
    ) -> "Budget":
        """The budget of a search that starts now: the minimum of limits, caller's deadline and `most_seconds`."""
        caller = None if caller_seconds is None else caller_seconds * (1 - DEADLINE_ROUNDING) - REPLY_SECONDS
        bounds = (limits.max_seconds, most_of_clock(limits.clock), caller, most_seconds)
        usual = limits.usual_seconds if limits.clock is None else clock_share(limits.clock)
        return cls(time.monotonic_ns(), min((bound for bound in bounds if bound is not None), default=None), usual)

    @property
    def deadline_ns(self) -> int:
        """When the search must end for its answer to be in time; NEVER without a limit."""
        if self.seconds is None:
            return NEVER
        whole_ns = int(min(self.seconds * 1e9, NEVER))
        return min(NEVER, self.began_ns + whole_ns - min(ANSWER_NS, int(max(0, whole_ns) * ANSWER_SHARE)))

    @property
    def planned_seconds(self) -> float | None:
        """What a search should plan with: the usual time with a game clock, else all of it."""
        bounds = (self.usual_seconds, self.seconds)
        return min((bound for bound in bounds if bound is not None), default=None)

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the search began."""
        return (time.monotonic_ns() - self.began_ns) / 1e9

    def left_of(self, limits: Limits) -> Limits:
        """The limits, with the rest of this budget as their only time limit."""
        elapsed = self.elapsed_seconds
        left = None if self.seconds is None else max(0.0, self.seconds - elapsed)
        usual = None if self.usual_seconds is None else max(0.0, self.usual_seconds - elapsed)
        return replace(limits, max_seconds=left, usual_seconds=usual, clock=None)


def clock_share(clock: Clock) -> float:
    """Seconds of the game clock for an average move."""
    moves = EXPECTED_MOVES if clock.moves_to_go is None else clock.moves_to_go
    share = clock.remaining_seconds / moves + INCREMENT_SHARE * clock.increment_seconds
    return max(0.0, min(share, clock.remaining_seconds - CLOCK_RESERVE_SECONDS))


def most_of_clock(clock: Clock | None) -> float | None:
    """The most seconds of the game clock that one move may take."""
    if clock is None:
        return None
    usual, left = clock_share(clock), clock.remaining_seconds
    return max(0.0, min(MOST_EFFORT * usual, max(usual, MOST_CLOCK_SHARE * left), left - CLOCK_RESERVE_SECONDS))


def effort_by_visits(moves: Sequence[tuple[int, float]], new_visits: int, share: float) -> float:
    """The effort of a search that plays its most visited move, from the visits and the value of each move.

    None is left if no other move can catch up in the rest of the usual time, of which `share` has passed. The most is
    worth while if a move with nearly as many visits has the higher value.
    """
    if len(moves) < 2:
        return 0.0
    (best_visits, best_value), *others = sorted(moves, reverse=True)
    if 0 < share < 1 and best_visits - others[0][0] > new_visits * (1 / share - 1):
        return 0.0
    has_rival = any(visits > RIVAL_SHARE * best_visits and value > best_value for visits, value in others)
    return MOST_EFFORT if has_rival else 1.0

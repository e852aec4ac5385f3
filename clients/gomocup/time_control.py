"""Deadlines of a move from the time limits of a Gomocup manager. Does not read the system clock.

The engine gets a plain time per move; what is specific to Gomocup is here: limits in milliseconds that may arrive at
any time, "as fast as possible", a match time without an increment, and an answer that must be sent before the limit.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from plyd.protocols.gomocup import UNLIMITED_MS

FAST_MS = 80  # time per move for "as fast as possible"
MIN_RESERVE_MS, MAX_RESERVE_MS = 40, 200  # kept for communication with the daemon and for a slow machine
RESERVE_SHARE = 1 / 20  # of the limit
LAG_FACTOR = 3  # reserve = this times the measured lag, so the reserve grows until an answer is in time
MAX_LAG_MS, LAG_DECAY = 200, 0.9  # most that one answer adds, and the share of a lag that is kept per move
EASY_SHARE, STABLE_SHARE = 0.5, 0.15  # a move that is best since 15% of its time is sent after half of it
MIN_WAIT_MS = 10  # for the final report to arrive; limits shorter than twice this may be exceeded
EXPECTED_MOVES = 20  # of ours in an average game
MIN_MOVES_LEFT = 8  # assumed to follow, however long the game is


class MoveDeadlines(NamedTuple):
    """Seconds from the arrival of the command."""

    search: float  # the search ends
    answer: float  # the move is sent, whether the search has ended or not


@dataclass(slots=True)
class GomocupClock:
    """The manager's time limits and the time used so far, in milliseconds."""

    default_ms: int  # per move, if the manager sets no limit
    turn_ms: int | None = None  # per move; 0: as fast as possible
    match_ms: int | None = None  # per game; 0: no limit
    left_ms: int | None = None  # remaining for the game, when the manager last sent it
    spent_ms: int = 0  # since then, or since the game began
    lag_ms: float = 0.0  # recent worst delay: of an answer after its search's end, or of this process by others

    def restart(self) -> None:
        """A new game begins."""
        self.left_ms, self.spent_ms = None, 0

    def set_left(self, left_ms: int) -> None:
        """Set the time that remains for the game."""
        self.left_ms, self.spent_ms = left_ms, 0

    def spent(self, seconds: float, search: float = math.inf) -> None:
        """Deduct the time of a move whose search had a deadline of `search` seconds, and measure the lag."""
        self.spent_ms += round(seconds * 1000)
        lag = min((seconds - search) * 1000, MAX_LAG_MS)  # negative if the search ended early: no measurement
        self.lag_ms = max(lag, self.lag_ms * (LAG_DECAY if lag > 0 else 1))

    def felt(self, seconds: float) -> bool:
        """Note that this process ran `seconds` later than it wanted; whether the reserve must grow.

        A busy machine delays answers now and then. Such a delay is seen somewhere in a move before it makes one late.
        """
        lag = min(seconds * 1000, MAX_LAG_MS)
        is_worse = lag > self.lag_ms
        self.lag_ms = max(lag, self.lag_ms)
        return is_worse

    @property
    def has_match_limit(self) -> bool:
        """Whether time saved on a move can be used for later moves."""
        left = self.left_ms if self.left_ms is not None else self.match_ms or UNLIMITED_MS
        return left < UNLIMITED_MS

    def deadlines(self, own_moves: int) -> MoveDeadlines:
        """The deadlines of our next move, after `own_moves` of ours."""
        turn = self.default_ms if self.turn_ms is None else self.turn_ms
        left = self.left_ms if self.left_ms is not None else self.match_ms or UNLIMITED_MS
        left -= self.spent_ms if left < UNLIMITED_MS else 0
        return move_deadlines(min(turn, UNLIMITED_MS) if turn > 0 else FAST_MS, left, own_moves, self.lag_ms)


def is_easy(stable: float, elapsed: float, search: float) -> bool:
    """Whether a move may be sent early: best since `stable` seconds of a search, of which `elapsed` have passed."""
    return stable <= search * STABLE_SHARE and elapsed >= search * EASY_SHARE


def move_deadlines(turn_ms: int, left_ms: int, own_moves: int, lag_ms: float = 0.0) -> MoveDeadlines:
    """Deadlines from the limit of a move and the time left for the game, of which a move gets 5% to 12.5%."""
    limit = max(min(turn_ms, left_ms), 0)
    reserve = min(limit / 2, max(MIN_RESERVE_MS, min(limit * RESERVE_SHARE, MAX_RESERVE_MS), LAG_FACTOR * lag_ms))
    share = max(left_ms, 0) / max(MIN_MOVES_LEFT, EXPECTED_MOVES - own_moves) if left_ms < UNLIMITED_MS else math.inf
    search = min(limit - reserve, share)
    answer = max(limit - reserve / 2, search + MIN_WAIT_MS)
    return MoveDeadlines(search / 1000, answer / 1000)

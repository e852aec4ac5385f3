"""How long to think about a move, from what a Gomocup manager says about time. Reads no clock itself."""

import math
from dataclasses import dataclass
from typing import NamedTuple

FAST_MS = 80  # "as fast as possible"
UNLIMITED_MS = 2_147_483_647  # the manager's word for no limit
LEAST_RESERVE_MS, MOST_RESERVE_MS = 40, 200  # for the way to the daemon and back, and for a machine that has a bad day
RESERVE_SHARE = 1 / 20
LAG_SHARE = 3  # times the delay that answers had, for the next one: grows until an answer comes within its time
MOST_LAG_MS, LAG_KEPT = 200, 0.7  # of one delay; and how much of it is still expected a move later
LEAST_WAIT_MS = 10  # for a search that has ended to be heard of; shorter limits than two of these may be overstepped
GAME_MOVES = 20  # ours in a game of ordinary length
LEAST_MOVES = 8  # that still may come, however long the game is


class Allowance(NamedTuple):
    """Seconds from the command's arrival."""

    search: float  # when the search is to end
    answer: float  # when we answer, with or without the search


@dataclass(slots=True)
class Clock:
    """What is known of the time, in milliseconds."""

    default_ms: int  # a move, if the manager says nothing
    turn_ms: int | None = None  # 0: as fast as possible
    match_ms: int | None = None  # 0: no limit
    left_ms: int | None = None  # of the match, when it was last told
    spent_ms: int = 0  # since then, or since the match began
    lag_ms: float = 0.0  # how long after the end of a search an answer is out, at worst, of late

    def restart(self) -> None:
        """A new game begins."""
        self.left_ms, self.spent_ms = None, 0

    def set_left(self, left_ms: int) -> None:
        """So much is left of the match."""
        self.left_ms, self.spent_ms = left_ms, 0

    def spent(self, seconds: float, search: float = math.inf) -> None:
        """We took so long for a move; its search was to end after `search` seconds."""
        self.spent_ms += round(seconds * 1000)
        lag = min((seconds - search) * 1000, MOST_LAG_MS)  # negative if the search ended early: that says nothing
        self.lag_ms = max(lag, self.lag_ms * (LAG_KEPT if lag > 0 else 1))

    def allowance(self, own_moves: int) -> Allowance:
        """How long this move may take, after so many of ours."""
        turn = self.default_ms if self.turn_ms is None else self.turn_ms
        left = self.left_ms if self.left_ms is not None else self.match_ms or UNLIMITED_MS
        left -= self.spent_ms if left < UNLIMITED_MS else 0
        return allowance(min(turn, UNLIMITED_MS) if turn > 0 else FAST_MS, left, own_moves, self.lag_ms)


def allowance(turn_ms: int, left_ms: int, own_moves: int, lag_ms: float = 0.0) -> Allowance:
    """What to spend of a move's limit, and of what is left for the game: 5% of that at first, an eighth at most."""
    limit = max(min(turn_ms, left_ms), 0)
    reserve = min(limit / 2, max(LEAST_RESERVE_MS, min(limit * RESERVE_SHARE, MOST_RESERVE_MS), LAG_SHARE * lag_ms))
    share = max(left_ms, 0) / max(LEAST_MOVES, GAME_MOVES - own_moves) if left_ms < UNLIMITED_MS else math.inf
    search = min(limit - reserve, share)
    answer = max(limit - reserve / 2, search + LEAST_WAIT_MS)
    return Allowance(search / 1000, answer / 1000)

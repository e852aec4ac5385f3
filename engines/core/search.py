"""The search contract: one `Limits` in, any number of `Report`s out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.rules import Side


@dataclass(frozen=True, slots=True)
class Clock:
    """A game clock of the side to move."""

    remaining_seconds: float
    increment_seconds: float = 0.0
    moves_to_go: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search has to end; whatever binds first ends it. None is no limit."""

    max_seconds: float | None = None
    clock: Clock | None = None
    max_nodes: int | None = None
    max_depth: int | None = None
    max_lines: int = 1


def upper(limit: int | None) -> int:
    """A limit as a number that a kernel can count to."""
    return NEVER if limit is None else min(limit, NEVER)


class Result(Enum):
    """Result of a two-player game for one of them."""

    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class ExpectedPoints:
    """Points still to be gained from here until the game ends, on average."""

    points: float


@dataclass(frozen=True, slots=True)
class WinProbability:
    """Probability of winning, where a draw counts one half."""

    probability: float


@dataclass(frozen=True, slots=True)
class Proven:
    """A result that is certain, and the plies until it, if known."""

    result: Result
    plies: int | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The position cannot occur, so it has no value."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a position is worth, and to whom: more is better for `point_of_view`."""

    point_of_view: Side
    value: ExpectedPoints | WinProbability | Proven | Unreachable
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of play, first move first, and its worth."""

    moves: tuple[str, ...]
    score: Score
    visits: int | None = None
    depth: int | None = None
    probability: float | None = None
    prior: float | None = None


class StopReason(Enum):
    """Why a search ended."""

    FINISHED = "finished"  # nothing left to find
    TIME = "time"
    NODES = "nodes"
    DEPTH = "depth"
    STOPPED = "stopped"
    NO_SEARCH = "no search"  # the game is over, or the position cannot occur


@dataclass(frozen=True, slots=True)
class Report:
    """What a search knows so far. It is the last, and final, if it has a stop reason."""

    score: Score
    move: str | None = None
    lines: tuple[Line, ...] = ()
    nodes: int = 0
    depth: int = 0
    seconds: float = 0.0
    stop_reason: StopReason | None = None

    @property
    def final(self) -> bool:
        """Whether this is the last report of its search."""
        return self.stop_reason is not None


class Searcher(Protocol):
    """Searches positions of one game, one at a time, and owns the memory it needs for that."""

    def search(self, position: Any, limits: Limits, stop: Stop) -> Iterator[Report]:
        """Reports as the search goes on. The last report, and only the last, is final.

        Ends by itself when a limit binds, soon after `stop` is set, or when there is nothing left to find. A finished
        game is not an error: one final report with no move.
        """

"""The search contract: one `Limits` in, any number of `Report`s out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.rules import Side


@dataclass(frozen=True, slots=True)
class Clock:
    """The game clock of the side to move."""

    remaining_seconds: float
    increment_seconds: float = 0.0
    moves_to_go: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search must end; the first limit reached ends it. None: no limit."""

    max_seconds: float | None = None
    clock: Clock | None = None
    max_nodes: int | None = None  # new ones, without those kept from earlier searches
    max_depth: int | None = None
    max_lines: int = 1
    usual_seconds: float | None = None  # with `max_seconds` from a game clock: the time of an average move


def upper(limit: int | None) -> int:
    """A limit as an integer for a kernel; NEVER if there is none."""
    return NEVER if limit is None else min(limit, NEVER)


class Result(Enum):
    """Result of a two-player game for one player."""

    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class ExpectedPoints:
    """Expected points from here to the end of the game, not counting those already gained."""

    points: float


@dataclass(frozen=True, slots=True)
class WinProbability:
    """Probability of winning; a draw counts one half."""

    probability: float


@dataclass(frozen=True, slots=True)
class Proven:
    """A proven result, and the plies to it if known."""

    result: Result
    plies: int | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The position cannot occur in a game, so it has no value."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No value is given: an outside program may tell its move and nothing else."""


@dataclass(frozen=True, slots=True)
class Score:
    """The value of a position for `point_of_view`: more is better for that side."""

    point_of_view: Side
    value: ExpectedPoints | WinProbability | Proven | Unreachable | Unknown
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of play, first move first, and its score."""

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
    """The result of a search so far. A report with a stop reason is the final one."""

    score: Score
    move: str | None = None
    lines: tuple[Line, ...] = ()
    nodes: int = 0  # of this search alone
    depth: int = 0
    seconds: float = 0.0
    stop_reason: StopReason | None = None
    kept_nodes: int = 0  # of earlier searches, which this one began with

    @property
    def final(self) -> bool:
        """Whether this is the last report of its search."""
        return self.stop_reason is not None


class FastPlayer(Protocol):
    """Makes many moves of one game at a time."""

    def play(self, position: Any, most: int, stop: Stop) -> tuple[int, list[str]]:
        """The moves from a position in which a player is to move, and how many of them are a player's: `most`, or fewer
        if the game ends, or soon after `stop` is set.

        Chance has answered the last one. The next call goes on from the position after them.
        """


class Searcher(Protocol):
    """Searches positions of one game, one at a time, and owns the memory for that."""

    def search(self, position: Any, limits: Limits, stop: Stop) -> Iterator[Report]:
        """Reports during the search. The last report, and only the last, is final.

        Ends when a limit is reached, soon after `stop` is set, or when nothing is left to find. A finished game is not
        an error: it gets one final report with no move.
        """

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches, of what was granted to it. Called while it does not search."""


class GameSearcher(ABC):
    """A Searcher that is told, before each search, how the game came to the position."""

    @abstractmethod
    def follow(self, start: str, moves: Sequence[str]) -> None:
        """The game whose current position is searched next: the text of its start, and all moves from there."""

    @abstractmethod
    def search(self, position: Any, limits: Limits, stop: Stop) -> Iterator[Report]:
        """See Searcher."""

    @abstractmethod
    def touched_megabytes(self) -> int:
        """See Searcher."""

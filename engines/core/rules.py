"""Types that all games share: sides, outcomes, boards, moves, and the contract of a rulebook."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol


class Side(Enum):
    """The side that acts, or from whose point of view a value is given."""

    PLAYER_ONE = "player one"  # the player who moves first; the only player of a one-player game
    PLAYER_TWO = "player two"
    ENVIRONMENT = "environment"  # chance, or an opponent in its place


class Outcome(Enum):
    """State of a game: ongoing, or how it ended."""

    ONGOING = "ongoing"
    ENDED = "ended"  # a one-player game is over; its points are the result
    PLAYER_ONE_WINS = "player one wins"
    PLAYER_TWO_WINS = "player two wins"
    DRAW = "draw"


class MoveKind(Enum):
    """How a person makes a move."""

    CELL = "points at one cell"
    FROM_TO = "points at one cell, then at another"
    SLIDE = "slides the whole board: up, right, down or left"
    PASS = "passes"  # noqa: S105
    BUTTON = "presses a button with the move's text"


@dataclass(frozen=True, slots=True)
class Board:
    """The board for display: a label for each cell, row by row, "" for an empty cell; and the line that has won."""

    rows: int
    columns: int
    cells: tuple[str, ...]
    winning_cells: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A legal move: its text, the cell it fills (None if not a single cell), its probability (chance moves only).

    The text is one word without any of .,:# so that links and text files can hold a list of moves.
    `cells` are all cells that a person points at, in order, if there are several.
    """

    text: str
    cell: int | None = None
    probability: float | None = None
    cells: tuple[int, ...] = ()
    kind: MoveKind = MoveKind.CELL


class Step(NamedTuple):
    """The position after a move, the points that the move gained, and the cells that show it as the last move."""

    position: Any
    points: float
    cells: tuple[int, ...] = ()


class Rules(Protocol):
    """The rulebook of one variant of a game. Positions are immutable, comparable values of the game's own type.

    `parse(text(p)) == p` for every position that `parse` and `play` return. An invalid text or move raises BadPosition
    or BadMove.
    """

    @property
    def summary(self) -> str:
        """One sentence on how this variant differs."""

    @property
    def is_quick(self) -> bool:
        """Whether every method takes at most about a millisecond, whatever the position."""

    def start(self) -> Any:
        """The initial position."""

    def parse(self, text: str) -> Any:
        """The position written as a text."""

    def text(self, position: Any) -> str:
        """The text of a position."""

    def to_move(self, position: Any) -> Side | None:
        """The side to move, or None if the game is over."""

    def outcome(self, position: Any) -> Outcome:
        """Whether the game is over, and who won."""

    def legal_moves(self, position: Any) -> Sequence[Move]:
        """The legal moves of the side to move; if chance moves, their probabilities sum to 1."""

    def play(self, position: Any, move: str) -> Step:
        """The position after a legal move, and the points it gained."""

    def board(self, position: Any) -> Board:
        """The board for display."""

    def picture(self, position: Any) -> str:
        """The board as plain text."""


def grid(board: Board) -> str:
    """A board as rows of right-aligned labels, with a dot for each empty cell."""
    labels = [cell or "." for cell in board.cells]
    width = max(map(len, labels))
    rows = (labels[i : i + board.columns] for i in range(0, len(labels), board.columns))
    return "\n".join(" ".join(label.rjust(width) for label in row) for row in rows)

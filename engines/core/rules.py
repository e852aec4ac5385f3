"""What a game is made of, for every game: sides, outcomes, boards, moves, and the rulebook's contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol


class Side(Enum):
    """Who acts, or from whose point of view a value speaks."""

    PLAYER_ONE = "player one"  # the player who moves first; the only player of a one-player game
    PLAYER_TWO = "player two"
    ENVIRONMENT = "environment"  # chance, or whoever takes its place


class Outcome(Enum):
    """How a game stands or ended."""

    ONGOING = "ongoing"
    ENDED = "ended"  # a one-player game is over; the points say how well it went
    PLAYER_ONE_WINS = "player one wins"
    PLAYER_TWO_WINS = "player two wins"
    DRAW = "draw"


@dataclass(frozen=True, slots=True)
class Board:
    """The board as a person sees it: a label for each cell, row by row, "" for an empty one."""

    rows: int
    columns: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A legal move: its text, the cell it fills (if one), its probability (if chance makes it)."""

    text: str
    cell: int | None = None
    probability: float | None = None


class Step(NamedTuple):
    """What a move leads to: the position after it, and the points it gained."""

    position: Any
    points: float


class Rules(Protocol):
    """The rulebook of one variant of a game. Positions are values of the game's own type: immutable, comparable.

    `parse(text(p)) == p` for every position that `parse` and `play` give. Whatever is wrong with a text or a move
    raises BadPosition or BadMove.
    """

    @property
    def summary(self) -> str:
        """One sentence on what is special about this variant."""

    def start(self) -> Any:
        """The position a game begins from."""

    def parse(self, text: str) -> Any:
        """The position that a text names."""

    def text(self, position: Any) -> str:
        """The text that names a position."""

    def to_move(self, position: Any) -> Side | None:
        """The side to move, or None if the game is over."""

    def outcome(self, position: Any) -> Outcome:
        """How the game stands."""

    def legal_moves(self, position: Any) -> Sequence[Move]:
        """The moves of the side to move; where chance moves, their probabilities sum to 1."""

    def play(self, position: Any, move: str) -> Step:
        """The position after a legal move, and the points it gained."""

    def board(self, position: Any) -> Board:
        """The board as a person sees it."""

    def picture(self, position: Any) -> str:
        """The board drawn in plain text."""


def grid(board: Board) -> str:
    """A board drawn as rows of right-aligned labels, a dot for each empty cell."""
    labels = [cell or "." for cell in board.cells]
    width = max(map(len, labels))
    rows = (labels[i : i + board.columns] for i in range(0, len(labels), board.columns))
    return "\n".join(" ".join(label.rjust(width) for label in row) for row in rows)

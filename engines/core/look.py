"""How a game looks: what a page or a terminal has to know to draw it and to take moves, so that it guesses nothing.

The messages BoardLook, SideLook and StartForm of the schema have the same fields, documented at length.
"""

from dataclasses import dataclass
from enum import Enum

from plyd.engines.core.rules import Side


class BoardKind(Enum):
    """The kind of board."""

    GRID = "a plain grid of labels"
    TILES = "numbered tiles that slide"
    POINTS = "stones where lines cross"
    CELLS = "stones in the cells of a grid"
    DROPPED = "stones dropped into columns"


@dataclass(frozen=True, slots=True)
class BoardLook:
    """How a board is drawn; labels are those of the largest board."""

    kind: BoardKind = BoardKind.GRID
    column_labels: tuple[str, ...] = ()
    row_labels: tuple[str, ...] = ()
    rows_from_bottom: bool = False
    empty_is_open: bool = False
    """Whether a player may normally move to every empty cell, so that one without a legal move is forbidden."""


@dataclass(frozen=True, slots=True)
class SideLook:
    """One side: its name, the label of its stones on the board, and their colour as #rrggbb."""

    side: Side
    name: str
    stone: str = ""
    colour: str = ""


@dataclass(frozen=True, slots=True)
class StartForm:
    """How the start on a board of another size is written, and the size of the ordinary start."""

    template: str
    rows: int
    columns: int
    square: bool = False
    step: int = 1
    blocked_cell: str = ""

    def text(self, rows: int, columns: int) -> str:
        """The start on a board of this size."""
        return self.template.format(rows=rows, columns=columns)


def numbers(count: int) -> tuple[str, ...]:
    """Labels 1, 2, 3, ..."""
    return tuple(map(str, range(1, count + 1)))

"""Positions that are the same but for a turn or a mirror image of the board.

A rulebook may have `images`. Then what a daemon knows of a position serves its images too: one of them stands for all,
and the moves of a report are turned from one to the other. Options of an engine must not name cells or directions then.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


class Image(NamedTuple):
    """An image of a position: the position, and how a move's text is written there and back here."""

    position: Any
    there: Callable[[str], str]
    back: Callable[[str], str]


@runtime_checkable
class HasImages(Protocol):
    """A rulebook that knows the symmetries of its game."""

    def images(self, position: Any) -> Sequence[Image]:
        """Every image of a position, the position itself first. Two of them may be equal.

        Each legal move here is legal there, and the positions after it are images of each other in the same way. A text
        that is no move raises BadMove.
        """


class Turn(NamedTuple):
    """A symmetry of a grid: rows and columns are swapped, then the rows are reversed, then the columns."""

    swaps: bool
    flips: bool
    mirrors: bool

    @property
    def inverse(self) -> "Turn":
        """The turn that undoes this one."""
        return Turn(self.swaps, self.mirrors, self.flips) if self.swaps else self

    def point(self, row: int, column: int, rows: int, columns: int) -> tuple[int, int]:
        """Where a point of a grid of so many rows and columns goes to."""
        if self.swaps:
            row, column, rows, columns = column, row, columns, rows
        return rows - 1 - row if self.flips else row, columns - 1 - column if self.mirrors else column

    def grid(self, grid: Sequence[Sequence[T]]) -> list[tuple[T, ...]]:
        """The rows of a grid that is turned."""
        rows = [tuple(row) for row in grid]
        if self.swaps:
            rows = list(zip(*rows, strict=True))
        if self.flips:
            rows.reverse()
        return [row[::-1] for row in rows] if self.mirrors else rows


SIDES = (False, True)
SQUARE_TURNS = tuple(Turn(swaps, flips, mirrors) for swaps in SIDES for flips in SIDES for mirrors in SIDES)
RECTANGLE_TURNS = SQUARE_TURNS[:4]  # those that keep the number of rows

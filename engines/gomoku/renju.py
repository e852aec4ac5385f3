"""The moves that renju forbids to x, in slow, obvious Python.

x, who moves first, may not make six or more in a row, two fours at once, or two open threes at once; five in a row wins
whatever else the stone makes. Only fours and threes that x could really continue count:

    _ x x x x _   a four is open if x can make five on both sides
    _ x x x _ _   a three is open if x could make an open four of it, on a point that is not forbidden itself

So whether a point is forbidden may depend on whether others are. On artificial boards this recursion can get very deep;
after MOST_ASKED points, what looks like two open threes counts as two open threes.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

FAR = 5  # stones farther away do not affect a stone's fives
STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (rows, columns) to the next point of a line
MOST_ASKED = 100  # maximum number of points that are checked for one answer; a handful in real games
STONE, EMPTY, OUTSIDE = "x", ".", "#"
TOO_LONG, TWO_FOURS, TWO_THREES = "six or more in a row", "two fours", "two open threes"
Point = tuple[int, int]  # row from the top, and column


class Board(NamedTuple):
    """A board as one string, row by row, with FAR outside points around it, so that every line is a slice of it."""

    cells: str
    steps: tuple[int, ...]  # to the next point of a line, in each direction

    @classmethod
    def of(cls, rows: tuple[str, ...]) -> "Board":
        """The board with these rows."""
        margin, width = OUTSIDE * FAR, len(rows) + 2 * FAR
        edge = OUTSIDE * (width * FAR)
        cells = edge + "".join(margin + row + margin for row in rows) + edge
        return cls(cells, tuple(row * width + column for row, column in STEPS))

    def put(self, index: int) -> "Board":
        """The board after x has played on a point."""
        return Board(self.cells[:index] + STONE + self.cells[index + 1 :], self.steps)

    def lines(self, index: int) -> "list[Line]":
        """What x makes in each direction by playing on a point."""
        cells = self.cells
        return [line_of(cells[index - FAR * step : index + FAR * step + 1 : step]) for step in self.steps]


class Line(NamedTuple):
    """What x's stone in the middle of a line makes there."""

    stones: int
    longest: int  # length of the row that contains the stone
    fours: int  # there can be two in one line
    ways: tuple[int, ...]  # to an open four with one more stone: how far away, negative for before


@lru_cache(maxsize=1 << 16)
def line_of(cells: str) -> Line:
    """What a stone of x in the middle of these cells makes."""
    line = cells[:FAR] + STONE + cells[FAR + 1 :]
    ways = tuple(i - FAR for i in range(2, 2 * FAR - 1) if line[i] == EMPTY and _is_open_four(_put(line, i)))
    return Line(line.count(STONE), _row(line), 1 if _is_open_four(line) else _ways_to_five(line), ways)


def why_forbidden(rows: tuple[str, ...], point: Point) -> str:
    """The reason why x may not play on an empty point; "" if x may."""
    board = Board.of(rows)
    index = (point[0] + FAR) * (len(rows) + 2 * FAR) + point[1] + FAR
    return _why(board, index, board.lines(index), iter(range(MOST_ASKED)))


def _why(board: Board, index: int, lines: list[Line], questions: Iterator[int]) -> str:
    stones = sorted([line.stones for line in lines])
    if stones[3] < 5 and stones[2] < 3:  # too few stones for any foul, even with the new one
        return ""
    longest = [line.longest for line in lines]
    if 5 in longest:
        return ""
    if max(longest) > 5:
        return TOO_LONG
    if sum([line.fours for line in lines]) >= 2:
        return TWO_FOURS
    threes = [(line.ways, step) for line, step in zip(lines, board.steps, strict=True) if line.ways and not line.fours]
    if len(threes) < 2:
        return ""
    if next(questions, None) is None:
        return TWO_THREES
    after, count = board.put(index), 0
    for ways, step in threes:
        count += any(_is_allowed(after, index + far * step, questions) for far in ways)
        if count == 2:
            return TWO_THREES
    return ""


def _is_allowed(board: Board, index: int, questions: Iterator[int]) -> bool:
    """Whether x may make an open four there: not if the point is forbidden, or if the stone makes five instead."""
    lines = board.lines(index)
    makes_five = 5 in [line.longest for line in lines]
    return not makes_five and not _why(board, index, lines, questions)


def _put(line: str, i: int) -> str:
    return line[:i] + STONE + line[i + 1 :]


def _row(line: str) -> int:
    """Length of the row of x stones that contains the middle one."""
    before, behind = line[FAR::-1], line[FAR:]
    return len(before) - len(before.lstrip(STONE)) + len(behind) - len(behind.lstrip(STONE)) - 1


def _ways_to_five(line: str) -> int:
    """Number of points where one more stone makes five with the one in the middle."""
    return sum(_row(_put(line, i)) == 5 for i in range(1, 2 * FAR) if line[i] == EMPTY)


def _is_open_four(line: str) -> bool:
    return _row(line) == 4 and _ways_to_five(line) == 2

"""The rulebook of every sliding-tile game, in slow, obvious Python: any size, any merge rule, any spawn odds.

A position is written `b` (before: the player moves next) or `a` (after: a tile drops next), then the index of each
cell, row by row, 0 for an empty cell:

    b 2 1 0 0 0 0   --left-->   a 3 0 0 0 0 0   --1@5-->   b 3 0 0 0 0 1        (2584 on 2x3; the slide gains 3)

A slide is `up`, `right`, `down` or `left`; a drop is `INDEX@CELL`. A game begins with two drops on an empty board:
after the first of them the environment moves again, after any other drop the player does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import ClassVar

from plyd.engines.core.errors import BadMove, BadPosition, quoted
from plyd.engines.core.rules import Board, Move, MoveKind, Outcome, Side, Step, grid
from plyd.engines.core.symmetry import RECTANGLE_TURNS, SQUARE_TURNS, Image, Turn

SLIDES = ("up", "right", "down", "left")  # by opcode
MAX_TEXT = 4096  # maximum length of a position's text
WHITE_SPACE = " \t\r\v\f"
BLANKS = str.maketrans(WHITE_SPACE, " " * len(WHITE_SPACE))
NUMBERS = {str(number): number for number in range(100)}


@dataclass(frozen=True, slots=True)
class Position:
    """Cells row by row, and whether the player moves next (before) or the environment (after)."""

    before: bool
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TileRules:
    """Rules of one tile game: `merge` is the index of a merged tile or None, `tile` the face value of an index."""

    summary: str
    rows: int
    columns: int
    merge: Callable[[int, int], int | None]
    tile: Callable[[int], int]
    spawns: Mapping[int, float]
    """Probability of each index that the environment drops; they sum to 1."""
    max_index: int = 33
    """The largest index; two tiles that would make a larger one do not merge."""

    is_quick: ClassVar[bool] = True

    def start(self) -> Position:
        """The empty board, with the environment to move."""
        return Position(before=False, cells=(0,) * (self.rows * self.columns))

    def parse(self, text: str) -> Position:
        """The position of a `b` or `a` line."""
        size = self.rows * self.columns
        if len(text) > MAX_TEXT:
            raise BadPosition(f"{len(text)} characters, more than {MAX_TEXT}, in {quoted(text)}; {self._form}")
        words = [word for word in text.translate(BLANKS).split(" ") if word]
        if len(words) == size + 1 and words[0] in ("b", "a"):
            cells = tuple(map(NUMBERS.get, words[1:]))  # fast path: numbers without leading zeros
            if None not in cells and max(cells) <= self.max_index:  # type: ignore[type-var, operator]
                return Position(before=words[0] == "b", cells=cells)  # type: ignore[arg-type]
        return self._parse_slowly(text, words, size)

    def _parse_slowly(self, text: str, words: Sequence[str], size: int) -> Position:
        """The position of a line in an unusual format; raises BadPosition if it is malformed."""
        form = self._form
        if not words:
            raise BadPosition(f"empty position; {form}")
        letter, numbers = words[0], words[1:]
        if letter not in ("b", "a"):
            raise BadPosition(f"unknown letter {quoted(letter)} in {quoted(text)}; {form}")
        for word in numbers:
            if not (word.isascii() and word.removeprefix("-").isdigit()):
                raise BadPosition(f"{quoted(word)} is not a number in {quoted(text)}; {form}")
            if word.startswith("-") or len(word.lstrip("0")) > 2 or _number(word) > self.max_index:
                raise BadPosition(f"{quoted(word)} is out of range in {quoted(text)}; {form}")
        if len(numbers) != size:
            raise BadPosition(f"{len(numbers)} numbers in {quoted(text)}; {form}")
        return Position(before=letter == "b", cells=tuple(map(_number, numbers)))

    @property
    def _form(self) -> str:
        """What a position's text looks like."""
        return f"expected b or a and {self.rows * self.columns} numbers from 0 to {self.max_index}"

    def text(self, position: Position) -> str:
        """The `b` or `a` line of a position."""
        return " ".join(["b" if position.before else "a", *map(str, position.cells)])

    def to_move(self, position: Position) -> Side | None:
        """The player before, the environment after; None if there is no legal move."""
        if not self.legal_moves(position):
            return None
        return Side.PLAYER_ONE if position.before else Side.ENVIRONMENT

    def outcome(self, position: Position) -> Outcome:
        """Ended if there is no legal move."""
        return Outcome.ONGOING if self.legal_moves(position) else Outcome.ENDED

    @lru_cache(maxsize=256)  # noqa: B019  who asks about a position asks for these several times; rules live on anyway
    def legal_moves(self, position: Position) -> Sequence[Move]:
        """Slides that change the board, or drops on empty cells with their probabilities."""
        if position.before:
            cells = position.cells
            return tuple([Move(slide, kind=MoveKind.SLIDE) for slide in SLIDES if self.slide(cells, slide)[0] != cells])
        empty = [cell for cell, index in enumerate(position.cells) if index == 0]
        return tuple(
            [drop(index, cell, chance / len(empty)) for index, chance in self.spawns.items() for cell in empty]
        )

    def play(self, position: Position, move: str) -> Step:
        """The position after a slide or a drop, and the points that a slide gained."""
        if position.before and move in SLIDES:
            cells, points = self.slide(position.cells, move)
            if cells != position.cells:
                return Step(Position(before=False, cells=cells), points)
        legal = {m.text: m.cell for m in self.legal_moves(position)}
        if position.before or move not in legal:
            raise BadMove(
                f"illegal move {quoted(move)} at {quoted(self.text(position))}; legal is {' '.join(legal) or 'none'}"
            )
        cell, index = legal[move], int(move.partition("@")[0])
        cells = tuple(index if i == cell else held for i, held in enumerate(position.cells))
        assert cell is not None  # a drop has one
        return Step(Position(before=any(position.cells), cells=cells), 0, (cell,))

    def slide(self, cells: Sequence[int], direction: str) -> tuple[tuple[int, ...], int]:
        """The cells after all tiles slid in a direction, and the points gained: the face value of each new tile."""
        after, points = list(cells), 0
        for line in lines(self.rows, self.columns, direction):
            moved, gained = self.slide_line(tuple([cells[i] for i in line]))
            points += gained
            for i, index in zip(line, moved, strict=True):
                after[i] = index
        return tuple(after), points

    @lru_cache(maxsize=4096)  # noqa: B019  the same lines come again and again
    def slide_line(self, line: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """A line slid to its front: neighbours merge in pairs from the front, each tile at most once."""
        moved: list[int] = []
        points, held = 0, 0  # held: the last tile, if it can still merge
        for index in filter(None, line):
            merged = self.merge(held, index) if held else None
            if merged is not None:
                points += self.tile(merged)
                moved[-1], held = merged, 0
            else:
                moved.append(index)
                held = index
        return (*moved, *(0,) * (len(line) - len(moved))), points

    @lru_cache(maxsize=256)  # noqa: B019  for `picture` too
    def board(self, position: Position) -> Board:
        """The face value of each tile."""
        return Board(self.rows, self.columns, tuple(str(self.tile(i)) if i else "" for i in position.cells))

    def picture(self, position: Position) -> str:
        """The board as plain text."""
        return grid(self.board(position))

    def images(self, position: Position) -> list[Image]:
        """The turns and mirror images of a board: eight of a square one, four of others."""
        turns = SQUARE_TURNS if self.rows == self.columns else RECTANGLE_TURNS
        board = [position.cells[i : i + self.columns] for i in range(0, len(position.cells), self.columns)]
        return [
            Image(
                Position(position.before, tuple(cell for row in turn.grid(board) for cell in row)),
                partial(self._turned, turn),
                partial(self._turned, turn.inverse),
            )
            for turn in turns
        ]

    def _turned(self, turn: Turn, move: str) -> str:
        """A slide or a drop on a board that is turned."""
        if move in SLIDES:
            return SLIDES[turned_slides(turn)[SLIDES.index(move)]]
        index, _, cell = move.partition("@")
        if index not in NUMBERS or NUMBERS.get(cell, len(NUMBERS)) >= self.rows * self.columns:
            raise BadMove(f"unknown move {quoted(move)}; moves are {' '.join(SLIDES)} and INDEX@CELL")
        row, column = turn.point(*divmod(int(cell), self.columns), self.rows, self.columns)
        return f"{index}@{row * self.columns + column}"


@lru_cache(maxsize=4096)
def drop(index: int, cell: int, probability: float) -> Move:
    """The move that drops a tile."""
    return Move(f"{index}@{cell}", cell, probability)


@cache
def turned_slides(turn: Turn) -> tuple[int, ...]:
    """The opcode of each slide on a board that is turned: where the edge goes that tiles slide to."""
    edges = [(0, 1), (1, 2), (2, 1), (1, 0)]  # the middles of the edges of 3x3, by opcode
    return tuple(edges.index(turn.point(*edge, 3, 3)) for edge in edges)


def _number(word: str) -> int:
    """The value of a string of digits, with any number of leading zeros."""
    return int(word.lstrip("0") or "0")


@cache
def lines(rows: int, columns: int, direction: str) -> list[list[int]]:
    """Cell numbers of each row or column, starting at the edge that tiles slide to."""
    board = [list(range(i * columns, (i + 1) * columns)) for i in range(rows)]
    if direction in ("up", "down"):
        board = [list(column) for column in zip(*board, strict=True)]
    return board if direction in ("left", "up") else [line[::-1] for line in board]

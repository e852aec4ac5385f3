"""The rulebook of Connect Four, in slow, obvious Python: any size from 4 to 16, and at most one forbidden cell.

A position is written as its rows from the top: `x` and `o` for stones, `.` for an empty cell, `#` for the forbidden
cell. An empty board has a short form: columns x rows, as in "7x6", optionally with the forbidden cell by its column and
row, counted from the bottom left:

    7x6 #4,1   =   ......./......./......./......./......./...#...

`x` moves first, so the stones determine the side to move. A move is a column, counted from 1. A stone falls until it
rests on the bottom or on another stone; it never rests in the forbidden cell, but in the cell above it:

    ....        ....        ....
    ....  --2-> ....  --2-> .o..
    .#..        .#..        .#..
    ....        .x..        .x..
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from plyd.engines.core.errors import BadMove, BadPosition, quoted
from plyd.engines.core.rules import Board, Move, Outcome, Side, Step, grid
from plyd.engines.core.symmetry import Image

SMALLEST, LARGEST = 4, 16  # for both rows and columns
EMPTY, FORBIDDEN = ".", "#"
STONES = {Side.PLAYER_ONE: "x", Side.PLAYER_TWO: "o"}
WINS = {Side.PLAYER_ONE: Outcome.PLAYER_ONE_WINS, Side.PLAYER_TWO: Outcome.PLAYER_TWO_WINS}
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (row, column) steps of a line
FORM = (
    f'expected a size such as "7x6" (columns x rows, {SMALLEST} to {LARGEST} each), perhaps with a forbidden cell, '
    '"7x6 #4,1" (column, row from below), or the rows from the top, "..../..../..o./.xx."'
)
MAX_TEXT = 512
COLUMN = re.compile(r"[1-9][0-9]?", re.ASCII)
SHORT = re.compile(r"\s*(?P<columns>\d{1,4})x(?P<rows>\d{1,4})(\s+#(?P<column>\d{1,4}),(?P<row>\d{1,4}))?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Position:
    """The rows of a board from the top, each a string of cells."""

    rows: tuple[str, ...]

    def count(self, cell: str) -> int:
        """Number of cells of this kind."""
        return sum(row.count(cell) for row in self.rows)


class Connect4Rules:
    """Four in a row wins, a full board draws."""

    summary = "four in a row, column or diagonal wins; one cell may be forbidden; a full board is a draw"

    is_quick = True

    def start(self) -> Position:
        """The empty board of the standard game, 7x6."""
        return empty_board(columns=7, rows=6)

    def parse(self, text: str) -> Position:
        """The position written as a text; raises BadPosition if it cannot occur in a game."""
        if len(text) > MAX_TEXT:
            raise BadPosition(f"{len(text)} characters in {quoted(text)}; at most {MAX_TEXT}: {FORM}")
        if short := SHORT.fullmatch(text):
            columns, rows = int(short["columns"]), int(short["rows"])
            _check_size(columns, rows, text)
            board = empty_board(columns, rows)
            return _with_forbidden(board, int(short["column"]), int(short["row"]), text) if short["row"] else board
        if "/" not in text:
            raise BadPosition(f"cannot read {quoted(text)}; {FORM}")
        position = Position(tuple(text.strip().split("/")))
        _check(position, text)
        return position

    def text(self, position: Position) -> str:
        """The size if the board is empty, else its rows."""
        if position.count("x"):
            return "/".join(position.rows)
        size = f"{len(position.rows[0])}x{len(position.rows)}"
        for row, cells in enumerate(position.rows):
            if FORBIDDEN in cells:
                return f"{size} #{cells.index(FORBIDDEN) + 1},{len(position.rows) - row}"
        return size

    def to_move(self, position: Position) -> Side | None:
        """The side to move, or None if the game is over."""
        return mover(position) if self.outcome(position) is Outcome.ONGOING else None

    def outcome(self, position: Position) -> Outcome:
        """Whether the game is over, and who won."""
        return outcome_of(position)

    def legal_moves(self, position: Position) -> list[Move]:
        """The columns that are not full, each with the cell where the stone rests."""
        if self.outcome(position) is not Outcome.ONGOING:
            return []
        width = len(position.rows[0])
        landings = ((column, landing(position, column)) for column in range(width))
        return [Move(str(column + 1), cell=row * width + column) for column, row in landings if row is not None]

    def play(self, position: Position, move: str) -> Step:
        """The position after a stone is dropped into a column."""
        width = len(position.rows[0])
        if self.outcome(position) is not Outcome.ONGOING:
            raise BadMove(f"illegal move {quoted(move)}: the game is over")
        column = int(_column_of(width, move)) - 1
        row = landing(position, column)
        if row is None:
            free = ", ".join(legal.text for legal in self.legal_moves(position))
            raise BadMove(f"illegal move {quoted(move)}: the column is full; columns with room are {free}")
        return Step(_with_cell(position, row, column, STONES[mover(position)]), 0.0, (row * width + column,))

    def board(self, position: Position) -> Board:
        """The board for display."""
        cells = tuple("" if cell == EMPTY else cell for row in position.rows for cell in row)
        return Board(len(position.rows), len(position.rows[0]), cells, winning_cells(position))

    def picture(self, position: Position) -> str:
        """The board as plain text."""
        return grid(self.board(position))

    def images(self, position: Position) -> list[Image]:
        """The board and its mirror image, the forbidden cell included."""
        columns = len(position.rows[0])
        same, mirror = partial(_column_of, columns), partial(_mirrored, columns)
        mirrored = Position(tuple(row[::-1] for row in position.rows))
        return [Image(position, same, same), Image(mirrored, mirror, mirror)]


def _column_of(columns: int, move: str) -> str:
    """A move that is a column; raises BadMove if it is none."""
    if not COLUMN.fullmatch(move) or int(move) > columns:
        raise BadMove(f"unknown move {quoted(move)}; moves are columns, 1 to {columns}")
    return move


def _mirrored(columns: int, move: str) -> str:
    """A move on the mirrored board."""
    return str(columns + 1 - int(_column_of(columns, move)))


def empty_board(columns: int, rows: int) -> Position:
    """A board without stones and without a forbidden cell."""
    return Position((EMPTY * columns,) * rows)


def mover(position: Position) -> Side:
    """The side to move, even if the game is over."""
    return Side.PLAYER_ONE if position.count("x") == position.count("o") else Side.PLAYER_TWO


def landing(position: Position, column: int) -> int | None:
    """The row, counted from the top, where a stone dropped into a column rests; None if the column is full."""
    for row in reversed(range(len(position.rows))):
        if position.rows[row][column] == EMPTY:
            return row
    return None


@lru_cache(maxsize=1024)  # called several times for each position of a request
def outcome_of(position: Position) -> Outcome:
    """Whether the game is over, and who won."""
    for side, stone in STONES.items():
        if has_four(position, stone):
            return WINS[side]
    return Outcome.ONGOING if position.count(EMPTY) else Outcome.DRAW


def has_four(position: Position, stone: str) -> bool:
    """Whether four stones of one side are in line."""
    rows = position.rows
    return any(all(rows[r][c] == stone for r, c in line) for line in lines_of(len(rows), len(rows[0])))


def winning_cells(position: Position) -> tuple[int, ...]:
    """The cells of every four in line; empty if nobody has won."""
    if outcome_of(position) not in WINS.values():
        return ()
    rows, width = position.rows, len(position.rows[0])
    lines = lines_of(len(rows), width)
    fours = [line for line in lines if {rows[r][c] for r, c in line} in ({"x"}, {"o"})]
    return tuple(sorted({r * width + c for line in fours for r, c in line}))


@cache
def lines_of(height: int, width: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Every line of four cells, (row, column), on a board of this size."""
    return tuple(
        tuple((row + i * down, column + i * right) for i in range(4))
        for row in range(height)
        for column in range(width)
        for down, right in DIRECTIONS
        if row + 3 * down < height and 0 <= column + 3 * right < width
    )


def _with_cell(position: Position, row: int, column: int, cell: str) -> Position:
    rows = list(position.rows)
    rows[row] = rows[row][:column] + cell + rows[row][column + 1 :]
    return Position(tuple(rows))


def _with_forbidden(board: Position, column: int, row: int, text: str) -> Position:
    width, height = len(board.rows[0]), len(board.rows)
    if not (1 <= column <= width and 1 <= row <= height):
        raise BadPosition(
            f"forbidden cell {column},{row} in {quoted(text)} is not on the board; "
            f"columns are 1 to {width}, rows 1 to {height}"
        )
    return _with_cell(board, height - row, column - 1, FORBIDDEN)


def _check_size(columns: int, rows: int, text: str) -> None:
    for name, number in (("columns", columns), ("rows", rows)):
        if not SMALLEST <= number <= LARGEST:
            raise BadPosition(f"{number} {name} in {quoted(text)}; allowed is {SMALLEST} to {LARGEST}")


def _check(position: Position, text: str) -> None:
    """Raise BadPosition for a board that cannot occur in a game, as far as simple checks show."""
    columns = len(position.rows[0])
    for row in position.rows:
        for cell in row:
            if cell not in ".xo#":
                raise BadPosition(f"unknown cell {cell!r} in {quoted(row)}; cells are . x o #")
        if len(row) != columns:
            raise BadPosition(
                f"rows of different length in {quoted(text)}: {quoted(position.rows[0])} and {quoted(row)}"
            )
    _check_size(columns, len(position.rows), text)
    if position.count(FORBIDDEN) > 1:
        raise BadPosition(f"{position.count(FORBIDDEN)} forbidden cells in {quoted(text)}; at most one is allowed")
    first, second = position.count("x"), position.count("o")
    if first - second not in (0, 1):
        raise BadPosition(
            f"{first} x and {second} o in {quoted(text)}; x moves first, so there are as many x as o, or one more"
        )
    for column in range(columns):
        stack = "".join(row[column] for row in position.rows).replace(FORBIDDEN, "")
        if EMPTY in stack.lstrip(EMPTY):
            raise BadPosition(f"a stone has an empty cell below it in column {column + 1} of {quoted(text)}")
    _check_end(position, text)


def _check_end(position: Position, text: str) -> None:
    """Raise BadPosition unless the last stone can have made every four: a four ends the game."""
    winners = [stone for stone in STONES.values() if has_four(position, stone)]
    if not winners:
        return
    last = STONES[Side.PLAYER_TWO if mover(position) is Side.PLAYER_ONE else Side.PLAYER_ONE]
    if winners != [last]:
        who = "both have" if len(winners) == 2 else f"{winners[0]} has"
        raise BadPosition(f"{who} four in {quoted(text)}, but {last} moved last")
    for column in range(len(position.rows[0])):
        for row, cells in enumerate(position.rows):
            if cells[column] in STONES.values():
                before = _with_cell(position, row, column, EMPTY)
                if cells[column] == last and not has_four(before, last):
                    return
                break
    raise BadPosition(f"{last} has four in {quoted(text)}, but no last move made it: it is buried, or one of two")


RULES = Connect4Rules()

"""The rulebook of Othello, in slow, obvious Python: boards of 6x6, 8x8 and 10x10.

A position is written as its rows from the top, `x` for black, `o` for white, `.` for an empty cell, and the side to
move. The ordinary start of a board has a short form, its size:

    6x6   =   ....../....../..ox../..xo../....../...... x

Black moves first. A move is a column's letter and a row's number, from `a1` at the top left. It must enclose a straight
line of the opponent's discs between the new disc and another one of the mover; all discs enclosed are turned over.
A player without such a move must `pass`. The game is over when neither player can move; most discs win.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from plyd.engines.core.errors import BadMove, BadPosition, quoted
from plyd.engines.core.rules import Board, Move, MoveKind, Outcome, Side, Step, grid

SIZES = (6, 8, 10)
LETTERS = "abcdefghij"
EMPTY, BLACK, WHITE = ".", "x", "o"
SIDES = {BLACK: Side.PLAYER_ONE, WHITE: Side.PLAYER_TWO}
PASS = "pass"  # noqa: S105
DIRECTIONS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
MAX_TEXT = 256
FORM = 'expected a size, "6x6", "8x8" or "10x10", or the rows from the top and the side to move, " x" or " o"'
MOVE = re.compile(r"([a-j])([1-9]|10)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Position:
    """The rows of a board from the top, and the disc of the side to move."""

    rows: tuple[str, ...]
    mover: str

    @property
    def size(self) -> int:
        """Number of rows, and of columns."""
        return len(self.rows)

    def count(self, disc: str) -> int:
        """Number of these discs."""
        return sum(row.count(disc) for row in self.rows)


class OthelloRules:
    """The rules for every size of board."""

    summary = "most discs win when neither player can move; a player without a move passes"
    is_quick = True

    def start(self) -> Position:
        """The start on 8x8."""
        return start_of(8)

    def parse(self, text: str) -> Position:
        """The position written as a text; raises BadPosition if it is not valid."""
        if len(text) > MAX_TEXT:
            raise BadPosition(f"{len(text)} characters in {quoted(text)}; at most {MAX_TEXT}: {FORM}")
        if short := re.fullmatch(r"\s*(\d{1,4})x(\d{1,4})\s*", text, re.ASCII):
            _check_size(int(short[1]), int(short[2]), text)
            return start_of(int(short[1]))
        board, _, mover = text.strip().partition(" ")
        if "/" not in board or mover not in SIDES:
            raise BadPosition(f"cannot read {quoted(text)}; {FORM}")
        rows = tuple(board.split("/"))
        for row in rows:
            if unknown := set(row) - {EMPTY, BLACK, WHITE}:
                raise BadPosition(f"unknown cell {min(unknown)!r} in {quoted(row)}; cells are . x o")
            if len(row) != len(rows[0]):
                raise BadPosition(f"rows of different length in {quoted(text)}: {quoted(rows[0])} and {quoted(row)}")
        _check_size(len(rows[0]), len(rows), text)
        return Position(rows, mover)

    def text(self, position: Position) -> str:
        """The size for the ordinary start, else the rows and the side to move."""
        size = position.size
        return f"{size}x{size}" if position == start_of(size) else f"{'/'.join(position.rows)} {position.mover}"

    def to_move(self, position: Position) -> Side | None:
        """The side to move, or None if the game is over."""
        return SIDES[position.mover] if self.outcome(position) is Outcome.ONGOING else None

    def outcome(self, position: Position) -> Outcome:
        """Whether the game is over, and who won."""
        if placements(position) or placements(passed(position)):
            return Outcome.ONGOING
        black, white = position.count(BLACK), position.count(WHITE)
        if black == white:
            return Outcome.DRAW
        return Outcome.PLAYER_ONE_WINS if black > white else Outcome.PLAYER_TWO_WINS

    def legal_moves(self, position: Position) -> list[Move]:
        """The cells where a disc turns others over; a pass if there is none and the game goes on."""
        size = position.size
        moves = [Move(name_of(row, column), cell=row * size + column) for row, column in placements(position)]
        if moves or self.outcome(position) is not Outcome.ONGOING:
            return moves
        return [Move(PASS, kind=MoveKind.PASS)]

    def play(self, position: Position, move: str) -> Step:
        """The position after a disc is put on a cell, or after a pass."""
        legal = {each.text: each for each in self.legal_moves(position)}
        if move not in legal:
            reason = f"legal is {' '.join(legal)}" if legal else "the game is over"
            what = "illegal" if move == PASS or MOVE.fullmatch(move) else "unknown"
            raise BadMove(f"{what} move {quoted(move)}; {reason}")
        if move == PASS:
            return Step(passed(position), 0.0)
        cell = legal[move].cell
        assert cell is not None
        row, column = divmod(cell, position.size)
        cells = [list(line) for line in position.rows]
        for r, c in [(row, column), *turned(position, row, column)]:
            cells[r][c] = position.mover
        return Step(Position(tuple("".join(line) for line in cells), other(position.mover)), 0.0, (cell,))

    def board(self, position: Position) -> Board:
        """The board for display."""
        cells = tuple("" if cell == EMPTY else cell for row in position.rows for cell in row)
        return Board(position.size, position.size, cells)

    def picture(self, position: Position) -> str:
        """The board as plain text."""
        return grid(self.board(position))


def start_of(size: int) -> Position:
    """The ordinary start: two discs of each side in the middle."""
    middle, edge = size // 2, EMPTY * (size // 2 - 1)
    rows = [EMPTY * size] * size
    rows[middle - 1], rows[middle] = f"{edge}{WHITE}{BLACK}{edge}", f"{edge}{BLACK}{WHITE}{edge}"
    return Position(tuple(rows), BLACK)


def other(disc: str) -> str:
    """The opponent's disc."""
    return WHITE if disc == BLACK else BLACK


def passed(position: Position) -> Position:
    """The same board with the other side to move."""
    return Position(position.rows, other(position.mover))


@lru_cache(maxsize=1024)  # asked several times for each position of a request
def placements(position: Position) -> tuple[tuple[int, int], ...]:
    """The cells, (row, column), where the side to move may put a disc."""
    cells = [(row, column) for row in range(position.size) for column in range(position.size)]
    return tuple((r, c) for r, c in cells if position.rows[r][c] == EMPTY and turned(position, r, c))


def turned(position: Position, row: int, column: int) -> list[tuple[int, int]]:
    """The cells of the discs that a new disc of the side to move turns over."""
    found = []
    for down, right in DIRECTIONS:
        line = []
        r, c = row + down, column + right
        while 0 <= r < position.size and 0 <= c < position.size and position.rows[r][c] == other(position.mover):
            line.append((r, c))
            r, c = r + down, c + right
        if 0 <= r < position.size and 0 <= c < position.size and position.rows[r][c] == position.mover:
            found += line
    return found


def name_of(row: int, column: int) -> str:
    """The text of a move."""
    return f"{LETTERS[column]}{row + 1}"


def _check_size(columns: int, rows: int, text: str) -> None:
    if columns != rows or rows not in SIZES:
        allowed = ", ".join(f"{size}x{size}" for size in SIZES)
        raise BadPosition(f"a board of {columns}x{rows} in {quoted(text)}; allowed is {allowed}")


RULES = OthelloRules()

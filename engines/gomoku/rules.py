"""The rulebook of Gomoku, in slow, obvious Python: square boards from 5 to 20, freestyle, standard and renju.

A position is written as its rows from the top: `x` and `o` for stones, `.` for an empty point, `#` for a blocked point.
The short form of an empty board is its size:

    5x5   =   ...../...../...../...../.....

`x` moves first, so normally the stones determine the side to move: `x` if both have equally many stones, else `o`. For
other positions, such as a board set up by hand, the side to move follows the rows: `..x../.../... x`.

A move is a column's letter and a row's number, from `a1` at the bottom left: `h8` is the middle of 15x15.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from plyd.engines.core.errors import BadMove, BadPosition, quoted
from plyd.engines.core.rules import Board, Move, Outcome, Side, Step, grid
from plyd.engines.core.symmetry import SQUARE_TURNS, Image, Turn
from plyd.engines.gomoku.renju import Point, why_forbidden

SMALLEST, LARGEST = 5, 20
EMPTY, BLOCKED = ".", "#"
STONES = {Side.PLAYER_ONE: "x", Side.PLAYER_TWO: "o"}
SIDES = {stone: side for side, stone in STONES.items()}
WINS = {Side.PLAYER_ONE: Outcome.PLAYER_ONE_WINS, Side.PLAYER_TWO: Outcome.PLAYER_TWO_WINS}
LETTERS = "abcdefghijklmnopqrst"
FORM = (
    f'expected a size such as "15x15" ({SMALLEST} to {LARGEST}), or the rows from the top, '
    '"...../...../..x../..o../.....", optionally followed by the side to move, " x" or " o"'
)
MAX_TEXT = 512
SHORT = re.compile(r"\s*(?P<columns>\d{1,4})x(?P<rows>\d{1,4})\s*", re.ASCII)
MOVE = re.compile(r"(?P<column>[a-t])(?P<row>[1-9][0-9]?)", re.ASCII)


class Rule(StrEnum):
    """The rule set: what wins, and what is forbidden."""

    FREESTYLE = "freestyle"
    STANDARD = "standard"
    RENJU = "renju"

    def wants_exactly_five(self, stone: str) -> bool:
        """Whether six or more of these stones in a row do not win."""
        return self is Rule.STANDARD or (self is Rule.RENJU and stone == "x")


@dataclass(frozen=True, slots=True)
class Position:
    """The rows of a board from the top, each a string of points, and the stone of the side to move."""

    rows: tuple[str, ...]
    mover: str

    @property
    def size(self) -> int:
        """Number of rows, and of columns."""
        return len(self.rows)

    def count(self, cell: str) -> int:
        """Number of points of this kind."""
        return sum(row.count(cell) for row in self.rows)


class GomokuRules:
    """Five in a row wins, a full board is a draw; in renju, x loses if all empty points are forbidden to x."""

    def __init__(self, rule: Rule, summary: str) -> None:
        self.rule = rule
        self.summary = summary
        self.is_quick = rule is not Rule.RENJU  # whether a point is forbidden may depend on many others

    def start(self) -> Position:
        """The empty 15x15 board of tournaments."""
        return empty_board(15)

    def parse(self, text: str) -> Position:
        """The position written as a text; raises BadPosition if it is not valid."""
        if len(text) > MAX_TEXT:
            raise BadPosition(f"{len(text)} characters in {quoted(text)}; at most {MAX_TEXT}: {FORM}")
        if short := SHORT.fullmatch(text):
            columns, rows = int(short["columns"]), int(short["rows"])
            _check_size(columns, rows, text)
            return empty_board(rows)
        board, _, mover = text.strip().partition(" ")
        if "/" not in board or mover not in ("", "x", "o"):
            raise BadPosition(f"cannot read {quoted(text)}; {FORM}")
        rows_of_text = tuple(board.split("/"))
        _check_rows(rows_of_text, text)
        position = Position(rows_of_text, mover or _mover_by_count(rows_of_text, text))
        self._check_end(position, text)
        return position

    def text(self, position: Position) -> str:
        """The size if the board is empty, else its rows; with the side to move where the stones do not determine it."""
        if position == empty_board(position.size):
            return f"{position.size}x{position.size}"
        lead = position.count("x") - position.count("o")
        said = {0: "x", 1: "o"}.get(lead)
        return "/".join(position.rows) + ("" if said == position.mover else f" {position.mover}")

    def to_move(self, position: Position) -> Side | None:
        """The side to move, or None if the game is over."""
        return SIDES[position.mover] if self.outcome(position) is Outcome.ONGOING else None

    def outcome(self, position: Position) -> Outcome:
        """Whether the game is over, and who won."""
        return outcome_of(position, self.rule)

    def legal_moves(self, position: Position) -> list[Move]:
        """The empty points that are not forbidden, each with its cell."""
        if self.outcome(position) is not Outcome.ONGOING:
            return []
        size = position.size
        return [
            Move(move_at(row, column, size), cell=row * size + column)
            for row, column in empty_points(position)
            if not reason_against(position, (row, column), self.rule)
        ]

    def play(self, position: Position, move: str) -> Step:
        """The position after a stone is put on a point."""
        if winners_of(position, self.rule) or not position.count(EMPTY):
            raise BadMove(f"illegal move {quoted(move)}: the game is over")
        row, column = point_of(move, position.size)
        cells = position.rows[row]
        if cells[column] != EMPTY:
            reason = f"{describe(cells[column])} is there; moves are empty points"
        elif foul := reason_against(position, (row, column), self.rule):
            reason = f"it makes {foul}, which x may not"
        else:
            filled = cells[:column] + position.mover + cells[column + 1 :]
            rows = (*position.rows[:row], filled, *position.rows[row + 1 :])
            return Step(Position(rows, other(position.mover)), 0.0, (row * position.size + column,))
        if self.outcome(position) is not Outcome.ONGOING:  # asked only now: in renju it may have to try every point
            reason = "the game is over"
        raise BadMove(f"illegal move {quoted(move)}: {reason}")

    def board(self, position: Position) -> Board:
        """The board for display."""
        cells = tuple("" if cell == EMPTY else cell for row in position.rows for cell in row)
        return Board(position.size, position.size, cells, winning_cells(position, self.rule))

    def picture(self, position: Position) -> str:
        """The board as plain text."""
        return grid(self.board(position))

    def images(self, position: Position) -> list[Image]:
        """The eight turns and mirror images of a board."""
        size = position.size
        return [
            Image(
                Position(tuple(map("".join, turn.grid(position.rows))), position.mover),
                partial(_turned, turn, size),
                partial(_turned, turn.inverse, size),
            )
            for turn in SQUARE_TURNS
        ]

    def _check_end(self, position: Position, text: str) -> None:
        """Raise BadPosition for a five of the side to move: a five ends the game, so the last mover made it."""
        winners = winners_of(position, self.rule)
        if not winners or winners == [other(position.mover)]:
            return
        who = "both have" if len(winners) == 2 else f"{winners[0]} has"
        raise BadPosition(f"{who} five in {quoted(text)}, but {other(position.mover)} moved last")


def empty_board(size: int) -> Position:
    """A board without stones."""
    return Position((EMPTY * size,) * size, "x")


def other(stone: str) -> str:
    """The other player's stone."""
    return "o" if stone == "x" else "x"


def move_at(row: int, column: int, size: int) -> str:
    """The text of a move, by row from the top and column from the left."""
    return f"{LETTERS[column]}{size - row}"


def point_of(move: str, size: int) -> tuple[int, int]:
    """The row from the top and the column of a move's text."""
    found = MOVE.fullmatch(move)
    if not found or LETTERS.index(found["column"]) >= size or int(found["row"]) > size:
        raise BadMove(f"unknown move {quoted(move)}; moves are points, a1 to {LETTERS[size - 1]}{size}")
    return size - int(found["row"]), LETTERS.index(found["column"])


def _turned(turn: Turn, size: int, move: str) -> str:
    """A move on a board that is turned."""
    return move_at(*turn.point(*point_of(move, size), size, size), size)


def describe(cell: str) -> str:
    """The content of a point, in words."""
    return "a blocked point" if cell == BLOCKED else f"a stone, {cell},"


@lru_cache(maxsize=1024)  # called several times for each position of a request
def outcome_of(position: Position, rule: Rule) -> Outcome:
    """Whether the game is over, and who won."""
    if winners := winners_of(position, rule):
        return WINS[SIDES[winners[0]]]
    if not position.count(EMPTY):
        return Outcome.DRAW
    is_stuck = all(reason_against(position, point, rule) for point in empty_points(position))
    return Outcome.PLAYER_TWO_WINS if is_stuck else Outcome.ONGOING


def winners_of(position: Position, rule: Rule) -> list[str]:
    """The stones that have a winning row."""
    return [stone for stone in SIDES if has_five(position.rows, stone, rule.wants_exactly_five(stone))]


def empty_points(position: Position) -> Iterator[Point]:
    """The empty points, (row from the top, column)."""
    for row, cells in enumerate(position.rows):
        for column, cell in enumerate(cells):
            if cell == EMPTY:
                yield row, column


def reason_against(position: Position, point: Point, rule: Rule) -> str:
    """Why the side to move may not play on an empty point; "" if it may."""
    return why_forbidden(position.rows, point) if rule is Rule.RENJU and position.mover == "x" else ""


def has_five(rows: tuple[str, ...], stone: str, exactly_five: bool) -> bool:
    """Whether five stones of a kind are in line; with `exactly_five`, no more than five."""
    lines = " ".join(lines_of(rows))
    if exactly_five:
        return re.search(f"(?<!{stone}){stone}{{5}}(?!{stone})", lines) is not None
    return stone * 5 in lines


def winning_cells(position: Position, rule: Rule) -> tuple[int, ...]:
    """The cells of every winning row; empty if nobody has one."""
    is_won = outcome_of(position, rule) in WINS.values()  # known already, so this costs nothing while the game goes on
    winners = winners_of(position, rule) if is_won else []
    if not winners:
        return ()
    size, stone = position.size, winners[0]
    stones = {(row, column) for row in range(size) for column in range(size) if position.rows[row][column] == stone}
    won: set[Point] = set()
    for row, column in stones:
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            run = [(row + i * down, column + i * right) for i in range(size)]
            length = next((i for i, point in enumerate(run) if point not in stones), size)
            is_whole = (row - down, column - right) not in stones
            if is_whole and (length == 5 or (length > 5 and not rule.wants_exactly_five(stone))):
                won.update(run[:length])
    return tuple(sorted(row * size + column for row, column in won))


def lines_of(rows: tuple[str, ...]) -> list[str]:
    """Every row, column and diagonal of a board."""
    columns = ["".join(cells) for cells in zip(*rows, strict=True)]
    falling, rising = _diagonals(rows), _diagonals(rows[::-1])
    return [*rows, *columns, *falling, *rising]


def _diagonals(rows: tuple[str, ...]) -> list[str]:
    """The diagonals from the top left to the bottom right."""
    size = len(rows)
    starts = [(0, column) for column in range(size)] + [(row, 0) for row in range(1, size)]
    return ["".join(rows[row + i][column + i] for i in range(size - max(row, column))) for row, column in starts]


def _check_size(columns: int, rows: int, text: str) -> None:
    if columns != rows:
        raise BadPosition(f"{columns} columns and {rows} rows in {quoted(text)}; boards are square")
    if not SMALLEST <= rows <= LARGEST:
        raise BadPosition(f"{rows} rows in {quoted(text)}; allowed is {SMALLEST} to {LARGEST}")


def _check_rows(rows: tuple[str, ...], text: str) -> None:
    for row in rows:
        for cell in row:
            if cell not in ".xo#":
                raise BadPosition(f"unknown point {cell!r} in {quoted(row)}; points are . x o #")
        if len(row) != len(rows[0]):
            raise BadPosition(f"rows of different length in {quoted(text)}: {quoted(rows[0])} and {quoted(row)}")
    _check_size(len(rows[0]), len(rows), text)


def _mover_by_count(rows: tuple[str, ...], text: str) -> str:
    first, second = (sum(row.count(stone) for row in rows) for stone in "xo")
    if first - second not in (0, 1):
        raise BadPosition(
            f"{first} x and {second} o in {quoted(text)}: add the side to move, as in {quoted(text.strip() + ' x')}"
        )
    return "x" if first == second else "o"


FREESTYLE = GomokuRules(Rule.FREESTYLE, "five or more stones in a row, column or diagonal win")
STANDARD = GomokuRules(Rule.STANDARD, "exactly five stones in a row, column or diagonal win; six or more do not")
RENJU = GomokuRules(
    Rule.RENJU,
    "five in a row wins; x, who moves first, may not make six or more, two fours, or two open threes at once",
)
RULES = {str(rules.rule): rules for rules in (FREESTYLE, STANDARD, RENJU)}

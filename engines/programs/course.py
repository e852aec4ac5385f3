"""A Connect Four player that is a C library with the course's interface, loaded in a process of its own."""

import sys
from dataclasses import replace
from pathlib import Path

from plyd.engines.core.errors import quoted
from plyd.engines.core.rules import Board, Side
from plyd.engines.core.search import Limits
from plyd.engines.programs import course_host
from plyd.engines.programs.conversation import Conversation, Heard, PlayedGame
from plyd.engines.programs.process import Program, ProgramProcess

LIBRARIES = (".so", ".dylib")
OPPONENT, OWN = 1, 2  # on the course's board
STONES = {Side.PLAYER_ONE: "x", Side.PLAYER_TWO: "o"}
FORBIDDEN = "#"


def hosted(program: Program) -> Program:
    """The program that loads a library and asks it."""
    host = (sys.executable, "-I", "-S", str(Path(course_host.__file__)))
    return replace(program, command=(*host, *program.command))


class CourseLibrary(Conversation):
    """A library's getPoint, one call for each search. Every game has a process of its own, as the library expects."""

    def __init__(self, program: Program) -> None:
        super().__init__(hosted(program))

    def greet(self) -> None:
        """Wait until the library is loaded."""
        self.wait_for(course_host.READY, lambda line: line == course_host.READY)

    def begin(self, game: PlayedGame, limits: Limits, seconds: float | None) -> None:  # noqa: ARG002
        """Ask for the move at the position; for another game in another process."""
        if self.game and not self.follows(game):
            self.process.kill()
            self.process = ProgramProcess(self.program)
            self.greet()
        self.process.send(" ".join(map(str, question_of(game))))

    def hear(self, game: PlayedGame, line: str) -> Heard:
        """The column of a point, if a stone comes to rest there."""
        board = game.rules.board(game.position)
        landings = {divmod(move.cell or 0, board.columns): move.text for move in game.rules.legal_moves(game.position)}
        try:
            row, column = map(int, line.split())
        except ValueError:
            raise self.process.failure(f"answers {quoted(line)}; expected a row and a column") from None
        if (row, column) not in landings:
            places = " ".join(f"{row},{column}" for row, column in landings)
            raise self.process.failure(f"plays row {row}, column {column}; a stone comes to rest at {places}")
        return landings[row, column]


def question_of(game: PlayedGame) -> list[int]:
    """The arguments of getPoint: rows, columns, lastX, lastY, noX, noY, then top and board."""
    board = game.rules.board(game.position)
    own = STONES[game.side]
    codes = {"": 0, FORBIDDEN: 0}
    cells = [codes.get(label, OWN if label == own else OPPONENT) for label in board.cells]
    forbidden = divmod(board.cells.index(FORBIDDEN), board.columns) if FORBIDDEN in board.cells else (-1, -1)
    top = [top_of(board, column) for column in range(board.columns)]
    return [board.rows, board.columns, *last_point(game, board), *forbidden, *top, *cells]


def top_of(board: Board, column: int) -> int:
    """The row of the highest stone in a column, stepped over a forbidden cell above it; the rows if it is empty."""
    cells = [board.cells[row * board.columns + column] for row in range(board.rows)]
    top = next((row for row, label in enumerate(cells) if label not in ("", FORBIDDEN)), board.rows)
    return top - 1 if top and cells[top - 1] == FORBIDDEN else top


def last_point(game: PlayedGame, board: Board) -> tuple[int, int]:
    """Row and column of the last move; -1, -1 if it is not known."""
    if not game.moves:
        return -1, -1
    column = int(game.moves[-1]) - 1
    cells = [board.cells[row * board.columns + column] for row in range(board.rows)]
    return next(row for row, label in enumerate(cells) if label not in ("", FORBIDDEN)), column

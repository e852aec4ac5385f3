"""Games of a person against the engine, read from stdin and printed on stdout."""

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import click

from plyd.clients.library.client import EngineClient, Game
from plyd.clients.library.errors import InvalidRequest, Unavailable
from plyd.clients.library.report import Report, other
from plyd.clients.library.requests import WINNERS, LimitArgs
from plyd.clients.play.board_text import Look, draw, report_text
from plyd.v1 import position_pb2

MAX_LISTED_MOVES = 20  # by the command help
COMMANDS = {
    "undo": "take back your last move and the engine's reply",
    "hint": "show the engine's move for you",
    "swap": "change sides with the engine",
    "new": "start a new game",
    "board": "show the board",
    "help": "show this list",
    "quit": "leave (also Ctrl-D)",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TerminalSettings:
    """The game to play, and how the engine searches."""

    game: str
    start: str
    engine_first: bool
    watch: bool
    ponder: bool
    thinking: LimitArgs
    options: dict[str, str]


class PlayedMove(NamedTuple):
    """A move of the game: the side that made it, and its text."""

    mover: int
    move: str


class TerminalGame:
    """Games of a person against the engine, or of the engine against itself, one after another."""

    def __init__(self, client: EngineClient, settings: TerminalSettings, look: Look) -> None:
        self._client = client
        self._settings = settings
        self._look = look
        self._played: list[PlayedMove] = []  # the history is kept here: the daemon need not repeat it
        self._game = self._open()
        mover = self._game.state.to_move or position_pb2.SIDE_PLAYER_ONE
        self._person = 0 if settings.watch else other(mover) if settings.engine_first else mover

    def close(self) -> None:
        """Close the stream."""
        self._game.close()

    def run(self) -> None:
        """Play until the person leaves, or until the watched game is over."""
        self._show()
        while True:
            if self._game.state.to_move and self._game.state.to_move != self._person:
                self._answer()
            elif self._settings.watch or (line := read_line(self._prompt())) is None or line == "quit":
                return
            elif line:
                self._handle_line(line)

    def _handle_line(self, line: str) -> None:
        """Carry out a command, or play a move."""
        commands: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "swap": self._swap,
            "new": self._new,
            "board": self._show,
            "help": self._help,
        }
        try:
            commands.get(line, lambda: self._move(line))()
        except InvalidRequest as error:
            complain(f"{error}; type help for help")

    def _move(self, move: str) -> None:
        self._play(move)
        if not self._game.state.to_move:
            self._show()  # otherwise it is shown after the engine's reply

    def _answer(self) -> None:
        """Let the engine move."""
        mover = self._look.stones[self._game.state.to_move]
        report = self._think()
        self._play(report.move)
        who = mover if self._settings.watch else f"engine, {mover}"
        say(f"{who}: {report.move}  ({report_text(report, self._look.stones)})")
        self._show()
        if self._settings.ponder and self._game.state.to_move:
            self._game.go(ponder=True)  # until the next command; its reports are not read

    def _undo(self) -> None:
        movers = [played.mover for played in self._played]
        if self._person not in movers:
            complain("nothing to take back; you have not moved yet")
            return
        plies = movers[::-1].index(self._person) + 1
        self._ask(lambda game: game.take_back(plies))
        del self._played[-plies:]
        self._show()

    def _hint(self) -> None:
        if not self._game.state.to_move:
            complain("the game is over; type undo, new or quit")
            return
        report = self._think()
        say(f"hint: {report.move}  ({report_text(report, self._look.stones)})")

    def _swap(self) -> None:
        self._person = other(self._person)
        say(f"you are {self._look.stones[self._person]} now")

    def _new(self) -> None:
        self._game.close()
        self._game = self._open()
        self._played.clear()
        self._show()

    def _help(self) -> None:
        moves = [legal.move for legal in self._game.state.legal_moves]
        if len(moves) > MAX_LISTED_MOVES:
            moves = [*moves[:3], "...", *moves[-3:]]
        say(f"a move: {' '.join(moves)}" if moves else "the game is over")
        say("\n".join(f"{name:6} {does}" for name, does in COMMANDS.items()))

    def _show(self) -> None:
        """Print the board, and the result if the game is over."""
        state = self._game.state
        say(draw(state, self._look))
        if not state.to_move:
            winner = WINNERS.get(state.outcome)
            who = "" if self._settings.watch or not winner else "you, " if winner == self._person else "engine, "
            say(f"{who}{self._look.stones[winner]} wins" if winner else "a draw")

    def _prompt(self) -> str:
        return f"you, {self._look.stones[self._person]}: " if self._game.state.to_move else "undo, new or quit: "

    def _open(self, moves: Sequence[str] = ()) -> Game:
        return self._client.play(self._settings.start, moves, options=self._settings.options)

    def _play(self, move: str) -> None:
        mover = self._game.state.to_move
        self._ask(lambda game: game.moves(move))
        self._played.append(PlayedMove(mover, move))

    def _think(self) -> Report:
        return self._ask(lambda game: game.best(**self._settings.thinking))

    def _ask(self, call: Callable[[Game], T]) -> T:
        """The result of a call on the stream; if the daemon was unavailable, on a new stream with the same game."""
        try:
            return call(self._game)
        except Unavailable as error:
            complain(f"{error}; asking again")
            self._game = self._open([played.move for played in self._played])
            return call(self._game)


def read_line(prompt: str) -> str | None:
    """A line of input in lower case; None at end of file. Input from a pipe is echoed."""
    if sys.stdin is None:
        return None
    if sys.stdin.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - lets input() edit the line
        try:
            return input(prompt).strip().lower()
        except EOFError:
            say("")
            return None
    line = sys.stdin.readline()
    say(f"{prompt}{line.strip()}".rstrip())
    return line.strip().lower() if line else None


def say(text: str) -> None:
    """Print on stdout; in colours on a terminal, unless NO_COLOR is set."""
    click.echo(text, color=False if "NO_COLOR" in os.environ else None)


def complain(text: str) -> None:
    """Print on stderr."""
    click.echo(text, err=True)

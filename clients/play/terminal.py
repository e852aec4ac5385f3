"""`plyd play connect4` and `plyd play gomoku`: a person against the engine. The daemon applies the rules."""

import contextlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from plyd.clients.library.client import EngineClient, Game
from plyd.clients.library.embedded import PrivateDaemon
from plyd.clients.library.errors import InvalidRequest, PlydError, Unavailable
from plyd.clients.library.requests import WINNERS, Report, Thinking
from plyd.clients.play.board_text import STONES, Labels, draw, other, report_text
from plyd.v1 import position_pb2

MOVE_MS = 1000
MAX_LISTED_MOVES = 20  # by the command help
FIRST_SECONDS = 1.0  # retries of the first connection
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
    thinking: Thinking
    options: dict[str, str]


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every two-player game to a command."""
    for option in reversed(
        [
            click.option(
                "--first",
                type=click.Choice(["me", "engine"]),
                default="me",
                show_default=True,
                help="The side that moves first.",
            ),
            click.option(
                "--move-time",
                type=click.IntRange(1),
                metavar="MS",
                help=f"The engine's time per move.  [default: {MOVE_MS} without --nodes]",
            ),
            click.option("--nodes", type=click.IntRange(1), help="The engine's nodes per move."),
            click.option(
                "--option", "option", multiple=True, metavar="NAME=VALUE", help="Set an engine option. Repeatable."
            ),
            click.option("--ponder", is_flag=True, help="Let the engine search during your turn, too."),
            click.option("--watch", is_flag=True, help="Watch the engine play both sides."),
            click.option(
                "--connect", metavar="ADDRESS", help="Daemon at HOST:PORT or unix:PATH.  [default: start a private one]"
            ),
        ]
    ):
        command = option(command)
    return command


@click.command(short_help="Play Connect Four against the engine.")
@click.option("--size", metavar="CxR", help="Columns x rows, 4 to 16 each.  [default: 7x6]")
@click.option("--forbidden", metavar="C,R", help="A blocked cell: its column, and its row from the bottom.")
@click.option("--start", metavar="TEXT", help='Starting position: rows from the top, "..../..../..o./.xx.".')
@shared_options
def connect4(size: str | None, forbidden: str | None, start: str | None, **options: Any) -> None:
    """Play Connect Four against the engine. x moves first; a move is the number of a column.

    With each of its moves the engine shows its score, the nodes searched, and the moves it expects.

    Commands: undo, hint, swap, new, board, help, quit. Input may come from a pipe; the output is then without colours.
    Invalid input is reported on stderr and ignored.

    \b
    plyd play connect4
    plyd play connect4 --size 12x10 --forbidden 5,3 --first engine --move-time 3000
    plyd play connect4 --watch --nodes 20000
    """
    if start is not None and (size is not None or forbidden is not None):
        raise click.UsageError("--start excludes --size and --forbidden")
    if start is None:
        start = size or "7x6"
        start += f" #{forbidden}" if forbidden is not None else ""
    run("connect4", start, options)


@click.command(short_help="Play Gomoku against the engine.")
@click.option("--size", type=click.IntRange(5, 20), metavar="N", help="Rows and columns, 5 to 20.  [default: 15]")
@click.option(
    "--variant",
    type=click.Choice(["freestyle", "standard", "renju"]),
    default="freestyle",
    show_default=True,
    help="freestyle: five or more in a row win. standard: exactly five. renju: forbidden moves for x.",
)
@click.option("--start", metavar="TEXT", help='Starting position: rows from the top, "...../...../..x../..o../.....".')
@shared_options
def gomoku(size: int | None, variant: str, start: str | None, **options: Any) -> None:
    """Play Gomoku against the engine. x moves first; a move is the letter of a column and the number of a row: h8.

    With each of its moves the engine shows its score, the nodes searched, and the moves it expects.

    Commands: undo, hint, swap, new, board, help, quit. Input may come from a pipe; the output is then without colours.
    Invalid input is reported on stderr and ignored.

    \b
    plyd play gomoku
    plyd play gomoku --size 19 --variant standard --first engine --move-time 3000
    plyd play gomoku --watch --move-time 200
    """
    if start is not None and size is not None:
        raise click.UsageError("--start and --size exclude each other")
    size = size or 15
    run("gomoku", start if start is not None else f"{size}x{size}", options, variant)


def run(game: str, start: str, options: dict[str, Any], variant: str = "") -> None:
    """Play until the person leaves."""
    connect = options["connect"]
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT or unix:PATH", param_hint="--connect")
    if options["watch"] and options["ponder"]:
        raise click.UsageError("--ponder and --watch exclude each other")
    settings = settings_of(game, start, options)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes are an invalid move
    try:
        with contextlib.ExitStack() as stack:
            target = connect if connect is not None else stack.enter_context(PrivateDaemon(game)).target
            with EngineClient(target, game, retry_seconds=FIRST_SECONDS) as client:
                client.describe()  # fails if no daemon answers
            client = stack.enter_context(EngineClient(target, game, variant))
            stack.enter_context(contextlib.closing(TerminalGame(client, settings))).run()
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo()
        sys.exit(130)


def settings_of(game: str, start: str, options: dict[str, Any]) -> TerminalSettings:
    """The settings from the command line, with defaults filled in."""
    pairs = [pair.partition("=") for pair in options["option"]]
    for name, equals, value in pairs:
        if not name or not equals:
            raise click.BadParameter(f"{name + equals + value!r}; expected NAME=VALUE", param_hint="--option")
    milliseconds, nodes = options["move_time"], options["nodes"]
    if milliseconds is None and nodes is None:
        milliseconds = MOVE_MS
    thinking: Thinking = {"nodes": nodes, "seconds": milliseconds / 1000 if milliseconds is not None else None}
    named = {name: value for name, _, value in pairs}
    return TerminalSettings(
        game, start, options["first"] == "engine", options["watch"], options["ponder"], thinking, named
    )


class TerminalGame:
    """Games of a person against the engine, or of the engine against itself, one after another."""

    def __init__(self, client: EngineClient, settings: TerminalSettings) -> None:
        self._client = client
        self._settings = settings
        self._labels = Labels()
        self._played: list[tuple[int, int | None]] = []  # the side that moved, and its cell
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
        mover = STONES[self._game.state.to_move]
        report = self._think()
        self._play(report.move)
        say(f"{'' if self._settings.watch else 'engine, '}{mover}: {report.move}  ({report_text(report)})")
        self._show()
        if self._settings.ponder and self._game.state.to_move:
            self._game.go(ponder=True)  # until the next command; its reports are not read

    def _undo(self) -> None:
        movers = [mover for mover, _ in self._played]
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
        say(f"hint: {report.move}  ({report_text(report)})")

    def _swap(self) -> None:
        self._person = other(self._person)
        say(f"you are {STONES[self._person]} now")

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
        self._labels.learn(state)
        say(draw(state, self._labels, self._played[-1][1] if self._played else None))
        if not state.to_move:
            winner = WINNERS.get(state.outcome)
            who = "" if self._settings.watch or not winner else "you, " if winner == self._person else "engine, "
            say(f"{who}{STONES[winner]} wins" if winner else "a draw")

    def _prompt(self) -> str:
        return f"you, {STONES[self._person]}: " if self._game.state.to_move else "undo, new or quit: "

    def _open(self) -> Game:
        return self._client.play(self._settings.start, **self._settings.options)

    def _play(self, move: str) -> None:
        before = self._game.state
        cells = {legal.move: legal.cell for legal in before.legal_moves if legal.HasField("cell")}
        self._ask(lambda game: game.moves(move))
        self._played.append((before.to_move, cells.get(move)))

    def _think(self) -> Report:
        return self._ask(lambda game: game.best(**self._settings.thinking))

    def _ask(self, call: Callable[[Game], T]) -> T:
        """The result of a call on the stream; if the daemon was unavailable, on a new stream with the same game."""
        try:
            return call(self._game)
        except Unavailable as error:
            complain(f"{error}; asking again")
            self._game = self._client.play(self._game.state.position, **self._settings.options)
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

"""`plyd play connect4` and `plyd play gomoku`: a person against an engine. The rules are the daemon's."""

import contextlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from plyd.clients.library.client import EngineClient, Game
from plyd.clients.library.embedded import EmbeddedDaemon
from plyd.clients.library.errors import InvalidRequest, PlydError, Unavailable
from plyd.clients.library.requests import WINNERS, LimitArgs, Report
from plyd.clients.play.board_text import STONES, Labels, draw, other, report_words
from plyd.v1 import position_pb2

MOVE_MS = 1000
MOST_LISTED = 20  # moves that help names one by one
FIRST_SECONDS = 1.0  # for a daemon to be there at all
COMMANDS = {
    "undo": "take back your last move, and the engine's answer",
    "hint": "what the engine would play for you",
    "swap": "change sides; the engine goes on with yours",
    "new": "begin again",
    "board": "draw the board once more",
    "help": "this list",
    "quit": "leave; so does end of file",
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be played."""

    game: str
    start: str
    engine_first: bool
    watch: bool
    ponder: bool
    thinking: LimitArgs
    options: dict[str, str]


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that all games of two have."""
    for option in reversed(
        [
            click.option(
                "--first", type=click.Choice(["me", "engine"]), default="me", show_default=True, help="Who begins."
            ),
            click.option("--move-time", type=click.IntRange(1), metavar="MS", help="Think so long.  [default: 1000]"),
            click.option("--nodes", type=click.IntRange(1), help="Think so many nodes, instead or at most."),
            click.option(
                "--option", "option", multiple=True, metavar="NAME=VALUE", help="Set an engine's option; repeatable."
            ),
            click.option("--ponder", is_flag=True, help="Let the engine think on your time, too."),
            click.option("--watch", is_flag=True, help="Watch the engine play both sides."),
            click.option(
                "--connect", metavar="ADDRESS", help="Use the daemon at HOST:PORT or unix:PATH, not one of our own."
            ),
        ]
    ):
        command = option(command)
    return command


@click.command(short_help="Connect Four against the engine.")
@click.option("--size", metavar="CxR", help="Columns x rows, 4 to 16 each.  [default: 7x6]")
@click.option("--forbidden", metavar="C,R", help="A cell where no stone rests: its column, and its row from below.")
@click.option("--start", metavar="TEXT", help='Begin here instead: rows from the top, "..../..../..o./.xx.".')
@shared_options
def connect4(size: str | None, forbidden: str | None, start: str | None, **options: Any) -> None:
    """Play Connect Four against the engine. x moves first; a move is the number of a column.

    The engine tells with each of its moves how it sees the game, how much it searched, and the play it expects.

    Other things to say: undo, hint, swap, new, board, help, quit. What is typed may come through a pipe as well; the
    answers are the same, without colours. What makes no sense is told on stderr and passed over.

    \b
    plyd play connect4
    plyd play connect4 --size 12x10 --forbidden 5,3 --first engine --move-time 3000
    plyd play connect4 --watch --nodes 20000
    """
    if start is not None and (size is not None or forbidden is not None):
        raise click.UsageError("--start says what --size and --forbidden would say")
    if start is None:
        start = size or "7x6"
        start += f" #{forbidden}" if forbidden is not None else ""
    run("connect4", start, options)


@click.command(short_help="Gomoku against the engine.")
@click.option("--size", type=click.IntRange(5, 20), metavar="N", help="Rows and columns, 5 to 20.  [default: 15]")
@click.option(
    "--variant",
    type=click.Choice(["freestyle", "standard", "renju"]),
    default="freestyle",
    show_default=True,
    help="Five or more in a row win; exactly five; or exactly five and much is forbidden to x.",
)
@click.option("--start", metavar="TEXT", help='Begin here instead: rows from the top, "...../...../..x../..o../.....".')
@shared_options
def gomoku(size: int | None, variant: str, start: str | None, **options: Any) -> None:
    """Play Gomoku against the engine. x moves first; a move is a column's letter and a row's number, such as h8.

    The engine tells with each of its moves how it sees the game, how much it searched, and the play it expects.

    Other things to say: undo, hint, swap, new, board, help, quit. What is typed may come through a pipe as well; the
    answers are the same, without colours. What makes no sense is told on stderr and passed over.

    \b
    plyd play gomoku
    plyd play gomoku --size 19 --variant standard --first engine --move-time 3000
    plyd play gomoku --watch --move-time 200
    """
    if start is not None and size is not None:
        raise click.UsageError("--start says what --size would say")
    size = size or 15
    run("gomoku", start if start is not None else f"{size}x{size}", options, variant)


def run(game: str, start: str, options: dict[str, Any], variant: str = "") -> None:
    """Play until the person leaves."""
    connect = options["connect"]
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT or unix:PATH", param_hint="--connect")
    if options["watch"] and options["ponder"]:
        raise click.UsageError("--ponder is for games with a person")
    wanted = wanted_of(game, start, options)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # what is no text is no move either
    try:
        with contextlib.ExitStack() as stack:
            target = connect if connect is not None else stack.enter_context(EmbeddedDaemon(game)).target
            with EngineClient(target, game, retry_seconds=FIRST_SECONDS) as client:
                client.describe()  # is anybody there?
            client = stack.enter_context(EngineClient(target, game, variant))
            stack.enter_context(contextlib.closing(Evening(client, wanted))).run()
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo()
        sys.exit(130)


def wanted_of(game: str, start: str, options: dict[str, Any]) -> Wanted:
    """What is to be played, with what the user left open filled in."""
    pairs = [pair.partition("=") for pair in options["option"]]
    for name, equals, value in pairs:
        if not name or not equals:
            raise click.BadParameter(f"{name + equals + value!r}; expected NAME=VALUE", param_hint="--option")
    milliseconds, nodes = options["move_time"], options["nodes"]
    if milliseconds is None and nodes is None:
        milliseconds = MOVE_MS
    thinking: LimitArgs = {"nodes": nodes, "seconds": milliseconds / 1000 if milliseconds is not None else None}
    named = {name: value for name, _, value in pairs}
    return Wanted(game, start, options["first"] == "engine", options["watch"], options["ponder"], thinking, named)


class Evening:
    """A person, or nobody, at a board with an engine; one game after another."""

    def __init__(self, client: EngineClient, wanted: Wanted) -> None:
        self._client = client
        self._wanted = wanted
        self._labels = Labels()
        self._played: list[tuple[int, int | None]] = []  # who moved, and to which cell
        self._game = self._open()
        mover = self._game.state.to_move or position_pb2.SIDE_PLAYER_ONE
        self._person = 0 if wanted.watch else other(mover) if wanted.engine_first else mover

    def close(self) -> None:
        """Leave the board."""
        self._game.close()

    def run(self) -> None:
        """Play until the person leaves, or until there is nothing more to watch."""
        self._show()
        while True:
            if self._game.state.to_move and self._game.state.to_move != self._person:
                self._answer()
            elif self._wanted.watch or (line := read_line(self._prompt())) is None or line == "quit":
                return
            elif line:
                self._obey(line)

    def _obey(self, line: str) -> None:
        """Do what a person says: a command, or else a move."""
        doing: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "swap": self._swap,
            "new": self._new,
            "board": self._show,
            "help": self._help,
        }
        try:
            doing.get(line, lambda: self._move(line))()
        except InvalidRequest as error:
            complain(f"{error}; or type help")

    def _move(self, move: str) -> None:
        self._play(move)
        if not self._game.state.to_move:
            self._show()  # or else it is shown with the answer

    def _answer(self) -> None:
        """Let the engine move."""
        mover = STONES[self._game.state.to_move]
        report = self._think()
        self._play(report.move)
        say(f"{'' if self._wanted.watch else 'engine, '}{mover}: {report.move}  ({report_words(report)})")
        self._show()
        if self._wanted.ponder and self._game.state.to_move:
            self._game.go(ponder=True)  # until the next command; nobody reads what it finds

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
        say(f"hint: {report.move}  ({report_words(report)})")

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
        if len(moves) > MOST_LISTED:
            moves = [*moves[:3], "...", *moves[-3:]]
        say(f"a move: {' '.join(moves)}" if moves else "the game is over")
        say("\n".join(f"{name:6} {does}" for name, does in COMMANDS.items()))

    def _show(self) -> None:
        """Draw the board, and say how the game ended if it did."""
        state = self._game.state
        self._labels.learn(state)
        say(draw(state, self._labels, self._played[-1][1] if self._played else None))
        if not state.to_move:
            winner = WINNERS.get(state.outcome)
            who = "" if self._wanted.watch or not winner else "you, " if winner == self._person else "engine, "
            say(f"{who}{STONES[winner]} wins" if winner else "a draw")

    def _prompt(self) -> str:
        return f"you, {STONES[self._person]}: " if self._game.state.to_move else "undo, new or quit: "

    def _open(self) -> Game:
        return self._client.play(self._wanted.start, **self._wanted.options)

    def _play(self, move: str) -> None:
        before = self._game.state
        cells = {legal.move: legal.cell for legal in before.legal_moves if legal.HasField("cell")}
        self._ask(lambda game: game.moves(move))
        self._played.append((before.to_move, cells.get(move)))

    def _think(self) -> Report:
        return self._ask(lambda game: game.best(**self._wanted.thinking))

    def _ask(self, question: Callable[[Game], T]) -> T:
        """What the engine says; if its daemon was away, it is told the game so far and asked again."""
        try:
            return question(self._game)
        except Unavailable as error:
            complain(f"{error}; asking again")
            self._game = self._client.play(self._game.state.position, **self._wanted.options)
            return question(self._game)


def read_line(prompt: str) -> str | None:
    """What a person typed, in small letters; None at end of file. What comes through a pipe is shown as if typed."""
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
    """Print on stdout, with colours if a terminal is there that wants them."""
    click.echo(text, color=False if "NO_COLOR" in os.environ else None)


def complain(text: str) -> None:
    """Print on stderr."""
    click.echo(text, err=True)

"""`plyd play GAME` for every game for two: a person against the engine. The daemon applies the rules."""

import contextlib
import io
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from plyd.clients.cli import parse_options
from plyd.clients.library.client import EngineClient
from plyd.clients.library.connect.embedded import EmbeddedDaemon
from plyd.clients.library.errors import PlydError
from plyd.clients.library.report import PLAYERS
from plyd.clients.library.requests import LimitArgs
from plyd.clients.play.board_text import Look
from plyd.clients.play.terminal_game import TerminalGame, TerminalSettings
from plyd.v1.engine_pb2 import EngineInfo, StartForm

MOVE_MS = 1000
FIRST_SECONDS = 1.0  # retries of the first connection


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


HELP = """Play {title} against the engine.

{notation}

With each of its moves the engine shows its score, the nodes searched, and the moves it expects.

Commands: undo, hint, swap, new, board, help, quit. Input may come from a pipe; the output is then without colours.
Invalid input is reported on stderr and ignored.

\b
plyd play {game}
plyd play {game} --first engine --move-time 3000
plyd play {game} --watch --move-time 200
"""


def command_of(game: str, title: str = "", notation: str = "") -> click.Command:
    """The command that plays a game; what the game allows, its card says when the daemon answers."""
    notation = notation or "The command help shows the moves; type a move as the daemon writes it."

    @click.command(
        game, help=HELP.format(game=game, title=title or game, notation=notation), short_help=f"Play {title or game}."
    )
    @click.option("--size", metavar="CxR", help="Size of the board: columns x rows, or one number if it is square.")
    @click.option("--blocked", "--forbidden", metavar="C,R", help="Block a cell: its column, and its row from below.")
    @click.option("--variant", metavar="NAME", default="", help="Rules to play by.  [default: the game's first]")
    @click.option("--start", metavar="TEXT", help="Starting position, in the game's notation.")
    @shared_options
    def command(size: str | None, blocked: str | None, variant: str, start: str | None, **options: Any) -> None:
        if start is not None and (size is not None or blocked is not None):
            raise click.UsageError("--start excludes --size and --blocked")
        run(game, Wish(size, blocked, variant, start), options)

    return command


connect4 = command_of("connect4", "Connect Four", "x moves first; a move is the number of a column.")
gomoku = command_of("gomoku", "Gomoku", "x moves first; a move is the letter of a column and the number of a row: h8.")


@dataclass(frozen=True, slots=True)
class Wish:
    """The board that the command line asks for."""

    size: str | None
    blocked: str | None
    variant: str
    start: str | None

    def check_variant(self, card: EngineInfo) -> None:
        """Raise UsageError for a variant that the game does not have."""
        known = [variant.name for variant in card.variants]
        if self.variant and self.variant not in known:
            names = ", ".join(map(repr, known))
            raise click.BadParameter(f"{self.variant!r} is not one of {names}.", param_hint="--variant")

    def start_of(self, card: EngineInfo) -> str:
        """The start in the game's notation."""
        if self.start is not None:
            return self.start
        if self.size is None and self.blocked is None:
            return ""
        form = card.start_form
        if not card.HasField("start_form") or (self.blocked is not None and not form.blocked_cell):
            what = "--size" if self.size is not None and not card.HasField("start_form") else "--blocked"
            raise click.UsageError(f"{card.title} takes no {what}")
        columns, rows = self._size(form)
        start = form.template.replace("{columns}", columns).replace("{rows}", rows)
        if self.blocked is not None:
            column, _, row = self.blocked.partition(",")
            start += form.blocked_cell.replace("{column}", column).replace("{row}", row)
        return start

    def _size(self, form: StartForm) -> tuple[str, str]:
        """Columns and rows."""
        if self.size is None:
            return str(form.columns), str(form.rows)
        found = re.fullmatch(r"(\d{1,4})(?:x(\d{1,4}))?", self.size, re.ASCII)
        if not found or (found[2] is None and not form.square):
            allowed = "a number such as 15" if form.square else "columns x rows, such as 7x6"
            raise click.BadParameter(f"{self.size!r}; expected {allowed}", param_hint="--size")
        return found[1], found[2] or found[1]


def run(game: str, wish: Wish, options: dict[str, Any]) -> None:
    """Play until the person leaves."""
    connect = options["connect"]
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT or unix:PATH", param_hint="--connect")
    if options["watch"] and options["ponder"]:
        raise click.UsageError("--ponder and --watch exclude each other")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid bytes are an invalid move
    try:
        with contextlib.ExitStack() as stack:
            target = connect if connect is not None else stack.enter_context(EmbeddedDaemon(game)).target
            with EngineClient(target, game, retry_seconds=FIRST_SECONDS) as client:
                [card] = client.describe().engines  # fails if no daemon answers
            check_for_two(card)
            wish.check_variant(card)
            settings = settings_of(game, wish.start_of(card), options)
            client = stack.enter_context(EngineClient(target, game, wish.variant, history=False))
            stack.enter_context(contextlib.closing(TerminalGame(client, settings, Look(card)))).run()
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo()
        sys.exit(130)


def check_for_two(card: EngineInfo) -> None:
    """Raise ClickException unless two players take turns, as far as the card says."""
    if card.sides and tuple(side.side for side in card.sides) != PLAYERS:
        raise click.ClickException(f"{card.title} is not a game for two players without chance; the page plays it")


def settings_of(game: str, start: str, options: dict[str, Any]) -> TerminalSettings:
    """The settings from the command line, with defaults filled in."""
    milliseconds, nodes = options["move_time"], options["nodes"]
    if milliseconds is None and nodes is None:
        milliseconds = MOVE_MS
    thinking: LimitArgs = {"nodes": nodes, "seconds": milliseconds / 1000 if milliseconds is not None else None}
    named = parse_options(options["option"])
    return TerminalSettings(
        game, start, options["first"] == "engine", options["watch"], options["ponder"], thinking, named
    )

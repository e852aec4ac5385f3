"""`plyd play connect4` and `plyd play gomoku`: a person against the engine. The daemon applies the rules."""

import contextlib
import io
import sys
from collections.abc import Callable
from typing import Any

import click

from plyd.clients.cli import parse_options
from plyd.clients.library.client import EngineClient
from plyd.clients.library.embedded import EmbeddedDaemon
from plyd.clients.library.errors import PlydError
from plyd.clients.library.requests import LimitArgs
from plyd.clients.play.terminal_game import TerminalGame, TerminalSettings

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
            target = connect if connect is not None else stack.enter_context(EmbeddedDaemon(game)).target
            with EngineClient(target, game, retry_seconds=FIRST_SECONDS) as client:
                client.describe()  # fails if no daemon answers
            client = stack.enter_context(EngineClient(target, game, variant, history=False))
            stack.enter_context(contextlib.closing(TerminalGame(client, settings))).run()
    except PlydError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo()
        sys.exit(130)


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

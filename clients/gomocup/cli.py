"""`plyd gomocup`: the Gomocup protocol, with which Gomoku managers and GUIs run an engine, on stdin and stdout."""

import os
from collections.abc import Callable

import click

from plyd.clients.cli import parse_options

GAME = "gomoku"
MOVE_MS = 5000


@click.command(short_help="Play Gomoku for a manager or a GUI, by the Gomocup protocol.")
@click.option("--connect", metavar="ADDRESS", help="Daemon at HOST:PORT or unix:PATH.  [default: start a private one]")
@click.option(
    "--move-time",
    type=click.IntRange(0),
    metavar="MS",
    default=MOVE_MS,
    show_default=True,
    help="Time per move if the manager sets no limit.",
)
@click.option("--option", "option", multiple=True, metavar="NAME=VALUE", help="Set an engine option. Repeatable.")
def gomocup(connect: str | None, move_time: int, option: tuple[str, ...]) -> None:
    """Play Gomoku for a manager that sends commands on stdin and reads answers from stdout, until END or end of file.

    Also installed as `pbrain-plyd`, the kind of name that managers look for. Give the manager that file as the engine;
    it needs no arguments. Supports boards from 5x5 to 20x20 with the rules freestyle (INFO rule 0), exactly five (INFO
    rule 1) and renju (INFO rule 4).

    Without --connect a private daemon is started, and stopped at the end. START is answered when the engine is ready,
    after a second or two. The very first start compiles kernels, which takes longer than some managers wait: run
    `plyd warm gomoku` once before.

    \b
    in                  out
    START 15            OK
    INFO timeout_turn 1000
    BEGIN               7,7
    TURN 8,8            MESSAGE depth 11 score 54.1% nodes ... pv 6,8 ...
                        6,8
    TAKEBACK 6,8        OK
    END

    \b
    plyd warm gomoku
    c-gomoku-cli -each tc=0/1 tolerance=10 -engine cmd=/path/to/pbrain-plyd -engine cmd=/path/to/pbrain-other \\
        -boardsize 15 -rule 0 -games 40
    plyd gomocup --connect 127.0.0.1:25844 --option method=negascout --option threads=2

    docs/gomocup.md describes every command and the use of time.
    """
    from plyd.clients.gomocup.bridge import GomocupBridge
    from plyd.clients.library.bridges.bridge_engine import BridgeEngine
    from plyd.clients.library.bridges.line_bridge import LineBridge, run_bridge
    from plyd.clients.library.connect.locate import ExistingDaemon, RestartingDaemon

    options = parse_options(option)
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT or unix:PATH", param_hint="--connect")

    def make(say: Callable[[str], None]) -> LineBridge:
        daemon = ExistingDaemon(connect) if connect is not None else RestartingDaemon(GAME)
        return GomocupBridge(BridgeEngine(daemon, GAME), say, move_time, options)

    run_bridge(make, last="END", error="ERROR")


def main() -> None:
    """The program `pbrain-plyd`."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our messages say what gRPC's core would print
    gomocup(prog_name="pbrain-plyd")

"""`plyd gomocup`: the Gomocup protocol, with which Gomoku managers and GUIs run an engine, on stdin and stdout."""

import asyncio
import io
import os
import sys
import threading
import time
from collections.abc import Callable

import click

from plyd.clients.cli import parse_options

MOVE_MS = 5000
MAX_LINE_BYTES = 1 << 16
GRACE_SECONDS = 0.1  # for answers to commands that arrived before END


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
    options = parse_options(option)
    if connect == "":
        raise click.BadParameter("an address is HOST:PORT or unix:PATH", param_hint="--connect")
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        asyncio.run(serve(connect, move_time, options))
    except KeyboardInterrupt:
        leave(130)
    leave(0)


def main() -> None:
    """The program `pbrain-plyd`."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our messages say what gRPC's core would print
    gomocup(prog_name="pbrain-plyd")


async def serve(connect: str | None, move_ms: int, options: dict[str, str]) -> None:
    """Serve the manager until END, end of file, or until it closes our stdout."""
    from plyd.clients.gomocup.bridge import GomocupBridge
    from plyd.clients.gomocup.engine import GAME, GomocupEngine
    from plyd.clients.library.locate import ExistingDaemon, RestartingDaemon

    loop, over = asyncio.get_running_loop(), asyncio.Event()
    lines: asyncio.Queue[tuple[str, float] | None] = asyncio.Queue()

    def say(line: str) -> None:
        try:
            print(line, flush=True)
        except OSError:
            over.set()

    def receive(line: bytes | None) -> None:
        text = line.decode("ascii", "replace").strip() if line is not None else "END"
        is_over = text.upper() == "END"
        loop.call_soon_threadsafe(lines.put_nowait, None if is_over else (text, time.monotonic()))
        if is_over:
            loop.call_soon_threadsafe(over.set)

    async def handle_lines(bridge: GomocupBridge) -> None:
        while received := await lines.get():
            try:
                await bridge.handle_line(*received)
            except Exception as error:  # a bug here must not end the game
                say(f"ERROR {type(error).__name__}: {str(error)!a}")

    bridge = GomocupBridge(
        GomocupEngine(ExistingDaemon(connect) if connect is not None else RestartingDaemon(GAME)), say, move_ms, options
    )
    threading.Thread(target=read_lines, args=(receive,), daemon=True).start()
    handling = asyncio.ensure_future(handle_lines(bridge))
    await asyncio.wait({handling, asyncio.ensure_future(over.wait())}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({handling}, timeout=GRACE_SECONDS)
    handling.cancel()
    await bridge.close()


def read_lines(receive: Callable[[bytes | None], None]) -> None:
    """Pass on the lines of stdin, and None at its end. Bypasses Python's buffer, whose lock would delay the exit."""
    rest = b""
    try:
        while data := os.read(0, MAX_LINE_BYTES):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                receive(line)
            rest = rest[:MAX_LINE_BYTES]
    except OSError:
        pass
    receive(rest)
    receive(None)


def leave(status: int) -> None:
    """Exit immediately: no thread has work left, and the manager is waiting."""
    os._exit(status)

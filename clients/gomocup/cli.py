"""`plyd gomocup`: the Gomocup protocol, by which Gomoku managers and GUIs run an engine, on stdin and stdout."""

import asyncio
import io
import os
import sys
import threading
import time
from collections.abc import Callable

import click

MOVE_MS = 5000
LONGEST_LINE = 1 << 16
GRACE_SECONDS = 0.1  # for what was said before END to be answered, if it can be at once


@click.command(short_help="Play Gomoku for a manager or a GUI, by the Gomocup protocol.")
@click.option("--connect", metavar="ADDRESS", help="Use the daemon at HOST:PORT or unix:PATH, not one of our own.")
@click.option(
    "--move-time",
    type=click.IntRange(0),
    metavar="MS",
    default=MOVE_MS,
    show_default=True,
    help="A move's limit where the manager says none.",
)
@click.option("--option", "option", multiple=True, metavar="NAME=VALUE", help="Set an engine's option; repeatable.")
def gomocup(connect: str | None, move_time: int, option: tuple[str, ...]) -> None:
    """Play Gomoku for a manager who writes commands on stdin and reads answers on stdout, until END or end of file.

    Also installed as `pbrain-plyd`, since managers look for that name. Give them that file as the engine: it needs no
    arguments. Boards from 5x5 to 20x20, freestyle (INFO rule 0), exactly five (INFO rule 1), renju (INFO rule 4).

    Without --connect a private daemon is started, and stopped at the end. START is answered once the engine is ready:
    after a second or two, but the very first time kernels compile, which takes longer than some managers wait. Run
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
    plyd gomocup --connect 127.0.0.1:25844 --option threads=2

    docs/gomocup.md has every command, and how time is spent.
    """
    options = options_of(option)
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
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what its core would print, our messages say
    gomocup(prog_name="pbrain-plyd")


def options_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Options by their names, from NAME=VALUE."""
    options = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{pair!r}; expected NAME=VALUE", param_hint="--option")
        options[name] = value
    return options


async def serve(connect: str | None, move_ms: int, options: dict[str, str]) -> None:
    """Obey the manager until END, end of file, or until nobody reads what we say."""
    from plyd.clients.gomocup.bridge import Bridge
    from plyd.clients.gomocup.engine import GAME, Brain
    from plyd.clients.library.locate import ExistingDaemon, RestartingDaemon

    loop, over = asyncio.get_running_loop(), asyncio.Event()
    lines: asyncio.Queue[tuple[str, float] | None] = asyncio.Queue()

    def say(line: str) -> None:
        try:
            print(line, flush=True)
        except OSError:
            over.set()

    def hear(line: bytes | None) -> None:
        text = line.decode("ascii", "replace").strip() if line is not None else "END"
        is_over = text.upper() == "END"
        loop.call_soon_threadsafe(lines.put_nowait, None if is_over else (text, time.monotonic()))
        if is_over:
            loop.call_soon_threadsafe(over.set)

    async def obey_all(bridge: Bridge) -> None:
        while heard := await lines.get():
            try:
                await bridge.obey(*heard)
            except Exception as error:  # a fault of ours; the game goes on
                say(f"ERROR {type(error).__name__}: {str(error)!a}")

    bridge = Bridge(
        Brain(ExistingDaemon(connect) if connect is not None else RestartingDaemon(GAME)), say, move_ms, options
    )
    threading.Thread(target=listen, args=(hear,), daemon=True).start()
    obeying = asyncio.ensure_future(obey_all(bridge))
    await asyncio.wait({obeying, asyncio.ensure_future(over.wait())}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({obeying}, timeout=GRACE_SECONDS)
    obeying.cancel()
    await bridge.close()


def listen(hear: Callable[[bytes | None], None]) -> None:
    """Hand on the lines of stdin as they come, and None at its end. Reads past Python's buffer, which has a lock."""
    rest = b""
    try:
        while data := os.read(0, LONGEST_LINE):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                hear(line)
            rest = rest[:LONGEST_LINE]
    except OSError:
        pass
    hear(rest)
    hear(None)


def leave(status: int) -> None:
    """Exit at once: no thread of ours has anything left to do, and a manager waits for us."""
    os._exit(status)

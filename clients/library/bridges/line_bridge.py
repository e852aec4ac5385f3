"""Serves a bridge that speaks a line protocol on stdin and stdout."""

import asyncio
import io
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

MAX_LINE_BYTES = 1 << 16  # of a line whose end has not come yet
GRACE_SECONDS = 0.1  # for answers to commands that arrived before the last one


class LineBridge(Protocol):
    """Carries out lines."""

    async def handle_line(self, line: str, arrived: float) -> None:
        """Carry out a line that arrived at a time by the loop's clock. Returns while a search still runs."""

    async def finish(self) -> None:
        """Wait for what is still to be answered: the input is at its end."""

    async def close(self) -> None:
        """Cancel the running search without an answer, and disconnect."""


def run_bridge(
    make: Callable[[Callable[[str], None]], LineBridge], last: str, error: str, *, answers_all: bool = False
) -> None:
    """Serve until the command `last`, end of file or Ctrl-C, and end the process.

    With `answers_all`, all lines before the end of file are answered first.
    `make` gets a function that sends a line. A bug is reported as a line that begins with `error`.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        asyncio.run(_serve(make, last, error, answers_all))
    except KeyboardInterrupt:
        leave(130)
    leave(0)


async def _serve(make: Callable[[Callable[[str], None]], LineBridge], last: str, error: str, answers_all: bool) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    lines: asyncio.Queue[tuple[str, float] | None] = asyncio.Queue()

    def say(line: str) -> None:
        try:
            print(line, flush=True)
        except OSError:
            over.set()

    def receive(line: bytes | None) -> None:
        text = line.decode("utf-8", "replace").strip() if line is not None else last
        is_over = text.upper() == last.upper()
        loop.call_soon_threadsafe(lines.put_nowait, None if is_over else (text, time.monotonic()))
        if is_over and not (answers_all and line is None):
            loop.call_soon_threadsafe(over.set)

    async def handle_lines() -> None:
        while received := await lines.get():
            try:
                await bridge.handle_line(*received)
            except Exception as fault:  # a bug here must not end the game
                say(f"{error} {type(fault).__name__}: {str(fault)!a}")
        await bridge.finish()

    bridge = make(say)
    threading.Thread(target=read_lines, args=(receive,), daemon=True).start()
    handling = asyncio.ensure_future(handle_lines())
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
            rest = rest[: 64 * MAX_LINE_BYTES]  # a game of 100,000 moves and more
    except OSError:
        pass
    receive(rest)
    receive(None)


def leave(status: int) -> None:
    """Exit immediately: no thread has work left, and the manager is waiting."""
    os._exit(status)


def one_line(text: str) -> str:
    """The text without line breaks."""
    return " ".join(text.split())

"""Lines in and out without blocking the event loop: threads of their own read and write."""

import asyncio
import contextlib
import json
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import click

from plyd.clients.library.file_lock import is_ours_alone

READ_BYTES = 1 << 16
MOST_BUFFERED = 256  # lines read ahead of their use
LONGEST_LINE = 4 << 20  # bytes
MOST_UNWRITTEN = 4 << 20  # bytes; then no further line is read until some are written
TOO_LONG = b'"a line of more than 4 MiB"'  # stands for such a line, and is no query either


class LineReader:
    """The lines of a file descriptor, read by a thread that never blocks the event loop or the end of the process."""

    def __init__(self, file: int = 0) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(MOST_BUFFERED)
        threading.Thread(target=self._read, daemon=True).start()

    async def lines(self) -> AsyncIterator[bytes]:
        """Each line, without its end; the last one need not have an end."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # stdin is closed; the loop is, so nobody reads any more
            rest = b""
            while data := os.read(self._file, READ_BYTES):
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    self._put(line)
                if len(rest) > 2 * LONGEST_LINE:
                    rest = rest[: LONGEST_LINE + 1]  # too long already, whatever follows
            if rest:
                self._put(rest)
        with contextlib.suppress(RuntimeError):
            self._put(None)

    def _put(self, line: bytes | None) -> None:
        self._room.acquire()
        if line is not None and len(line) > LONGEST_LINE:
            line = TOO_LONG
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class LineWriter:
    """Writes text to a file descriptor from a thread; `is_broken` once nobody reads it, or the disk is full."""

    def __init__(self, file: int, on_break: Any) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._on_break = on_break
        self._pending: deque[bytes] = deque()
        self._unwritten = 0  # bytes
        self._written = asyncio.Event()
        self._wake = threading.Condition()
        self._is_closing = False
        self.fault: OSError | None = None
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def put(self, text: str) -> None:
        """Queue some text."""
        data = text.encode(errors="replace")
        with self._wake:
            self._pending.append(data)
            self._unwritten += len(data)
            self._wake.notify()

    async def room(self) -> None:
        """Wait until little enough is unwritten, or nothing can be written any more."""
        while self._unwritten > MOST_UNWRITTEN and self.fault is None:
            self._written.clear()
            await self._written.wait()

    async def close(self) -> None:
        """Wait until everything is written."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join)

    def _write(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._pending or self._is_closing)
                data = b"".join(self._pending)
                self._pending.clear()
            if not data:
                return
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._file, view) :]
            except OSError as error:
                self.fault = error
                self._tell(self._on_break)
                return
            finally:
                with self._wake:
                    self._unwritten -= len(data)
                self._tell(self._written.set)

    def _tell(self, what: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            self._loop.call_soon_threadsafe(what)


def resume_file(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """A file of answers, opened to append to it, and the answers that it has.

    An incomplete last line, left by a process that was killed, is removed.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        if not is_ours_alone(file):
            os.close(file)
            raise click.ClickException(f"another process is writing {path}; wait for it, or use another file")
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        answers = [_answer(path, number, line) for number, line in enumerate(data[:whole].splitlines(), 1)]
        os.ftruncate(file, whole)
    except OSError as error:
        raise click.ClickException(f"cannot use {path}: {error.strerror}") from None
    return file, answers


def _answer(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
        if not isinstance(answer, dict):
            raise ValueError
        if "score" in answer and (type(answer.get("id")), type(answer.get("turn"))) != (str, int):
            raise ValueError
    except (ValueError, RecursionError):
        text = line[:60].decode(errors="replace")
        raise click.ClickException(f"{path}, line {number}: {text!r} is not an answer of plyd analyze") from None
    return answer

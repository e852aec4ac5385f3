"""Lines to a file descriptor, written by a thread of their own: whoever adds them never waits for their reader.

This holds for any kind of descriptor: a pipe, journald's socket, a terminal stopped with Ctrl-S, a file on a disk that
hangs. A non-blocking descriptor would not do: that mode belongs to the open file, which other processes share.
"""

import os
import select
import threading
from collections.abc import Callable
from queue import SimpleQueue

MAX_QUEUED_BYTES = 4 << 20
FLUSH_SECONDS = 1.0  # to write the rest at the end


class LineWriter:
    """Writes lines in their order. Drops and counts those that find the queue full, until it is half empty."""

    def __init__(self, file: int, notice: Callable[[int], str] = lambda _: "") -> None:
        """`notice` makes the line which says, where lines are missing, how many of them were lost."""
        self._file, self._notice = file, notice
        self._queue: SimpleQueue[bytes | threading.Event | None] = SimpleQueue()  # None: lines were dropped here
        self._queued_bytes = self._written_bytes = 0  # each changed by one side only, so no lock is needed
        self._dropped_lines = self._failed_lines = 0
        self._told_lines = 0  # of those that were lost
        self._is_dropping = self._is_failing = self._is_torn = False
        threading.Thread(target=self._run, name="lines", daemon=True).start()  # may hang: it must not keep the process

    @property
    def lines_lost(self) -> int:
        """Lines that were dropped or could not be written."""
        return self._dropped_lines + self._failed_lines

    def add(self, text: str) -> None:
        """Queue whole lines. Calls must not overlap."""
        data = text.encode(errors="backslashreplace")
        limit = MAX_QUEUED_BYTES // 2 if self._is_dropping else MAX_QUEUED_BYTES
        if self._queued_bytes - self._written_bytes + len(data) > limit:
            self._dropped_lines += data.count(b"\n")
            self._is_dropping = True
            return
        if self._is_dropping:
            self._queue.put(None)
            self._is_dropping = False
        self._queued_bytes += len(data)
        self._queue.put(data)

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until all lines are written, but no longer than some seconds; whether they are."""
        written = threading.Event()
        self._queue.put(None)
        self._queue.put(written)
        return written.wait(seconds)

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            if item is None or self._is_failing:
                self._tell()
            if item:
                failed = self._write(item)
                self._is_failing = failed > 0
                self._failed_lines += failed
                self._written_bytes += len(item)

    def _tell(self) -> None:
        """Say how many lines were lost since this was last said."""
        lost = self.lines_lost
        if lost > self._told_lines and self._write(self._notice(lost - self._told_lines).encode()) == 0:
            self._told_lines = lost

    def _write(self, data: bytes) -> int:
        """Write lines, together in pieces that a pipe takes as a whole; the number of lines that failed."""
        while data:
            end = data.rfind(b"\n", 0, select.PIPE_BUF) + 1 or data.find(b"\n") + 1 or len(data)
            try:
                self._write_piece(data[:end])
            except OSError:  # no reader, no room on the disk
                return data.count(b"\n")
            data = data[end:]
        return 0

    def _write_piece(self, piece: bytes) -> None:
        if self._is_torn:
            piece = b"\n" + piece  # the line before it was cut off
        while piece:
            try:
                count = os.write(self._file, piece)
            except BlockingIOError:  # another process made the open file non-blocking
                poll = select.poll()
                poll.register(self._file, select.POLLOUT)
                poll.poll()
                continue
            self._is_torn = count < len(piece)
            piece = piece[count:]

"""The daemon's log on stderr: readable lines on a terminal, one JSON object a line otherwise."""

import asyncio
import contextlib
import json
import logging
import os
import select
import stat
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, TextIO

MOST_KEPT = 256  # calls not yet logged
KEPT_SECONDS = 0.05
NO_NOTES: dict[str, Any] = {}
notes: ContextVar[dict[str, Any]] = ContextVar("notes", default=NO_NOTES)  # what is known of the present call
encode = json.JSONEncoder(default=str).encode
quoted: Callable[[str], str] = json.encoder.encode_basestring_ascii
ENCODERS: dict[type, Callable[[Any], str]] = {str: quoted, int: repr, float: repr}  # of what calls are noted with


def set_up(level: str, form: str) -> None:
    """Log to stderr. `form` is human, json or auto."""
    handler = logging.StreamHandler(unhindered(sys.stderr))
    is_human = form == "human" or (form == "auto" and sys.stderr.isatty())
    handler.setFormatter(HumanFormatter() if is_human else JsonFormatter())
    logging.getLogger().handlers[:] = [handler]  # what gRPC and asyncio have to say comes in the same form
    logging.getLogger("plyd").setLevel(level.upper())
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line of ours has them
    logging._srcfile = None  # nor the place in the source: finding it takes a while


class Call(NamedTuple):
    """A call that has ended."""

    ended: float  # seconds since 1970
    method: str
    status: str
    seconds: float
    peer: str
    notes: dict[str, Any]


class Journal:
    """The calls of a daemon, logged some at a time, before long: one record, a line for each call.

    Lines that are made and written together cost a fraction of what each would cost between two calls.
    """

    def __init__(self) -> None:
        self._log = logging.getLogger("plyd.request")
        self._kept: list[Call] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, method: str, status: str, seconds: float, peer: str, notes: dict[str, Any]) -> None:
        """Keep a call to be logged soon. Called by the event loop's thread."""
        if not self._log.isEnabledFor(logging.INFO):
            return
        self._kept.append(Call(time.time(), method, status, seconds, peer, notes))
        if len(self._kept) >= MOST_KEPT:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEPT_SECONDS, self._write_in_time)

    def write(self) -> None:
        """Log what is kept."""
        if self._kept:
            kept, self._kept = self._kept, []
            self._log.info("%d requests", len(kept), extra={"calls": kept})

    def _write_in_time(self) -> None:
        self._timer = None
        self.write()


class Pipe:
    """Writes to a pipe, unless it is full or nobody reads: a lost line is better than a daemon that waits."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)  # opened anew: the original is shared with others

    def write(self, text: str) -> None:
        """Write it, as many lines at once as the system takes all or none of."""
        rest = text.encode(errors="backslashreplace")
        with contextlib.suppress(OSError):
            while rest:
                end = rest.rfind(b"\n", 0, select.PIPE_BUF) + 1 or len(rest)
                os.write(self._file, rest[:end])
                rest = rest[end:]

    def flush(self) -> None:
        """Nothing is kept back."""


def unhindered(stream: TextIO) -> Any:
    """The stream, or a Pipe if it is one."""
    try:
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            return Pipe(f"/proc/self/fd/{stream.fileno()}")
    except (OSError, ValueError):  # no file at all, or no /proc
        pass
    return stream


def announce(line: str) -> None:
    """Say on stdout that something is ready; whoever asked may not listen any more."""
    with contextlib.suppress(OSError):
        os.write(1, f"{line}\n".encode())


def calls_of(record: logging.LogRecord) -> list[Call]:
    """The calls that a record of the journal tells of, none if it is another's."""
    return getattr(record, "calls", [])


def facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """The facts that come with a line; one that was written during a call has the call's request id among them."""
    facts: dict[str, Any] = getattr(record, "facts", NO_NOTES)
    request_id = notes.get().get("request_id")
    return facts if request_id is None or "request_id" in facts else {"request_id": request_id, **facts}


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    _second = -1
    _stamp = ""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        if calls := calls_of(record):
            return "\n".join(map(self._call, calls))
        facts = facts_of(record)
        if record.exc_info:
            facts = {**facts, "traceback": self.formatException(record.exc_info)}
        line = {"time": self._time(record.created), "level": record.levelname.lower(), "logger": record.name}
        return encode({**line, "message": record.getMessage(), **facts})

    def _call(self, call: Call) -> str:
        """The line of a call, written out: there are so many of them."""
        notes = [f', "{name}": {ENCODERS.get(type(value), encode)(value)}' for name, value in call.notes.items()]
        return (
            f'{{"time": "{self._time(call.ended)}", "level": "info", "logger": "plyd.request", "message": "request", '
            f'"method": "{call.method}", "status": "{call.status}", "ms": {call.seconds * 1000:.3f}, '
            f'"peer": {quoted(call.peer)}{"".join(notes)}}}'
        )

    def _time(self, created: float) -> str:
        second = int(created)
        if second != self._second:  # most lines come in the same second as the one before
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{int(created % 1 * 1000):03d}Z"


class HumanFormatter(logging.Formatter):
    """Time, what happened, facts as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a readable line."""
        if calls := calls_of(record):
            return "\n".join(map(self._call, calls))
        head = f"{record.levelname.lower()}: {record.getMessage()}" if record.levelno > 20 else record.getMessage()
        line = self._line(record.created, head, facts_of(record))
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line

    def _call(self, call: Call) -> str:
        head = f"{call.method} {call.status} {call.seconds * 1000:.1f} ms"
        return self._line(call.ended, head, {"peer": call.peer, **call.notes})

    def _line(self, created: float, head: str, facts: dict[str, Any]) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(created))
        return " ".join([clock, head, *(f"{name}={value}" for name, value in facts.items())])

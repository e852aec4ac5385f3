"""The daemon's log on stderr: readable lines on a terminal, one JSON object a line otherwise."""

import asyncio
import atexit
import functools
import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TextIO

from plyd.servers.rpc.context import find_call
from plyd.servers.telemetry.line_writer import LineWriter

MAX_BUFFERED = 256  # calls that are not logged yet
BUFFER_SECONDS = 0.05
encode = json.JSONEncoder(default=str).encode
quoted: Callable[[str], str] = json.encoder.encode_basestring_ascii
BOOLEANS = {False: "false", True: "true"}
ENCODERS: dict[type, Callable[[Any], str]] = {str: quoted, int: repr, float: repr, bool: BOOLEANS.__getitem__}


def set_up(level: str, form: str, *, quiet_requests: bool = False) -> None:
    """Log to stderr. `form` is human, json or auto; with `quiet_requests`, requests are logged only at level debug."""
    is_human = form == "human" or (form == "auto" and sys.stderr.isatty())
    handler = handler_for(sys.stderr, HumanFormatter if is_human else JsonFormatter)
    logging.getLogger().handlers[:] = [handler]  # messages of gRPC and asyncio get the same format
    logging.getLogger("plyd").setLevel(level.upper())
    is_quiet = quiet_requests and level != "debug"
    quiet_level = max(logging.WARNING, logging.getLogger("plyd").level)
    logging.getLogger("plyd.request").setLevel(quiet_level if is_quiet else logging.NOTSET)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # our lines do not show them
    logging._srcfile = None  # nor the place in the source, which takes time to find


def handler_for(stream: TextIO, make_formatter: Callable[[], logging.Formatter]) -> logging.Handler:
    """A handler that writes to a stream and never blocks."""
    try:
        return LineHandler(stream.fileno(), make_formatter)
    except (OSError, ValueError):  # a stream in memory
        handler = logging.StreamHandler(stream)
        handler.setFormatter(make_formatter())
        return handler


class LoggedCall(NamedTuple):
    """A call that has ended."""

    ended: float  # seconds since 1970
    method: str
    status: str
    seconds: float
    peer: str
    fields: dict[str, Any]


class RequestLog:
    """Logs the calls of a daemon in batches: one log record with a line for each call.

    Formatting and writing many lines together costs a fraction of doing so after each call.
    """

    def __init__(self) -> None:
        self._log = logging.getLogger("plyd.request")
        self._buffer: list[LoggedCall] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, method: str, status: str, seconds: float, peer: str, fields: dict[str, Any]) -> None:
        """Log a call within BUFFER_SECONDS. Called by the event loop's thread."""
        if not self._log.isEnabledFor(logging.INFO):
            return
        self._buffer.append(LoggedCall(time.time(), method, status, seconds, peer, fields))
        if len(self._buffer) >= MAX_BUFFERED:
            self.write()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BUFFER_SECONDS, self._on_timer)

    def write(self) -> None:
        """Log the calls in the buffer."""
        if self._buffer:
            calls, self._buffer = self._buffer, []
            self._log.info("%d requests", len(calls), extra={"calls": calls})

    def _on_timer(self) -> None:
        self._timer = None
        self.write()


class LineHandler(logging.Handler):
    """Hands the lines of the log to a LineWriter."""

    def __init__(self, file: int, make_formatter: Callable[[], logging.Formatter]) -> None:
        super().__init__()
        self.setFormatter(make_formatter())
        formatter = make_formatter()  # another one, because a formatter serves one thread at a time

        def notice(count: int) -> str:
            fields = {"name": "plyd.log", "levelno": logging.WARNING, "levelname": "WARNING"}
            return formatter.format(logging.makeLogRecord({**fields, "msg": f"{count} log lines were lost"})) + "\n"

        self.writer = LineWriter(file, notice)

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the lines of a record."""
        try:
            self.writer.add(self.format(record) + "\n")
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Wait until all lines are written, for a bounded time."""
        self.writer.flush()


def lines_lost() -> int:
    """Lines of the log that were lost because nobody read them or because they could not be written."""
    return sum(
        handler.writer.lines_lost for handler in logging.getLogger().handlers if isinstance(handler, LineHandler)
    )


def announce(line: str) -> None:
    """Print a line on stdout, without waiting for whoever reads it."""
    stdout().add(f"{line}\n")


@functools.cache
def stdout() -> LineWriter:
    """The writer to stdout; what it has not written at the end of the process is written then, for a bounded time."""
    writer = LineWriter(1)
    atexit.register(writer.flush)
    return writer


def calls_of(record: logging.LogRecord) -> list[LoggedCall]:
    """The calls of a record that a RequestLog wrote; none of any other record."""
    return getattr(record, "calls", [])


def call_fields() -> dict[str, Any]:
    """The request id of the call that a line is written for, if it is written for one."""
    call = find_call()
    return {"request_id": call.log_fields["request_id"]} if call and "request_id" in call.log_fields else {}


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    _second = -1
    _stamp = ""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        if calls := calls_of(record):
            return "\n".join(map(self._call, calls))
        fields = call_fields()
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        line = {"time": self._time(record.created), "level": record.levelname.lower(), "logger": record.name}
        return encode({**line, "message": record.getMessage(), **fields})

    def _call(self, call: LoggedCall) -> str:
        """The line of a call, formatted by hand because there are so many of them."""
        fields = [f', "{name}": {ENCODERS.get(type(value), encode)(value)}' for name, value in call.fields.items()]
        return (
            f'{{"time": "{self._time(call.ended)}", "level": "info", "logger": "plyd.request", "message": "request", '
            f'"method": "{call.method}", "status": "{call.status}", "ms": {call.seconds * 1000:.3f}, '
            f'"peer": {quoted(call.peer)}{"".join(fields)}}}'
        )

    def _time(self, created: float) -> str:
        second = int(created)
        if second != self._second:  # most lines are of the same second as the one before
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{int(created % 1 * 1000):03d}Z"


class HumanFormatter(logging.Formatter):
    """Time, message, fields as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a readable line."""
        if calls := calls_of(record):
            return "\n".join(map(self._call, calls))
        head = f"{record.levelname.lower()}: {record.getMessage()}" if record.levelno > 20 else record.getMessage()
        line = self._line(record.created, head, call_fields())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line

    def _call(self, call: LoggedCall) -> str:
        head = f"{call.method} {call.status} {call.seconds * 1000:.1f} ms"
        return self._line(call.ended, head, {"peer": call.peer, **call.fields})

    def _line(self, created: float, head: str, fields: dict[str, Any]) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(created))
        return " ".join([clock, head, *(f"{name}={value}" for name, value in fields.items())])

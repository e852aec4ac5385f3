"""The daemon's log on stderr: readable lines on a terminal, one JSON object a line otherwise."""

import contextlib
import json
import logging
import os
import sys
import time
from typing import Any


def set_up(level: str, form: str) -> None:
    """Log to stderr. `form` is human, json or auto."""
    handler = logging.StreamHandler(sys.stderr)
    is_human = form == "human" or (form == "auto" and sys.stderr.isatty())
    handler.setFormatter(HumanFormatter() if is_human else JsonFormatter())
    logging.getLogger().handlers[:] = [handler]  # what gRPC and asyncio have to say comes in the same form
    logging.getLogger("plyd").setLevel(level.upper())


def announce(line: str) -> None:
    """Say on stdout that something is ready; whoever asked may not listen any more."""
    with contextlib.suppress(OSError):
        os.write(1, f"{line}\n".encode())


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        line: dict[str, Any] = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class HumanFormatter(logging.Formatter):
    """Time, what happened, facts as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a readable line."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        facts: dict[str, Any] = dict(getattr(record, "facts", {}))
        if record.name == "plyd.request" and facts:
            head = f"{facts.pop('method')} {facts.pop('status')} {facts.pop('ms'):.1f} ms"
        else:
            head = f"{record.levelname.lower()}: {record.getMessage()}" if record.levelno > 20 else record.getMessage()
        line = " ".join([clock, head, *(f"{name}={value}" for name, value in facts.items())])
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line

"""Runs the jobs of one worker, which it loads by "module:name"; the same in a process and in a Ray actor."""

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any


class BrokenWorker(Exception):
    """Raised by a worker that can do no further job: it is ended, and another one is started in its place."""


def load(place: str) -> Any:
    """What "module:name" names."""
    module, colon, name = place.partition(":")
    if not colon:
        raise ValueError(f"{place!r} is not module:name")
    return getattr(import_module(module), name)


class Host:
    """A worker, and the jobs that it does."""

    def __init__(self, worker: str, settings: Mapping[str, Any], cores: int) -> None:
        with one_at_a_time(worker):
            self._worker = load(worker)(settings, cores)

    def work(self, job: Any, *shared: Any) -> Any:
        """The answer to a job."""
        return self._worker.work(job, *shared)

    def close(self) -> None:
        """Tell the worker that it ends."""
        if hasattr(self._worker, "close"):
            self._worker.close()


@contextlib.contextmanager
def one_at_a_time(worker: str) -> Iterator[None]:
    """On one machine, one worker of a kind is set up at a time: the first compiles kernels, the others load them."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    digest = hashlib.sha256(f"{worker} {version('plyd-client')}".encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"plyd-setup-{os.geteuid()}-{digest}"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def error_text(error: BaseException) -> str:
    """An error on one line: its type, unless that says nothing, and what it says."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

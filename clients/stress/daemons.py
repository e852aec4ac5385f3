"""Daemons to put under load: processes of their own on this machine, and what the system knows of them."""

import contextlib
import random
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from plyd.clients.cli import PROGRAM
from plyd.clients.library.errors import Unavailable

START_SECONDS = 180.0  # a first start compiles kernels
STOP_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Running:
    """A daemon that serves; `process` is None if it is not ours."""

    target: str
    process: subprocess.Popen[bytes] | None

    @property
    def has_died(self) -> bool:
        """Whether the process has ended."""
        return self.process is not None and self.process.poll() is not None

    def resident_bytes(self) -> int | None:
        """Memory of the process that is in use, None if the system does not tell."""
        if self.process is None or self.has_died:
            return None
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return int(lines["VmRSS"].split()[0]) * 1024 if "VmRSS" in lines else None


@contextlib.contextmanager
def serving(*games: str, connect: str = "", options: tuple[str, ...] = ()) -> Iterator[Running]:
    """A daemon of these games on a free port of this machine; or the one at `connect`, which is left alone."""
    if connect:
        yield Running(connect, None)
        return
    command = [*PROGRAM, "serve", *games, "--listen", "127.0.0.1:0", *options]
    with tempfile.TemporaryFile() as errors, ended(command, errors) as process:
        yield Running(first_line(process, errors).split()[-1], process)


@contextlib.contextmanager
def ended(command: list[str], errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is told to go afterwards, and killed if it does not."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def first_line(process: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    """What a process says first, which is that it serves."""
    assert process.stdout is not None
    ready = select.select([process.stdout], [], [], START_SECONDS)[0]
    line = process.stdout.readline().decode() if ready else ""
    if not line:
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
        raise Unavailable(f"{' '.join(map(str, process.args))} does not serve: {said or 'it says nothing'}")  # type: ignore[arg-type]
    return line


def free_port() -> int:
    """A port that nobody listens on, and that the system gives to no caller while a daemon is away from it."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Progress:
    """One line on stderr that says how far things are; at most ten times a second."""

    def __init__(self, status: Any) -> None:
        self._status = status
        self._told = 0.0

    def say(self, line: str) -> None:
        """Show this line, unless one has just been shown."""
        if time.monotonic() - self._told > 0.1:
            self._told = time.monotonic()
            self._status.update(line)

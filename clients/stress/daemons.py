"""Daemons under load: child processes on this machine, and their memory."""

import contextlib
import os
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
class RunningDaemon:
    """A daemon that serves; `process` is None if it was started elsewhere."""

    target: str
    process: subprocess.Popen[bytes] | None

    @property
    def has_died(self) -> bool:
        """Whether the process has ended."""
        return self.process is not None and self.process.poll() is not None

    def resident_bytes(self) -> int | None:
        """Resident memory of the process, or None if it is unknown."""
        if self.process is None or self.has_died:
            return None
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return int(lines["VmRSS"].split()[0]) * 1024 if "VmRSS" in lines else None

    def cpu_seconds(self) -> float:
        """Processor time that the process has used; 0 if it is unknown."""
        if self.process is None or self.has_died:
            return 0.0
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # user and system time


@contextlib.contextmanager
def serving(*games: str, connect: str = "", options: tuple[str, ...] = ()) -> Iterator[RunningDaemon]:
    """A new daemon for these games on a free port, or the running one at `connect`."""
    if connect:
        yield RunningDaemon(connect, None)
        return
    command = [*PROGRAM, "serve", *games, "--listen", "127.0.0.1:0", *options]
    with tempfile.TemporaryFile() as errors, child_process(command, errors) as process:
        yield RunningDaemon(first_line(process, errors).split()[-1], process)


@contextlib.contextmanager
def child_process(command: list[str], errors: IO[bytes] | int) -> Iterator[subprocess.Popen[bytes]]:
    """A child process that is terminated afterwards, and killed if it does not end."""
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
    """The first line of a process's output, which says that it serves; raises Unavailable without one."""
    assert process.stdout is not None
    ready = select.select([process.stdout], [], [], START_SECONDS)[0]
    line = process.stdout.readline().decode() if ready else ""
    if not line:
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
        raise Unavailable(f"{' '.join(map(str, process.args))} does not serve: {said or 'no output'}")  # type: ignore[arg-type]
    return line


def free_port() -> int:
    """A free port outside the ephemeral range, so that no client takes it while the daemon restarts."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class ProgressLine:
    """A progress line on stderr, updated at most ten times a second."""

    def __init__(self, status: Any) -> None:
        self._status = status
        self._shown = 0.0

    def say(self, line: str) -> None:
        """Show this line, unless another was shown less than 0.1 s ago."""
        if time.monotonic() - self._shown > 0.1:
            self._shown = time.monotonic()
            self._status.update(line)

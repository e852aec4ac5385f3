"""A daemon of one's own: started on a Unix socket that only we can open, used, and stopped."""

import os
import secrets
import select
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Self

from plyd.clients.cli import PROGRAM
from plyd.clients.library.errors import Unavailable

START_SECONDS = 120.0  # a first start compiles kernels
STOP_SECONDS = 15.0
QUIET_SECONDS = 2.0  # before a person is told what they wait for
LONGEST_FOLDER = 80  # bytes; a Unix socket's whole name has about a hundred


class PrivateDaemon:
    """A daemon for one process only; in a `with`, `target` is where it answers.

    It watches its stdin, a pipe that we hold, so it goes when we go, even if we are killed.
    """

    def __init__(self, *games: str) -> None:
        self._games = games

    def __enter__(self) -> Self:
        folder = tempfile.gettempdir()
        if len(os.fsencode(folder)) > LONGEST_FOLDER:
            folder = "/tmp"  # noqa: S108
        self.target = f"unix:{folder}/plyd-{secrets.token_hex(8)}"  # the daemon removes it, too
        self._errors = tempfile.TemporaryFile()
        command = [*PROGRAM, "serve", *self._games, "--listen", self.target]
        command += ["--with-stdin", "--log-level", "warning", "--log-format", "human"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={
                name: value for name, value in os.environ.items() if not name.startswith("PLYD_")
            },  # it is only for us
            start_new_session=True,  # a Ctrl-C in the terminal is for the client; it then ends the daemon
        )
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def _wait(self) -> None:
        """Return once it says that it serves."""
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], QUIET_SECONDS)[0] and sys.stderr.isatty():
            print("starting the engine; the first time it compiles for some seconds", file=sys.stderr)
        if not select.select([stdout], [], [], START_SECONDS)[0]:
            raise Unavailable(f"a private daemon for {' '.join(self._games)} is not ready after {START_SECONDS:g} s")
        if not stdout.readline().startswith(b"serving"):
            self._process.wait(STOP_SECONDS)
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
            raise Unavailable(f"a private daemon for {' '.join(self._games)} did not start: {said}")

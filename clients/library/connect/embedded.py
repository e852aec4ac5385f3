"""A private daemon: started on a Unix socket that only this user can open, used by one process, and stopped."""

import os
import secrets
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from plyd.clients.cli import PROGRAM
from plyd.clients.library.connect.up_addresses import running_daemon
from plyd.clients.library.errors import InvalidRequest, Unavailable

START_SECONDS = 120.0  # the first start compiles kernels
STOP_SECONDS = 15.0
QUIET_SECONDS = 2.0  # before a message says what the user is waiting for
LARGE = {"2584": "2.4 GB of weights, up to 30 s"}  # games whose daemon takes long to start, and why
LONGEST_FOLDER = 80  # bytes; the path of a Unix socket may have about 100


def announce_start(game: str) -> None:
    """Say on stderr that an engine takes long to start, and name the running daemon that could be used instead."""
    if game in LARGE:
        running = running_daemon(game)
        hint = f"; --connect {running} uses the daemon that is running" if running else ""
        print(f"starting a private {game} engine ({LARGE[game]}){hint}", file=sys.stderr, flush=True)


def environment(*, is_other: bool) -> dict[str, str]:
    """Variables for a private daemon: default settings; another installation is not told where to import from."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PLYD_") and not (is_other and name == "PYTHONPATH")
    }


class EmbeddedDaemon:
    """A daemon for this process only; in a `with`, `target` is its address. `settings` are those of `plyd serve`.

    It ends when its stdin is closed. That is a pipe from this process, so it ends with us, even if we are killed.
    """

    def __init__(
        self, *games: str, store: str | None = None, settings: Sequence[str] = (), program: Sequence[str] = PROGRAM
    ) -> None:
        self._games = games
        self._program = program
        self._settings = [*(["--store", store] if store else []), *settings]

    def __enter__(self) -> Self:
        for game in self._games:
            if "\0" in game:  # no process takes such an argument
                raise InvalidRequest(f"unknown game {game!r:.60}")
        folder = tempfile.gettempdir()
        if len(os.fsencode(folder)) > LONGEST_FOLDER:
            folder = "/tmp"  # noqa: S108
        self.target = f"unix:{folder}/plyd-{secrets.token_hex(8)}"  # the daemon removes the socket
        self._errors = tempfile.TemporaryFile()
        command = [*self._program, "serve", "--listen", self.target, "--with-stdin"]
        command += ["--log-level", "warning", "--log-format", "human", *self._settings, "--", *self._games]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(is_other=self._program is not PROGRAM),
            start_new_session=True,  # Ctrl-C in the terminal reaches the client only, which then ends the daemon
        )
        for game in self._games:
            announce_start(game)
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
        """Return once it reports that it serves."""
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], QUIET_SECONDS)[0] and sys.stderr.isatty():
            print("starting the engine; the first start compiles it, which takes up to a minute", file=sys.stderr)
        if not select.select([stdout], [], [], START_SECONDS)[0]:
            raise Unavailable(f"a private daemon for {' '.join(self._games)} is not ready after {START_SECONDS:g} s")
        if not stdout.readline().startswith(b"serving"):
            self._process.wait(STOP_SECONDS)
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
            raise Unavailable(f"a private daemon for {' '.join(self._games)} did not start: {said}")

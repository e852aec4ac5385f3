"""A program of somebody else that answers lines: started with a clean environment, asked with a time limit, ended."""

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO

KEPT_VARIABLES = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME")  # of our environment
LONGEST_LINE = 1 << 16  # bytes
LAST_WORDS = 200  # characters of stderr that a message quotes
CHUNK = 1 << 16
STOP_SECONDS = 1.0


class ProgramFault(Exception):
    """A program does not do what it must; the message says what it does, as in "crashes: exit status 1"."""


def clean_environment() -> dict[str, str]:
    """The environment of a program that is not ours: no secrets, no settings of plyd."""
    return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}


class Program:
    """A child process that is asked by lines. What it writes unasked is ignored; of stderr, the last words are kept."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._unsent = b""
        self._read = b""
        self._lines: deque[str] = deque()
        self._last_words = b""
        self._has_stderr = True  # until it is closed
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # so that its own children can be ended with it
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ProgramFault(f"cannot be started: {shlex.join(command)}: {reason}") from None
        for stream in self._streams():
            os.set_blocking(stream.fileno(), False)

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin
        assert stdout
        assert stderr
        return stdin, stdout, stderr

    def close(self) -> None:
        """End the program and the processes that it has started."""
        for stream in self._streams():
            with contextlib.suppress(OSError):
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def tell(self, line: str) -> None:
        """Send a line, now or, if the program does not read, with the next question."""
        self._unsent += f"{line}\n".encode()
        self._exchange(0)

    def ask(self, line: str, answer: re.Pattern[str], seconds: float) -> re.Match[str]:
        """Send a line; the first answer that matches within the time. What was written before is ignored."""
        self._exchange(0)  # lines before the question are not answers to it
        self._lines.clear()
        self._unsent += f"{line}\n".encode()
        end = time.monotonic() + seconds
        while True:
            while self._lines:
                if found := answer.fullmatch(self._lines.popleft()):
                    return found
            if (left := end - time.monotonic()) <= 0:
                raise ProgramFault(f"gives no answer within {seconds:g} s to {line!r}")
            self._exchange(left)

    def _exchange(self, seconds: float) -> None:
        """Write and read what is possible, waiting for at most so long; raises ProgramFault if it has ended."""
        stdin, stdout, stderr = self._streams()
        sources = [stdout, stderr] if self._has_stderr else [stdout]
        readable, writable, _ = select.select(sources, [stdin] if self._unsent else [], [], seconds)
        if writable:
            try:
                self._unsent = self._unsent[os.write(stdin.fileno(), self._unsent) :]
            except BrokenPipeError:
                self._unsent = b""  # it may have answered before it closed stdin; reading tells
            except BlockingIOError:
                pass
        if stderr in readable:
            words = self._some(stderr)
            self._has_stderr = bool(words)
            self._last_words = (self._last_words + words)[-LONGEST_LINE:]
        if stdout in readable:
            data = self._some(stdout)
            *lines, self._read = (self._read + data).split(b"\n")
            self._lines.extend(text.decode(errors="replace").strip() for text in lines)
            if len(self._read) > LONGEST_LINE:
                raise ProgramFault(f"writes a line of more than {LONGEST_LINE} bytes")
            if not data and not self._lines:
                raise ProgramFault(self._how_it_ended())

    @staticmethod
    def _some(stream: IO[bytes]) -> bytes:
        try:
            return os.read(stream.fileno(), CHUNK)
        except BlockingIOError:
            return b""

    def _how_it_ended(self) -> str:
        """Why its stdout is at its end."""
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return "closes its stdout"
        self._last_words += self._some(self._streams()[2])
        how = f"exit status {status}"
        if status < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-status).name
        words = " ".join(self._last_words.decode(errors="replace").split())[-LAST_WORDS:]
        return f"crashes: {how}" + (f"; its last words: {words!r}" if words else "")

"""One process of an outside program: lines in, lines out, and limits. It is killed with all processes it started."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from plyd.engines.core.errors import ProgramFailed, quoted
from plyd.engines.core.intrinsics import Stop

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")  # all that a program sees of our environment
LAUNCH = 'ulimit -c 0; if [ -n "$0" ]; then ulimit -v "$0" || exit 1; fi; exec "$@"'  # no core files, bounded memory
MAX_LINE = 1 << 16  # bytes
MAX_STDERR = 500  # bytes of the end of stderr that are kept for error messages
STOP_SECONDS = 0.01  # between looks at a stop flag
EXIT_SECONDS = 0.5  # for a program that closed its stdout, or was told to end, to end


@dataclass(frozen=True, slots=True)
class Program:
    """A program that plays a game, and its limits."""

    command: tuple[str, ...]
    name: str
    options: tuple[tuple[str, str], ...] = ()  # name and value; told to each process as its protocol has it
    folder: Path | None = None  # working folder; None: ours
    memory_mb: int | None = None  # address space of each process; None: no limit
    margin_seconds: float = 1.0  # after its time for an answer, before it is killed
    start_seconds: float = 30.0  # to start and to say that it is ready
    move_seconds: float = 5.0  # for a search without a time limit, where the protocol needs one
    processes: int = 4  # at once


class ProgramProcess:
    """A running program. Every way in which it fails raises ProgramFailed, which quotes what it said last."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._lines: deque[str] = deque()
        self._rest = b""
        self._errors = b""
        self._last = ""  # the last line that was read
        kilobytes = str(program.memory_mb << 10) if program.memory_mb else ""
        try:
            self._popen = subprocess.Popen(
                ["/bin/sh", "-c", LAUNCH, kilobytes, *program.command],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=program.folder,
                env=clean_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise ProgramFailed(f"cannot start {program.name}: {error.strerror}") from None
        assert self._popen.stdin
        assert self._popen.stdout
        assert self._popen.stderr
        self._in, self._out, self._err = (
            pipe.fileno() for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr)
        )
        for pipe in (self._in, self._out, self._err):
            os.set_blocking(pipe, False)
        self._is_closed = False  # its stdout
        self._reading = select.poll()
        self._reading.register(self._out, select.POLLIN)
        self._reading.register(self._err, select.POLLIN)

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's too."""
        return self._popen.pid

    def is_alive(self) -> bool:
        """Whether it has neither ended nor closed its stdout."""
        if not self._is_closed:
            self._read(0.0)
        return not self._is_closed and self._exit_status() is None

    def send(self, *lines: str) -> None:
        """Write lines to its stdin. Raises ProgramFailed if it does not read them within its margin."""
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        end = time.monotonic() + self.program.margin_seconds
        writing = select.poll()
        writing.register(self._in, select.POLLOUT)
        while data:
            try:
                data = data[os.write(self._in, data) :]
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0:
                    raise self.failure(f"does not read its input for {self.program.margin_seconds:g} s") from None
                self._read(0.0)  # it may be waiting for us to read
                writing.poll(min(left, STOP_SECONDS) * 1000)
            except OSError:
                raise self.end_of_output() from None

    def line(self, end: float, stop: Stop | None = None) -> str | None:
        """The next line of its stdout; None at `end` by the monotonic clock, or once `stop` is set."""
        while not self._lines:
            left = end - time.monotonic()
            if self._is_closed:
                raise self.end_of_output()
            if left <= 0 or (stop and stop.is_set()):
                return None
            self._read(min(left, STOP_SECONDS if stop else 1.0))
        self._last = self._lines.popleft()
        return self._last

    def forget_output(self) -> None:
        """Drop what it has said without being asked."""
        self._read(0.0)
        self._lines.clear()

    def failure(self, what: str) -> ProgramFailed:
        """The error for what it did wrong, with its last words on stdout and stderr."""
        words = f"; its last line is {quoted(self._last)}" if self._last else "; it said nothing"
        if self._last and quoted(self._last) in what:
            words = ""
        errors = self._errors.decode("utf-8", "replace").strip()
        if errors:
            words += f"; its stderr ends with {quoted(errors[-200:], 200)}"
        return ProgramFailed(f"{self.program.name} {what}{words}")

    def end_of_output(self) -> ProgramFailed:
        """The error for a program that has ended, or closed its stdout."""
        end = time.monotonic() + EXIT_SECONDS
        while (status := self._exit_status()) is None and time.monotonic() < end:
            self._read(0.005)  # its last words on stderr
        self._read(0.0)
        self._last = self._lines[-1] if self._lines else self._last
        if status is None:
            return self.failure("closed its stdout")
        if status < 0:
            return self.failure(f"was ended by {signal_name(-status)}")
        return self.failure(f"ended with status {status}")

    def kill(self) -> None:
        """Kill it and every process that it started, and free what belongs to it."""
        self.kill_group()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def kill_group(self) -> None:
        """Kill it and every process that it started. Any thread may call this while another one reads."""
        if self._popen.returncode is None:  # not reaped yet, so that nobody else can have its id
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS's word for a group of zombies
                os.killpg(self.pid, signal.SIGKILL)

    def close_input(self) -> None:
        """Let it see the end of its input, at which a good program ends."""
        if self._popen.stdin:
            self._popen.stdin.close()

    def wait_and_kill(self, end: float) -> None:
        """Let it end by itself until `end`, then kill it."""
        while self._exit_status() is None and time.monotonic() < end:
            time.sleep(0.002)
        self.kill()

    def _exit_status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs. It is not reaped, so its id stays its own."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def _read(self, seconds: float) -> None:
        """Wait for output for so long, and read what there is."""
        for pipe, _ in self._reading.poll(seconds * 1000):
            try:
                data = os.read(pipe, MAX_LINE)
            except BlockingIOError:
                continue
            if not data:
                self._reading.unregister(pipe)
                self._is_closed = self._is_closed or pipe == self._out
            elif pipe == self._err:
                self._errors = (self._errors + data)[-MAX_STDERR:]
            else:
                self._take(data)

    def _take(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(line for text in whole if (line := text.decode("utf-8", "replace").strip()))
        if len(self._rest) > MAX_LINE:
            self._last = self._rest[:100].decode("utf-8", "replace")
            raise self.failure(f"writes a line of more than {MAX_LINE} bytes")


def clean_environment() -> dict[str, str]:
    """The environment of a program: nothing of ours but what finds programs, files and languages."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def signal_name(number: int) -> str:
    """The name of a signal: "SIGSEGV"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

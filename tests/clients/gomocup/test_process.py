"""`plyd gomocup` and `pbrain-plyd` as processes of a manager."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from plyd.clients.gomocup.bridge import ABOUT
from tests.clients.gomocup.talks import quiet_board
from tests.patience import SOON, until

PBRAIN = Path(sys.executable).parent / "pbrain-plyd"


class Manager:
    """A manager with a process of ours."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def tell(self, *lines, end=b"\n"):
        self.process.stdin.write(b"".join((line if isinstance(line, bytes) else line.encode()) + end for line in lines))
        self.process.stdin.flush()

    def hear(self, seconds=SOON):
        while (line := self.lines.get(timeout=seconds)) and line.split()[0] in (b"MESSAGE", b"DEBUG"):
            pass
        return line and line.decode().removesuffix("\n")

    def ask(self, *lines, **how):
        self.tell(*lines, **how)
        return self.hear()

    def wait(self):
        """Wait until the process ends well."""
        assert self.process.wait(SOON) == 0

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()


@pytest.fixture
def manager(plyd, gomoku):
    """Start managers of processes that ask the session's daemon."""
    managers = []

    def start(*options):
        managers.append(Manager(*plyd, "gomocup", "--connect", gomoku, *options))
        return managers[-1]

    yield start
    for one in managers:
        one.close()


def test_a_process_answers_to_both_line_ends_and_ignores_blank_lines(manager):
    one = manager("--move-time", "20", "--option", "threads=1")
    assert one.ask("ABOUT", end=b"\r\n") == ABOUT
    assert one.ask("", "START 15", "", end=b"\r\n") == "OK"
    assert re.fullmatch(r"\d+,\d+", one.ask("BEGIN"))
    assert one.ask(b"\xff\x00\xfe\x80").startswith("UNKNOWN")
    assert one.ask(b"x" * 300_000).startswith("UNKNOWN command 'xxxx")
    one.tell("END")
    assert one.hear() is None
    assert one.process.wait(SOON) == 0
    assert one.process.stderr.read() == b""


@pytest.mark.parametrize("how", ["END", "end of file"])
def test_a_process_goes_at_once_in_the_middle_of_a_search(manager, how):
    one = manager()
    assert one.ask(quiet_board()[0]) == "OK"
    one.tell(*quiet_board()[1:])
    time.sleep(0.2)
    if how == "END":
        one.tell("end", end=b"\r\n")
    else:
        one.process.stdin.close()
    one.wait()  # the search alone would take longer than that waits
    assert one.hear() is None


def test_a_process_goes_when_nobody_reads(plyd, gomoku):
    command = [*plyd, "gomocup", "--connect", gomoku]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(b"ABOUT\nABOUT\n")
        process.stdin.flush()
        assert process.wait(SOON) == 0


def test_what_was_said_before_the_end_is_answered(manager):
    one = manager()
    one.tell("ABOUT", "TURN 7,7", "END")
    assert [one.hear(), one.hear(), one.hear()] == [ABOUT, "ERROR no board; send START first, such as START 15", None]


def test_the_installed_program_runs_a_daemon_of_its_own():
    one = Manager(PBRAIN, "--move-time", "100")
    try:
        assert one.ask("ABOUT") == ABOUT
        assert one.ask("START 15") == "OK"
        assert re.fullmatch(r"\d+,\d+", one.ask("BEGIN"))
        [child] = children(one.process.pid)
        os.kill(child, signal.SIGKILL)
        assert re.fullmatch(r"\d+,\d+", one.ask("TURN 0,0"))
        assert one.ask("RESTART") == "OK"  # waits for the next daemon
        assert re.fullmatch(r"\d+,\d+", one.ask("BEGIN"))
        [child] = children(one.process.pid)
        one.tell("END")
        one.wait()
        wait_until_gone(child)
    finally:
        one.close()


def test_leaving_while_the_daemon_starts():
    one = Manager(PBRAIN)
    try:
        one.tell("ABOUT", "START 15")
        assert one.hear() == ABOUT
        one.tell("END")
        one.wait()
    finally:
        one.close()


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] or [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def wait_until_gone(pid):
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2])

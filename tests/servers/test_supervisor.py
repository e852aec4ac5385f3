"""The supervisor around small processes: what dies is started again, later each time; nobody has to read its lines."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass

import pytest

from plyd.servers import supervisor
from plyd.servers.access.addresses import Address
from plyd.servers.supervisor import ProcessSpec, Supervisor
from tests.patience import SOON

PATIENT = "import sys; print('serving', flush=True); sys.stdin.read()"  # ends when its parent does
DYING = "print('serving', flush=True)"


@dataclass(frozen=True)
class Script(ProcessSpec):
    """A process that runs a line of Python."""

    script: str = PATIENT

    def command(self):
        return [sys.executable, "-S", "-c", self.script]


@pytest.fixture
def lines(monkeypatch):
    """The lines that the supervisor has printed."""
    said = []
    monkeypatch.setattr(supervisor, "announce", said.append)
    return said


def script(name, text=PATIENT, **facts):
    return Script(name, Address("127.0.0.1", 0), (), script=text, **facts)


async def run_until(claim, *specs):
    """Run a supervisor until the claim holds, then stop it as Ctrl-C does; its exit status."""
    it = Supervisor(specs)
    running = asyncio.ensure_future(it.run())
    async with asyncio.timeout(SOON):
        while not claim(it):  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        os.kill(os.getpid(), signal.SIGINT)
        return await running


def test_a_process_that_keeps_dying_waits_longer_each_time_up_to_a_limit(monkeypatch, caplog, lines):
    monkeypatch.setattr(supervisor, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(supervisor, "LONGEST_DELAY_SECONDS", 0.04)
    assert asyncio.run(run_until(lambda _: len(lines) >= 5, script("one", DYING))) == 0
    delays = [record.getMessage().split()[-2] for record in caplog.records if "starts again" in record.getMessage()]
    assert delays[:4] == ["0.01", "0.02", "0.04", "0.04"]


def test_a_process_that_lived_long_is_started_again_soon(monkeypatch, caplog, lines):
    monkeypatch.setattr(supervisor, "FIRST_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(supervisor, "YOUNG_SECONDS", 0.0)
    asyncio.run(run_until(lambda _: len(lines) >= 4, script("one", DYING)))
    delays = {record.getMessage().split()[-2] for record in caplog.records if "starts again" in record.getMessage()}
    assert delays == {"0.01"}


def test_the_table_of_addresses_comes_once_when_all_serve(monkeypatch, caplog, lines):
    monkeypatch.setattr(supervisor, "FIRST_DELAY_SECONDS", 0.01)
    caplog.set_level("INFO", "plyd.up")
    asyncio.run(run_until(lambda _: len(lines) >= 6, script("one"), script("two", DYING)))
    said = [record.getMessage() for record in caplog.records]
    assert len([text for text in said if "Ctrl-C stops them all" in text]) == 1
    assert "two serves again at 127.0.0.1:0" in said


def test_every_process_is_gone_when_it_has_stopped(lines):
    pids = []

    def both_serve(it):
        pids[:] = [process.pid for process in it._processes.values()]
        return len(lines) == 2

    assert asyncio.run(run_until(both_serve, script("one"), script("two"))) == 0
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_processes_are_kept_running_when_nobody_reads_the_lines_any_more(monkeypatch):
    monkeypatch.setattr(supervisor, "FIRST_DELAY_SECONDS", 0.01)
    reads, writes = os.pipe()
    os.close(reads)
    stdout = os.dup(1)
    os.dup2(writes, 1)
    try:
        starts = []
        asyncio.run(run_until(lambda it: _count(it, starts) >= 3, script("one", DYING)))
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(writes)


def _count(it, starts):
    """How many processes there have been so far."""
    starts += [process.pid for process in it._processes.values() if process.pid not in starts]
    return len(starts)


def test_a_process_that_fails_before_it_ever_served_ends_all(caplog, lines):
    async def run():
        it = Supervisor([script("one"), script("two", "raise SystemExit(3)")])
        async with asyncio.timeout(SOON):
            return await it.run(), [process.returncode for process in it._processes.values()]

    status, ended = asyncio.run(run())
    assert status == 1
    assert None not in ended
    assert "two ended with status 3 before it served" in [record.getMessage() for record in caplog.records]


def test_a_process_that_is_killed_before_it_ever_served_is_started_again(monkeypatch, tmp_path, lines):
    monkeypatch.setattr(supervisor, "FIRST_DELAY_SECONDS", 0.01)
    killed = f"""
import os, pathlib, sys
first = pathlib.Path({str(tmp_path / "first")!r})
if not first.exists():
    first.touch()
    os.kill(os.getpid(), 9)
{PATIENT}
"""
    assert asyncio.run(run_until(lambda _: lines, script("one", killed))) == 0


def test_a_plug_in_that_fails_before_it_served_is_left_out_and_the_others_go_on(caplog, lines):
    caplog.set_level("INFO")
    broken = script("broken", "raise SystemExit(1)", is_optional=True)
    claim = lambda it: it._left_out and len(lines) == 1 and "all of them serve" in caplog.text  # noqa: E731
    assert asyncio.run(run_until(claim, broken, script("good"))) == 0
    assert "broken is left out; its lines above say why, and the others go on" in caplog.text
    table = next(record.getMessage() for record in caplog.records if "all of them serve" in record.getMessage())
    assert "good" in table
    assert "broken" not in table

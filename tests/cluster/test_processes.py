"""The backend of processes: jobs go to children and back; a child that dies is replaced."""

import os
import signal
import sys
import threading

import pytest

from plyd.cluster import Fleet, FleetError, JobFailed, WorkerSpec
from plyd.cluster.processes import Processes
from tests.patience import SOON, until

SPEC = WorkerSpec("tests.cluster.workers:Doer", {"colour": "red"})


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))


def test_jobs_are_done_and_shared_data_comes_with_them():
    with Fleet(Processes(SPEC, 2)) as fleet:
        data = fleet.share(b"weights")
        for number in range(6):
            fleet.give(number, {"number": number}, [data])
        found = []
        until(lambda: found.extend(fleet.answers()) or len(found) == 6)
    assert sorted(key for key, _ in found) == list(range(6))
    assert all(answer["number"] == key and answer["shared"] == [b"weights"] for key, answer in found)
    assert {answer["colour"] for _, answer in found} == {"red"}
    for pid in {answer["pid"] for _, answer in found}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_dead_process_is_replaced_and_its_jobs_are_done(tmp_path):
    notes = []
    with Fleet(Processes(SPEC, 1), note=notes.append) as fleet:
        log = tmp_path / "log"
        fleet.give("waits", {"do": "wait", "file": str(tmp_path / "go"), "log": str(log)})
        fleet.give("next", {})
        until(lambda: fleet.answers(0.01) or (log.exists() and log.read_text()))
        os.kill(int(log.read_text().split()[0]), signal.SIGKILL)
        (tmp_path / "go").touch()
        found = []
        until(lambda: found.extend(fleet.answers()) or len(found) == 2)
    assert {key for key, _ in found} == {"waits", "next"}
    assert notes == ["process 0: a worker ended: the process ended with status -9"]


def test_a_job_that_a_busy_process_does_not_read_yet_holds_nobody_up(tmp_path):
    with Fleet(Processes(SPEC, 1)) as fleet:
        until(lambda: fleet.answers() or fleet.workers)
        fleet.give("waits", {"do": "wait", "file": str(tmp_path / "go")})
        next_job = threading.Thread(target=fleet.give, args=("next", {}, [bytes(1 << 20)]), daemon=True)
        next_job.start()  # more than a pipe holds: a network, for example
        next_job.join(SOON)
        assert not next_job.is_alive()
        (tmp_path / "go").touch()
        found = []
        until(lambda: found.extend(fleet.answers()) or len(found) == 2)
    assert [key for key, _ in found] == ["waits", "next"]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"do": "raise", "number": 7}, "ValueError: job 7 is bad"),
        ({"do": "die"}, "status -9"),
        ({"do": "break"}, "BrokenWorker: out of order"),
    ],
)
def test_a_job_that_fails_three_times_ends_the_run(job, message):
    with Fleet(Processes(SPEC, 2)) as fleet:
        fleet.give("bad", job)
        with pytest.raises(JobFailed, match=f"job 'bad' failed 3 times.*{message}"):
            until(lambda: fleet.answers() and None)


def test_a_worker_that_cannot_be_set_up_ends_the_run():
    with (
        Fleet(Processes(WorkerSpec(SPEC.worker, {"broken": True}), 1), retry_seconds=0) as fleet,
        pytest.raises(FleetError, match=r"no worker could be started.*no such thing as a worker"),
    ):
        until(lambda: fleet.answers() and None)

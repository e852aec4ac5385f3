"""Real Ray: nodes are killed, hang, join; jobs are lost, late, poisoned; every answer is counted once."""

import os
import signal
from importlib.util import find_spec

import pytest

from plyd.cluster import Fleet, JobFailed, WorkerSpec
from tests.cluster.nodes import add_node, kill_node, ray_nodes
from tests.patience import LONG, until

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")]
DOER = "tests.cluster.workers:Doer"


@pytest.fixture(scope="module")
def cluster():
    with ray_nodes() as cluster:
        from plyd.cluster.actors import connect  # which imports ray

        connect(cluster.address)
        yield cluster


def fleet_on(cluster, worker=DOER, **settings):
    from plyd.cluster.actors import Actors

    return Fleet(Actors(WorkerSpec(worker)), **settings)


def until_answered(fleet, count, found=None):
    found = [] if found is None else found
    until(lambda: found.extend(fleet.answers()) or len(found) >= count, LONG)
    return found


def test_jobs_run_on_every_node_and_are_answered_once(cluster):
    with fleet_on(cluster) as fleet:
        until(lambda: fleet.answers() or fleet.workers == 2, LONG)
        data = fleet.share(b"weights")
        for number in range(20):
            fleet.give(number, {"number": number}, [data])
        found = until_answered(fleet, 20)
    assert sorted(key for key, _ in found) == list(range(20))
    assert all(answer["number"] == key and answer["shared"] == [b"weights"] for key, answer in found)
    assert len({answer["pid"] for _, answer in found}) == 2


def test_a_job_that_raises_and_one_that_kills_its_worker_end_the_run(cluster):
    for job, message in (({"do": "raise", "number": 7}, "job 7 is bad"), ({"do": "die"}, "failed 3 times")):
        with fleet_on(cluster) as fleet:
            fleet.give("bad", job)
            with pytest.raises(JobFailed, match=message):
                until(lambda fleet=fleet: fleet.answers() and None, LONG)


def test_a_hung_worker_that_comes_back_is_counted_once(cluster, tmp_path):
    log, go = tmp_path / "log", tmp_path / "go"
    with fleet_on(cluster, late_seconds=1.0) as fleet:
        fleet.give("first", {})
        until_answered(fleet, 1)
        fleet.give("job", {"do": "wait", "file": str(go), "log": str(log), "number": 1})
        until(lambda: fleet.answers(0.01) or log.exists(), LONG)
        hung = int(log.read_text().split()[0])
        os.kill(hung, signal.SIGSTOP)
        go.touch()
        found = until_answered(fleet, 1)  # from another worker
        assert [key for key, _ in found] == ["job"]
        assert found[0][1]["pid"] != hung
        os.kill(hung, signal.SIGCONT)
        for number in range(10):
            fleet.give(number, {"number": number})
        found = until_answered(fleet, 10)
    assert sorted(key for key, _ in found) == list(range(10))


def test_a_killed_node_loses_nothing_and_a_new_one_takes_part(cluster, tmp_path):
    notes = []
    with fleet_on(cluster, note=notes.append) as fleet:
        until(lambda: fleet.answers() or fleet.workers == 2, LONG)
        waits = [{"do": "wait", "file": str(tmp_path / "go"), "number": number} for number in range(4)]
        for number, job in enumerate(waits):
            fleet.give(number, job)
        [node] = [node for node in cluster.worker_nodes][:1]
        kill_node(cluster, node)
        until(lambda: fleet.answers() or any("left" in note for note in notes), LONG)
        (tmp_path / "go").touch()
        found = until_answered(fleet, 4)
        add_node(cluster)
        until(lambda: fleet.answers() or fleet.workers == 2, LONG)
        for number in range(4, 24):
            fleet.give(number, {"number": number})
        until_answered(fleet, 24, found)
    assert sorted(key for key, _ in found) == list(range(24))
    assert len({answer["pid"] for key, answer in found if key >= 4}) == 2

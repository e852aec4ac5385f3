"""The fleet's promises, on a fake backend: every job is answered once, whatever happens to workers and nodes."""

import random

import pytest

from plyd.cluster.backend import WorkerReady
from plyd.cluster.fleet import LATE_SECONDS, PENDING_SECONDS, RETRY_SECONDS, TRIES, Fleet, FleetError, JobFailed
from tests.cluster.fake import FakeBackend, fleet_of


def test_a_job_is_answered_once_and_by_its_key():
    fleet, backend = fleet_of("a")
    fleet.give("key", "job")
    backend.answer(*backend.tickets())
    assert fleet.answers() == [("key", (1, "job"))]
    assert fleet.answers() == []
    assert fleet.unfinished == 0


def test_room_is_what_workers_take_and_the_next_jobs_wait():
    fleet, backend = fleet_of("a", "b", at_once=2, ahead=1)
    assert fleet.room() == 6
    for number in range(8):
        fleet.give(number, number)
    assert fleet.room() == 0
    assert len(backend.out) == 6
    backend.answer(*backend.tickets(0))
    fleet.answers()
    assert sorted(job for _, job in backend.out.values()) == [1, 2, 3, 4, 5, 6]


def test_jobs_go_to_the_worker_with_most_room():
    fleet, backend = fleet_of("a", "b", at_once=2)
    for number in range(4):
        fleet.give(number, number)
    assert sorted(worker for worker, _ in backend.out.values()) == [1, 1, 2, 2]


def test_a_key_in_use_is_refused():
    fleet, _ = fleet_of("a")
    fleet.give(1, "job")
    with pytest.raises(ValueError, match="job 1 is not finished"):
        fleet.give(1, "another")


def test_jobs_of_a_node_that_leaves_are_given_out_again():
    fleet, backend = fleet_of("a", "b", at_once=2)
    for number in range(4):
        fleet.give(number, number)
    lost = backend.tickets(worker=1)
    backend.leave("a")
    fleet.answers()
    backend.answer(*backend.tickets(worker=2))
    fleet.answers()
    assert len(backend.tickets(worker=2)) == 2
    backend.answer(*lost)  # a message that was on its way when the node left
    assert fleet.answers() == []
    backend.answer(*backend.tickets())
    assert len(fleet.answers()) == 2
    assert fleet.unfinished == 0


def test_a_node_that_leaves_is_no_failure_of_its_jobs():
    fleet, backend = fleet_of("a")
    fleet.give(1, "job")
    for _ in range(2 * TRIES):
        backend.leave("a")
        fleet.answers()
        backend.join("a")
        fleet.answers()
        backend.ready()
        fleet.answers()
    backend.answer(max(backend.tickets()))
    assert [key for key, _ in fleet.answers()] == [1]


def test_a_worker_that_ends_with_its_node_is_no_failure_of_its_jobs():
    fleet, backend = fleet_of("a")
    fleet.give(1, "job")
    for number in range(2 * TRIES):
        backend.die(max(backend.started), by_node=True)  # Ray tells this seconds before it says that the node is gone
        fleet.answers()
        backend.leave(backend.started[max(backend.started)])
        backend.join(f"node {number}")
        fleet.answers()
        backend.ready()
        fleet.answers()
    backend.answer(max(backend.tickets()))
    assert [key for key, _ in fleet.answers()] == [1]


def test_a_node_that_joins_gets_jobs():
    fleet, backend = fleet_of("a")
    for number in range(3):
        fleet.give(number, number)
    backend.join("b")
    fleet.answers()
    backend.ready()
    fleet.answers()
    assert sorted(worker for worker, _ in backend.out.values()) == [1, 2]


def test_no_more_workers_than_asked_for_but_another_place_takes_over():
    fleet, backend = fleet_of("a", "b", "c", max_workers=2)
    assert list(backend.started.values()) == ["a", "b"]
    backend.leave("a")
    fleet.answers()
    assert list(backend.started.values()) == ["a", "b", "c"]


def test_a_worker_that_waits_for_cores_of_another_program_does_not_keep_free_places_empty():
    backend = FakeBackend()
    fleet = Fleet(backend, max_workers=1, clock=lambda: backend.now)
    backend.join("busy", "free", "spare")
    fleet.answers()
    backend.now += PENDING_SECONDS - 1
    fleet.answers()
    assert list(backend.started.values()) == ["busy"]
    backend.now += 2
    fleet.answers()
    assert list(backend.started.values()) == ["busy", "free"]
    backend.pending.append(WorkerReady(2, 1, 0))
    fleet.answers()
    assert backend.ended == [1]  # no more workers than asked for
    backend.pending.append(WorkerReady(1, 1, 0))  # which was on its way
    backend.now += 2 * PENDING_SECONDS
    fleet.answers()
    assert fleet.workers == 1
    assert len(backend.started) == 2


def test_a_job_that_raises_is_tried_elsewhere_and_three_times_in_all():
    fleet, backend = fleet_of("a", "b", "c")
    fleet.give("bad", "job")
    workers = set()
    for _ in range(TRIES - 1):
        workers.add(backend.out[backend.tickets()[0]][0])
        backend.fail(*backend.tickets())
        fleet.answers()
    backend.fail(*backend.tickets())
    with pytest.raises(JobFailed, match=r"job 'bad' failed 3 times; the last time: ValueError: job on"):
        fleet.answers()


def test_a_job_that_ends_its_worker_three_times_ends_the_run():
    fleet, backend = fleet_of("a", "b", at_once=1, ahead=1)
    fleet.give("bad", "bomb")
    for _ in range(TRIES - 1):
        [ticket] = backend.tickets("bomb")
        backend.die(backend.out[ticket][0])
        fleet.answers()
        backend.ready(1, 1)
        fleet.answers()
    [ticket] = backend.tickets("bomb")
    backend.die(backend.out[ticket][0])
    with pytest.raises(JobFailed, match="job 'bad' failed 3 times"):
        fleet.answers()


def test_a_job_that_only_waited_at_a_dead_worker_is_not_blamed():
    fleet, backend = fleet_of("a", at_once=1, ahead=1)
    fleet.give("runs", "long")
    fleet.give("waits", "short")
    for _ in range(TRIES - 1):
        backend.die(max(backend.started))
        fleet.answers()
        backend.ready(1, 1)
        fleet.answers()
    assert {job for _, job in backend.out.values()} == {"long", "short"}
    assert fleet._jobs["runs"].failures == TRIES - 1
    assert fleet._jobs["waits"].failures == 0


def test_a_dead_worker_is_replaced_and_an_answer_forgives():
    fleet, backend = fleet_of("a")
    for number in range(5):
        backend.die(max(backend.started))
        fleet.answers()
        backend.ready()
        fleet.answers()
        fleet.give(number, number)
        backend.answer(*backend.tickets())
        assert [key for key, _ in fleet.answers()] == [number]


def test_places_where_nothing_starts_are_given_up_and_the_last_one_ends_the_run():
    notes = []
    fleet, backend = fleet_of("a", "b", note=notes.append, retry_seconds=0)
    fleet.give(1, "job")
    for place in ("a", "b"):
        with pytest.raises(FleetError) if place == "b" else pytest.MonkeyPatch.context():
            for _ in range(TRIES):
                fleet._waiting.clear()  # the job is not what is wrong
                fleet._jobs.clear()
                backend.die(max(worker for worker, where in backend.started.items() if where == place))
                fleet.answers()
    assert notes[-1] == "b: given up after 3 failures in a row"


def test_a_late_job_is_given_to_another_worker_and_the_first_answer_wins():
    fleet, backend = fleet_of("a", "b")
    fleet.give(0, "quick")
    backend.answer(*backend.tickets())
    fleet.answers()
    fleet.give(1, "job")
    [first] = backend.tickets()
    backend.now += LATE_SECONDS - 1
    fleet.answers()
    assert backend.tickets() == [first]
    backend.now += 2
    fleet.answers()
    [_, second] = backend.tickets()
    assert backend.out[first][0] != backend.out[second][0]
    fleet.answers()
    assert len(backend.tickets()) == 2  # not a third
    late = backend.out[first]
    backend.answer(second)
    assert [key for key, _ in fleet.answers()] == [1]
    backend.out[first] = late
    backend.answer(first)  # the worker comes back
    assert fleet.answers() == []
    assert fleet.room() == 2


def test_a_late_job_waits_for_another_worker_not_for_its_own():
    fleet, backend = fleet_of("a", at_once=2)
    fleet.give(0, "quick")
    backend.answer(*backend.tickets())
    fleet.answers()
    fleet.give(1, "job")
    backend.now += LATE_SECONDS + 1
    fleet.answers()
    assert len(backend.tickets("job")) == 1
    assert fleet.room() == 1  # and it blocks nobody


def test_jobs_are_late_by_the_longest_so_far():
    fleet, backend = fleet_of("a", "b")
    fleet.give(0, "slow")
    backend.now += 100
    backend.answer(*backend.tickets())
    fleet.answers()
    fleet.give(1, "job")
    backend.now += 250
    fleet.answers()
    assert len(backend.tickets("job")) == 1
    backend.now += 51
    fleet.answers()
    assert len(backend.tickets("job")) == 2


def test_a_worker_that_hangs_is_replaced_in_the_end():
    fleet, backend = fleet_of("a", "b", late_seconds=1.0)
    fleet.give(0, "quick")
    backend.answer(*backend.tickets())
    fleet.answers()
    fleet.give(1, "job")
    hung = backend.out[backend.tickets()[0]][0]
    backend.now += 4
    fleet.answers()
    assert backend.ended == [hung]
    assert len(backend.started) == 3
    backend.answer(max(backend.tickets()))
    assert [key for key, _ in fleet.answers()] == [1]


def test_a_job_that_takes_very_long_is_done_in_the_end():
    fleet, backend = fleet_of("a", "b", late_seconds=1.0)
    fleet.give(0, "quick")
    backend.answer(*backend.tickets())
    fleet.answers()
    fleet.give("long", 100.0)  # seconds
    begun, found = {}, []
    for _ in range(1000):
        backend.now += 1
        backend.ready()
        for ticket in backend.tickets(100.0):
            if backend.now - begun.setdefault(ticket, backend.now) >= 100 and backend.out[ticket][0] in fleet._workers:
                backend.answer(ticket)
        found += fleet.answers()
    assert [key for key, _ in found] == ["long"]


def test_a_dropped_job_is_not_answered():
    fleet, backend = fleet_of("a")
    fleet.give(1, "out")
    fleet.give(2, "waits")
    fleet.drop(1)
    fleet.drop(2)
    fleet.drop("unknown")
    assert fleet.unfinished == 0
    backend.answer(*backend.tickets())
    assert fleet.answers() == []
    assert fleet.room() == 1


def test_results_take_jobs_only_as_there_is_room():
    fleet, backend = fleet_of("a")
    taken = []

    def jobs():
        for number in range(3):
            taken.append(number)
            yield number, number

    events = backend.events
    backend.events = lambda seconds: backend.answer(*backend.tickets()) or events(seconds)  # each job at once
    for number, found in enumerate(fleet.results(jobs())):
        assert found == (number, (1, number))
        assert len(taken) == number + 1
    assert taken == [0, 1, 2]


def test_without_jobs_nobody_waits_for_a_worker():
    fleet = Fleet(FakeBackend())
    assert list(fleet.results([])) == []


def test_leaving_the_block_ends_every_worker():
    fleet, backend = fleet_of("a")
    with fleet:
        fleet.give(1, "job")
    assert backend.is_closed


def test_nobody_working_is_told():
    notes, backend = [], FakeBackend()
    fleet = Fleet(backend, needs="8 cores", note=notes.append, clock=lambda: backend.now)
    backend.now += 11
    fleet.answers()
    backend.join("a")
    backend.now += 11
    fleet.answers()
    assert notes == ["waiting for a node with 8 cores", "no worker is ready yet"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_every_job_is_answered_exactly_once(seed):
    chance = random.Random(seed)
    fleet, backend = fleet_of("a", "b", "c", at_once=2, ahead=1, late_seconds=5.0)
    found, given, nodes = [], 0, 3
    while len(found) < 200:
        while given < 200 and fleet.room():
            fleet.give(given, given)
            given += 1
        backend.now += chance.random()
        alive = sorted({place.worker.number for place in fleet._places.values() if place.worker})
        event = chance.random()
        if event < 0.03 and alive:
            backend.leave(backend.started[chance.choice(alive)])
        elif event < 0.10:
            nodes += 1
            backend.join(f"node {nodes}")
        elif event < 0.12 and len(alive) > 1:
            backend.die(chance.choice(alive))
            fleet._places[backend.started[backend.pending[-1].worker]].failures = 0
            for job in fleet._jobs.values():
                job.failures = 0  # of a real machine, not of the job
        for ticket in list(backend.out):
            if chance.random() < 0.2:
                backend.answer(ticket)
        backend.ready(2, 1)
        found += fleet.answers()
    assert sorted(key for key, _ in found) == list(range(200))
    assert all(key == job for key, (_, job) in found)
    assert fleet.unfinished == 0


def test_a_place_rests_after_a_worker_that_was_never_ready():
    fleet, backend = fleet_of("a")
    backend.die(1)
    fleet.answers()
    assert list(backend.started) == [1, 2]  # it had been ready: at once
    backend.die(2)
    fleet.answers()
    assert list(backend.started) == [1, 2]
    backend.now += 2 * RETRY_SECONDS
    fleet.answers()
    assert list(backend.started) == [1, 2, 3]

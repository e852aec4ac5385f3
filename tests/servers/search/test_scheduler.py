"""The scheduler alone: slots, queue, patience, urgency, and who leaves when. No sockets."""

import asyncio
import functools
import threading

import pytest

from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.engines.core.intrinsics import Stop
from plyd.servers.search.slots.job import Priority
from plyd.servers.search.slots.scheduler import Scheduler
from tests.patience import LONG, SOON


def in_a_loop(test):
    """Run an async test in an event loop of its own, and end it if it hangs."""

    @functools.wraps(test)
    def run(*arguments, **settings):
        asyncio.run(asyncio.wait_for(test(*arguments, **settings), LONG))

    return run


class Work:
    """A job that lasts until it is released or told to stop; `began` lists the names of those that began."""

    began: list[str]

    def __init__(self, scheduler, name="job", began=None, **settings):
        self.name = name
        self.stop = Stop()
        self.began = [] if began is None else began
        self.released = threading.Event()
        self.waited = None
        self.task = asyncio.ensure_future(scheduler.run(self._job, self.stop, **settings))

    def _job(self, waited):
        self.waited = waited
        self.began.append(self.name)
        while not self.released.wait(0.001):
            if self.stop.is_set():
                return f"{self.name} stopped"
        return f"{self.name} done"

    async def end(self):
        self.released.set()
        return await self.task


async def until(claim):
    """Return once a claim holds."""
    async with asyncio.timeout(SOON):
        while not claim():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def running(scheduler, **settings):
    """A job in its slot."""
    before = scheduler.running
    work = Work(scheduler, **settings)
    await until(lambda: scheduler.running == before + 1 and work.began)
    return work


async def waiting(scheduler, **settings):
    """A job in the queue."""
    before = scheduler.waiting
    work = Work(scheduler, **settings)
    await until(lambda: scheduler.waiting == before + 1)
    return work


async def have_quick_jobs(scheduler):
    """Have the scheduler learn that jobs take no time."""
    for _ in range(100):
        await scheduler.run(lambda waited: None, Stop())


async def refused(work):
    with pytest.raises(Overloaded) as refusal:
        await work.task
    return refusal.value


# --- Slots ------------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_a_job_gives_what_it_returns_and_hears_that_it_did_not_wait():
    scheduler = Scheduler("test", 1, 0)
    heard = []
    assert await scheduler.run(lambda waited: heard.append(waited) or "done", Stop()) == "done"
    assert 0 <= heard[0] < SOON
    assert (scheduler.running, scheduler.waiting) == (0, 0)


@pytest.mark.parametrize("slots", [1, 2, 3])
@in_a_loop
async def test_no_more_jobs_run_at_once_than_there_are_slots(slots):
    scheduler = Scheduler("test", slots, 20)
    lock, now, most = threading.Lock(), 0, 0

    def job(waited):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.005)
        with lock:
            now -= 1

    await asyncio.gather(*(scheduler.run(job, Stop()) for _ in range(slots + 20)))
    assert most == slots
    assert (scheduler.running, scheduler.waiting) == (0, 0)


@in_a_loop
async def test_a_waiting_job_begins_when_a_slot_comes_free_and_hears_how_long_it_waited():
    scheduler = Scheduler("test", 1, 1)
    first = await running(scheduler)
    second = await waiting(scheduler)
    await asyncio.sleep(0.05)
    assert second.began == []
    assert await first.end() == "job done"
    assert await second.end() == "job done"
    assert second.waited >= 0.05


@in_a_loop
async def test_a_job_that_raises_frees_its_slot():
    scheduler = Scheduler("test", 1, 0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await scheduler.run(lambda waited: 1 / 0, Stop())
    assert scheduler.running == 0
    assert await scheduler.run(lambda waited: "fine", Stop()) == "fine"


@in_a_loop
async def test_a_job_that_raises_lets_the_next_one_begin():
    scheduler = Scheduler("test", 1, 1)
    release = threading.Event()

    def fail(waited):
        release.wait(SOON)
        raise RuntimeError("broken")

    failing = asyncio.ensure_future(scheduler.run(fail, Stop()))
    await until(lambda: scheduler.running == 1)
    next_one = await waiting(scheduler)
    release.set()
    with pytest.raises(RuntimeError, match="broken"):
        await failing
    assert await next_one.end() == "job done"


# --- The queue --------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_a_full_queue_refuses_at_once_with_a_hint_when_to_try_again():
    scheduler = Scheduler("test", 1, 2)
    works = [await running(scheduler), await waiting(scheduler), await waiting(scheduler)]
    refusal = await refused(Work(scheduler))
    assert str(refusal) == "all 1 slots are taken and 2 requests wait; try again later"
    assert 0.05 <= refusal.retry_seconds <= 10
    for work in works:
        assert await work.end() == "job done"
    assert (scheduler.running, scheduler.waiting) == (0, 0)


@in_a_loop
async def test_without_a_queue_whoever_finds_no_slot_is_refused():
    scheduler = Scheduler("test", 2, 0)
    works = [await running(scheduler), await running(scheduler)]
    await refused(Work(scheduler))
    for work in works:
        await work.end()
    assert await scheduler.run(lambda waited: "fine", Stop()) == "fine"


@in_a_loop
async def test_the_hint_grows_with_the_time_that_jobs_take():
    scheduler = Scheduler("test", 1, 0)
    quick = await running(scheduler)
    hint_before = (await refused(Work(scheduler))).retry_seconds
    await quick.end()
    slow = await running(scheduler)
    await asyncio.sleep(0.4)
    await slow.end()
    last = await running(scheduler)
    assert (await refused(Work(scheduler))).retry_seconds > hint_before
    await last.end()


@in_a_loop
async def test_who_waits_longer_than_its_patience_is_refused_and_leaves_the_queue():
    scheduler = Scheduler("test", 1, 1)
    await have_quick_jobs(scheduler)
    first = await running(scheduler)
    impatient = await waiting(scheduler, max_wait_seconds=0.1)
    assert str(await refused(impatient)) == "no slot came free within 0.100 s; try again later"
    assert scheduler.waiting == 0
    patient = await waiting(scheduler)
    await first.end()
    assert await patient.end() == "job done"
    assert impatient.began == []


@in_a_loop
async def test_no_trace_stays_of_those_who_gave_up():
    scheduler = Scheduler("test", 1, 5)
    first = await running(scheduler)
    for _ in range(20):
        await refused(Work(scheduler, max_wait_seconds=0.001))
        leaving = await waiting(scheduler)
        leaving.task.cancel()
        await asyncio.wait([leaving.task])
    assert len(scheduler._queue) == 0
    await first.end()


@in_a_loop
async def test_the_most_urgent_goes_first_and_who_has_no_deadline_last():
    scheduler = Scheduler("test", 1, 9)
    began = []
    first = await running(scheduler, name="first", began=began)
    works = [
        await waiting(scheduler, name=str(patience), max_wait_seconds=patience, began=began)
        for patience in (None, 30, 20, 59, 25)
    ]
    for work in works:
        work.released.set()
    await first.end()
    await asyncio.gather(*(work.task for work in works))
    assert began == ["first", "20", "25", "30", "59", "None"]


@in_a_loop
async def test_equals_go_in_the_order_they_came():
    scheduler = Scheduler("test", 1, 9)
    began = []
    first = await running(scheduler, name="first", began=began)
    works = [await waiting(scheduler, name=str(i), began=began) for i in range(5)]
    for work in works:
        work.released.set()
    await first.end()
    await asyncio.gather(*(work.task for work in works))
    assert began == ["first", "0", "1", "2", "3", "4"]


@in_a_loop
async def test_pondering_waits_behind_every_other_search_however_urgent():
    scheduler = Scheduler("test", 1, 9)
    began = []
    first = await running(scheduler, name="first", began=began)
    works = [
        await waiting(scheduler, name="ponder", began=began, max_wait_seconds=5, priority=Priority.PONDER),
        await waiting(scheduler, name="normal", began=began, max_wait_seconds=50),
        await waiting(scheduler, name="patient", began=began),
    ]
    for work in works:
        work.released.set()
    await first.end()
    await asyncio.gather(*(work.task for work in works))
    assert began == ["first", "normal", "patient", "ponder"]


@in_a_loop
async def test_pondering_is_stopped_when_another_search_needs_its_slot():
    scheduler = Scheduler("test", 2, 9)
    normal = await running(scheduler)
    ponder = await running(scheduler, priority=Priority.PONDER)
    other = await waiting(scheduler, priority=Priority.PONDER)
    assert not ponder.stop.is_set()
    urgent = Work(scheduler)
    assert await ponder.task == "job stopped"
    assert not normal.stop.is_set()
    assert not other.began
    assert await urgent.end() == "job done"
    await normal.end()
    await other.end()


# --- Refused at once -----------------------------------------------------------------------------------------------


@in_a_loop
async def test_whom_no_slot_comes_to_in_time_is_refused_at_once_and_hears_when_one_would():
    scheduler = Scheduler("test", 1, 5)
    first = await running(scheduler, max_wait_seconds=5)
    scheduler._mean_seconds = 5  # as after many searches that used all their time
    refusal = await refused(Work(scheduler, max_wait_seconds=0.5))
    assert "no slot is likely to come free in time: of 0.500 s, " in str(refusal)
    assert 4 < refusal.retry_seconds <= 5
    assert (scheduler.waiting, first.task.done()) == (0, False)
    await first.end()


@in_a_loop
async def test_one_who_has_a_quarter_of_its_time_left_when_its_slot_comes_is_let_in():
    scheduler = Scheduler("test", 1, 5)
    first = await running(scheduler, max_wait_seconds=30)
    scheduler._mean_seconds = 30
    await refused(Work(scheduler, max_wait_seconds=39))  # 30 s in the queue are more than 3/4 of 39
    patient = await waiting(scheduler, max_wait_seconds=41)
    await first.end()
    assert await patient.end() == "job done"


@in_a_loop
async def test_those_who_wait_already_count_too():
    scheduler = Scheduler("test", 1, 5)
    first = await running(scheduler, max_wait_seconds=10)
    scheduler._mean_seconds = 30
    second = await waiting(scheduler, max_wait_seconds=20)
    await refused(Work(scheduler, max_wait_seconds=22))  # first until 10 s, second until 20 s
    third = await waiting(scheduler, max_wait_seconds=40)
    for work in (first, second, third):
        assert await work.end() == "job done"


@in_a_loop
async def test_with_two_slots_the_one_that_comes_free_first_counts():
    scheduler = Scheduler("test", 2, 5)
    works = [await running(scheduler, max_wait_seconds=seconds) for seconds in (30, 5)]
    scheduler._mean_seconds = 30
    works.append(await waiting(scheduler, max_wait_seconds=10))  # from 5 s on, until 10 s
    await refused(Work(scheduler, max_wait_seconds=12))
    for work in works:
        assert await work.end() == "job done"


@in_a_loop
async def test_a_more_urgent_newcomer_goes_before_another_that_still_starts_in_time():
    scheduler = Scheduler("test", 1, 5)
    began = []
    first = await running(scheduler, max_wait_seconds=100)
    scheduler._mean_seconds = 300
    other = await waiting(scheduler, name="other", began=began, max_wait_seconds=190)
    urgent = await waiting(scheduler, name="urgent", began=began, max_wait_seconds=140)  # the other may begin then
    assert [await work.end() for work in (first, urgent, other)] == ["job done", "urgent done", "other done"]
    assert began == ["urgent", "other"]


@in_a_loop
async def test_nobody_is_refused_for_limits_that_searches_never_use_up():
    scheduler = Scheduler("test", 1, 50)
    await have_quick_jobs(scheduler)

    def job(waited):
        threading.Event().wait(0.001)
        return "fine"

    answers = await asyncio.gather(*(scheduler.run(job, Stop(), 10) for _ in range(40)))
    assert answers == ["fine"] * 40


@in_a_loop
async def test_a_search_without_a_limit_is_expected_to_go_on_as_long_as_it_has():
    scheduler = Scheduler("test", 1, 5)
    await have_quick_jobs(scheduler)
    first = await running(scheduler)
    await asyncio.sleep(0.3)
    await refused(Work(scheduler, max_wait_seconds=0.3))
    patient = await waiting(scheduler, max_wait_seconds=20)
    await first.end()
    assert await patient.end() == "job done"


@in_a_loop
async def test_pondering_keeps_nobody_out():
    scheduler = Scheduler("test", 1, 5)
    scheduler._mean_seconds = 30
    ponder = await running(scheduler, priority=Priority.PONDER)
    urgent = Work(scheduler, max_wait_seconds=5)
    assert await ponder.task == "job stopped"
    assert await urgent.end() == "job done"


# --- Leaving ----------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_who_is_cancelled_while_it_waits_leaves_the_queue_and_never_runs():
    scheduler = Scheduler("test", 1, 1)
    first = await running(scheduler)
    second = await waiting(scheduler)
    second.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second.task
    assert scheduler.waiting == 0
    third = await waiting(scheduler)
    await first.end()
    assert await third.end() == "job done"
    assert second.began == []


@in_a_loop
async def test_who_is_cancelled_while_it_runs_is_told_to_stop_and_frees_its_slot():
    scheduler = Scheduler("test", 1, 1)
    first = await running(scheduler)
    second = await waiting(scheduler)
    first.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first.task
    assert first.stop.is_set()
    await until(lambda: second.began)
    assert await second.end() == "job done"
    assert scheduler.running == 0


@in_a_loop
async def test_a_slot_stays_taken_while_a_cancelled_job_still_runs():
    scheduler = Scheduler("test", 1, 0)
    release = threading.Event()
    task = asyncio.ensure_future(scheduler.run(lambda waited: release.wait(SOON), Stop()))
    await until(lambda: scheduler.running == 1)
    task.cancel()
    await asyncio.wait([task])
    assert scheduler.running == 1
    await refused(Work(scheduler))
    release.set()
    await until(lambda: scheduler.running == 0)
    assert await scheduler.run(lambda waited: "fine", Stop()) == "fine"


@in_a_loop
async def test_a_slot_granted_to_one_who_leaves_in_that_moment_goes_to_the_next():
    scheduler = Scheduler("test", 1, 2)
    first = await running(scheduler)
    leaving, staying = await waiting(scheduler), await waiting(scheduler)
    release_slot = scheduler._release_slot

    def release_and_leave():
        scheduler._release_slot = release_slot
        release_slot()  # grants the slot to the first who waits ...
        leaving.task.cancel()  # ... who is gone before it can take it

    scheduler._release_slot = release_and_leave
    await first.end()
    await until(lambda: staying.began)
    assert leaving.began == []
    assert leaving.task.cancelled()
    assert await staying.end() == "job done"
    assert await scheduler.run(lambda waited: "fine", Stop()) == "fine"


@in_a_loop
async def test_a_slot_granted_in_the_moment_that_patience_ends_is_taken(monkeypatch):
    scheduler = Scheduler("test", 1, 1)
    first = await running(scheduler)
    timeouts, timeout = {}, asyncio.timeout
    monkeypatch.setattr(asyncio, "timeout", lambda seconds: timeouts.setdefault(seconds, timeout(seconds)))
    second = await waiting(scheduler, max_wait_seconds=30)
    monkeypatch.undo()
    release_slot = scheduler._release_slot

    def release_too_late():
        scheduler._release_slot = release_slot
        release_slot()
        timeouts[30]._on_timeout()

    scheduler._release_slot = release_too_late
    await first.end()
    assert await second.end() == "job done"
    assert (scheduler.running, scheduler._free) == (0, 1)


# --- Stopping ---------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_a_job_in_a_hurry_runs_beyond_the_slots():
    scheduler = Scheduler("test", 1, 2)
    first = await running(scheduler)
    other, hurried = await waiting(scheduler), await waiting(scheduler)
    hurried.stop.set()
    scheduler.run_now(hurried.stop)
    assert await hurried.task == "job stopped"
    assert first.task.done() is other.task.done() is False
    assert other.began == []
    await first.end()
    assert await other.end() == "job done"


@in_a_loop
async def test_a_hurry_costs_no_slot_and_gains_none():
    scheduler = Scheduler("test", 1, 3)
    first = await running(scheduler)
    for _ in range(3):
        hurried = await waiting(scheduler)
        hurried.stop.set()
        scheduler.run_now(hurried.stop)
        await hurried.task
    second, third = await waiting(scheduler), await waiting(scheduler)
    await first.end()
    await until(lambda: second.began)
    await asyncio.sleep(0.02)
    assert third.began == []
    await second.end()
    await third.end()
    assert scheduler._free == 1


@in_a_loop
async def test_a_slot_freed_while_one_in_a_hurry_runs_is_passed_on_once():
    scheduler = Scheduler("test", 1, 3)
    first = await running(scheduler)
    hurried, second, third = [await waiting(scheduler) for _ in range(3)]
    hurried.stop.set()
    scheduler.run_now(hurried.stop)
    await asyncio.gather(first.end(), hurried.task)
    await until(lambda: second.began)
    await asyncio.sleep(0.02)
    assert (scheduler.running, third.began) == (1, [])
    await second.end()
    await third.end()
    assert scheduler._free == 1


@in_a_loop
async def test_a_job_told_to_stop_before_it_came_does_not_wait():
    scheduler = Scheduler("test", 1, 1)
    first = await running(scheduler)
    stopped = Work(scheduler)
    stopped.stop.set()
    assert await stopped.task == "job stopped"
    await first.end()
    assert scheduler._free == 1


@in_a_loop
async def test_drain_stops_what_runs_and_turns_away_what_waits_and_what_comes():
    scheduler = Scheduler("test", 1, 2)
    first, second = await running(scheduler), await waiting(scheduler)
    scheduler.drain()
    assert await first.task == "job stopped"
    with pytest.raises(ShuttingDown):
        await second.task
    with pytest.raises(ShuttingDown):
        await Work(scheduler).task
    assert (scheduler.running, scheduler.waiting, second.began) == (0, 0, [])


@in_a_loop
async def test_drain_stops_one_who_was_granted_a_slot_but_has_not_begun():
    scheduler = Scheduler("test", 1, 1)
    first, second = await running(scheduler), await waiting(scheduler)
    release_slot = scheduler._release_slot

    def release_and_drain():
        scheduler._release_slot = release_slot
        release_slot()
        scheduler.drain()

    scheduler._release_slot = release_and_drain
    await first.end()
    assert await second.task == "job stopped"
    assert scheduler.running == 0


@in_a_loop
async def test_all_slots_are_free_after_a_storm():
    scheduler = Scheduler("test", 2, 8)

    async def caller(number):
        stop = Stop()
        job = scheduler.run(lambda waited: threading.Event().wait(0.002), stop, [None, 0.001, 0.01][number % 3])
        task = asyncio.ensure_future(job)
        await asyncio.sleep(0.0005 * (number % 11))
        if number % 4 == 0:
            task.cancel()
        if number % 5 == 0:
            stop.set()
            scheduler.run_now(stop)
        await asyncio.wait([task])
        return task.cancelled() or isinstance(task.exception(), Overloaded | None)

    for _ in range(3):
        assert all(await asyncio.gather(*(caller(number) for number in range(60))))
    await until(lambda: scheduler.running == 0)
    assert (scheduler._free, scheduler.waiting) == (2, 0)

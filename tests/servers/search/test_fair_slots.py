"""Clients take turns: who gets how many slices, who is paused for whom, and who is refused. The clock is the test's."""

import asyncio
import itertools
import time
from collections import Counter

import pytest

from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.engines.core.intrinsics import Stop
from plyd.servers.search.slots.fair_share import SLICE_SECONDS
from plyd.servers.search.slots.job import Priority
from plyd.servers.search.slots.scheduler import LAST_SECONDS, Scheduler
from tests.patience import SOON
from tests.servers.search.test_scheduler import in_a_loop, until

SLICE = 1.01 * SLICE_SECONDS


@pytest.fixture(autouse=True)
def _no_timeouts(monkeypatch):
    """Jobs wait by the test's clock, not by the loop's."""
    timeout = asyncio.timeout
    monkeypatch.setattr(asyncio, "timeout", lambda _: timeout(SOON))


class Slots(Scheduler):
    """A scheduler whose clock stands still until the test moves it."""

    def __init__(self, slots=1, queue_size=64):
        self.now = 1000.0
        super().__init__("test", slots, queue_size, clock=lambda: self.now)

    async def pass_slice(self):
        """One slice passes; the clients that had the slots."""
        held = [job.client for job in self._in_slots()]
        self.now += SLICE
        self._dispatch()
        await until(lambda: self.running >= self.slots - self._free)
        return held


class Search:
    """A search that counts nodes until it is told to stop, or `end` is called."""

    def __init__(self, scheduler, client, **settings):
        self.stop, self.client, self.nodes, self.has_ended = Stop(), client, 0, False
        self.task = asyncio.ensure_future(scheduler.run(self._work, self.stop, client=client, **settings))
        self._scheduler = scheduler

    def _work(self, waited):
        while not self.stop.poll() and not self.has_ended:
            self.nodes += 1
            time.sleep(0.0005)
        return "stopped" if self.stop.is_set() else "done"

    @property
    def is_in_slot(self):
        job = self._scheduler._begun.get(self.stop)
        return job is not None and not job.is_paused

    @property
    def is_paused(self):
        job = self._scheduler._begun.get(self.stop)
        return job is not None and job.is_paused

    async def begun(self):
        await until(lambda: self.nodes > 0)
        return self

    async def end(self):
        self.has_ended = True
        return await self.task


async def stop_all(scheduler, *searches):
    for search in searches:
        search.stop.set()
        scheduler.run_now(search.stop)
    await asyncio.gather(*(search.task for search in searches), return_exceptions=True)
    await until(lambda: scheduler.running == 0)
    assert (scheduler._free, scheduler.waiting) == (scheduler.slots, 0)


# --- Shares -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 2])
@in_a_loop
async def test_each_of_three_greedy_clients_gets_its_share_and_a_modest_one_is_never_refused(slots):
    scheduler = Slots(slots)
    greedy = [Search(scheduler, client) for client in "abc" for _ in range(5 + 5 * (client == "a"))]
    await until(lambda: scheduler.running == slots)
    slices = Counter()
    for turn in range(90):
        if turn % 10 == 0:  # it wants two slices of time, and has five in all
            modest = Search(scheduler, "modest", max_wait_seconds=5 * SLICE)
            await asyncio.sleep(0)
        slices.update(held := await scheduler.pass_slice())
        if "modest" in held and slices["modest"] % 2 == 0:
            assert await modest.end() == "done"
    assert slices["modest"] == 2 * 9
    for client in "abc":
        assert slices[client] == pytest.approx((90 * slots - 18) / 3, abs=3)
    await stop_all(scheduler, *greedy)


@in_a_loop
async def test_a_client_alone_uses_all_slots_and_nobody_is_paused():
    scheduler = Slots(2)
    searches = [Search(scheduler, "a") for _ in range(4)]
    await until(lambda: scheduler.running == 2)
    for _ in range(5):
        assert await scheduler.pass_slice() == ["a", "a"]
    assert scheduler.pauses == 0
    assert [search.is_in_slot for search in searches] == [True, True, False, False]
    await stop_all(scheduler, *searches)


@in_a_loop
async def test_what_was_used_while_nobody_waited_is_soon_forgotten():
    scheduler = Slots()
    old = await Search(scheduler, "old").begun()
    scheduler.now += 3600
    new = Search(scheduler, "new")
    await asyncio.sleep(0)
    held = list(itertools.chain(*[await scheduler.pass_slice() for _ in range(60)]))
    assert held[1:6] == ["new"] * 5  # it has had less
    assert held.count("old") == pytest.approx(30, abs=12)
    assert held[-20:].count("old") == pytest.approx(10, abs=1)
    await stop_all(scheduler, old, new)


# --- Pausing ----------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_a_search_keeps_its_slot_for_a_slice_then_pauses_and_goes_on_where_it_was():
    scheduler = Slots()
    first = await Search(scheduler, "a").begun()
    second = Search(scheduler, "b")
    await asyncio.sleep(0.03)
    assert (first.is_in_slot, second.nodes) == (True, 0)
    await scheduler.pass_slice()
    await second.begun()
    assert (first.is_paused, scheduler.running, scheduler.waiting, scheduler.pauses) == (True, 1, 1, 1)
    await asyncio.sleep(0.01)
    nodes = first.nodes
    await asyncio.sleep(0.01)
    assert first.nodes <= nodes + 1  # the node that it was at
    assert await second.end() == "done"
    await until(lambda: first.nodes > nodes)
    assert await first.end() == "done"
    assert (scheduler._free, scheduler.waiting) == (1, 0)


@in_a_loop
async def test_an_analysis_without_limits_pauses_at_once_for_play_even_of_its_own_client():
    scheduler = Slots()
    analysis = await Search(scheduler, "a", priority=Priority.BACKGROUND).begun()
    scheduler.now += SLICE
    play = await Search(scheduler, "a", max_wait_seconds=0.1).begun()
    assert analysis.is_paused
    other = Search(scheduler, "b", priority=Priority.BACKGROUND)
    for _ in range(3):
        await scheduler.pass_slice()
    assert play.is_in_slot  # an analysis never takes the slot of play, however much that has had
    await play.end()
    await other.begun()
    await stop_all(scheduler, analysis, other)


@in_a_loop
async def test_pondering_is_stopped_not_paused_for_an_analysis():
    scheduler = Slots()
    ponder = await Search(scheduler, "a", priority=Priority.PONDER).begun()
    analysis = Search(scheduler, "b", priority=Priority.BACKGROUND)
    assert await ponder.task == "stopped"
    await analysis.begun()
    await stop_all(scheduler, analysis)


@in_a_loop
async def test_a_short_search_runs_to_its_end_if_those_who_wait_have_the_time():
    scheduler = Slots()
    short = await Search(scheduler, "a", max_wait_seconds=1).begun()
    patient = Search(scheduler, "b", max_wait_seconds=100)
    for _ in range(3):
        assert await scheduler.pass_slice() == ["a"]
    hurried = Search(scheduler, "c", max_wait_seconds=0.4)  # of which it may lose 0.3 s; the short one needs 0.8 more
    await hurried.begun()
    assert short.is_paused
    await stop_all(scheduler, short, patient, hurried)


@in_a_loop
async def test_a_paused_search_gets_its_slot_back_in_time_to_answer():
    scheduler = Slots()
    paused = await Search(scheduler, "a", max_wait_seconds=100).begun()
    other = Search(scheduler, "b", max_wait_seconds=200)
    await asyncio.sleep(0)
    await scheduler.pass_slice()
    assert (paused.is_paused, (await other.begun()).is_in_slot) == (True, True)
    other_job = scheduler._begun[other.stop]
    scheduler.now += 100 - SLICE - LAST_SECONDS - 0.001
    other_job.slice_began = scheduler.now  # as if it had got its slot just now
    scheduler._dispatch()
    assert paused.is_paused
    scheduler.now += 0.002
    scheduler._dispatch()
    assert (paused.is_in_slot, other.is_in_slot, scheduler._free) == (True, True, -1)
    await paused.end()
    await stop_all(scheduler, other)


# --- Stopping ---------------------------------------------------------------------------------------------------------


async def paused_search(scheduler):
    """A search that is paused, and the one that has its slot."""
    paused = await Search(scheduler, "a").begun()
    other = Search(scheduler, "b")
    await asyncio.sleep(0)
    await scheduler.pass_slice()
    assert (paused.is_paused, (await other.begun()).is_in_slot) == (True, True)
    return paused, other


@in_a_loop
async def test_a_paused_search_ends_when_told_to_and_leaves_the_slot_to_the_other():
    scheduler = Slots()
    paused, other = await paused_search(scheduler)
    paused.stop.set()
    scheduler.run_now(paused.stop)
    assert await paused.task == "stopped"
    assert (scheduler.running, scheduler.waiting, scheduler._free, other.is_in_slot) == (1, 0, 0, True)
    await stop_all(scheduler, other)


@in_a_loop
async def test_a_paused_search_whose_caller_leaves_ends():
    scheduler = Slots()
    paused, other = await paused_search(scheduler)
    paused.task.cancel()
    await until(lambda: paused.stop not in scheduler._begun)
    assert scheduler.waiting == 0
    await stop_all(scheduler, other)


@in_a_loop
async def test_drain_ends_paused_searches_too():
    scheduler = Slots()
    paused, other = await paused_search(scheduler)
    scheduler.drain()
    assert [await search.task for search in (paused, other)] == ["stopped", "stopped"]
    await scheduler.until_idle()
    with pytest.raises(ShuttingDown):
        await Search(scheduler, "c").task


# --- Admission --------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_timed_searches_are_not_refused_because_others_search_without_end():
    scheduler = Slots(2)
    scheduler._mean_seconds = 3600  # as after long searches
    endless = [await Search(scheduler, "a").begun() for _ in range(2)]
    scheduler.now += 3600
    for _ in range(20):
        timed = Search(scheduler, "b", max_wait_seconds=0.1)
        await asyncio.sleep(0)
        await scheduler.pass_slice()
        await timed.begun()
        assert await timed.end() == "done"
    await stop_all(scheduler, *endless)


@in_a_loop
async def test_clients_take_turns_when_it_is_told_who_comes_in_time():
    scheduler = Slots()
    first = await Search(scheduler, "a", max_wait_seconds=1).begun()
    scheduler._mean_seconds = 1
    queued = [Search(scheduler, "a", max_wait_seconds=seconds) for seconds in range(4, 44, 4)]  # 2 s each
    await until(lambda: scheduler.waiting == 10)
    other = Search(scheduler, "b", max_wait_seconds=5)  # after the first, not after all of them
    await until(lambda: scheduler.waiting == 11)
    late = Search(scheduler, "a", max_wait_seconds=5)
    with pytest.raises(Overloaded, match="no slot is likely to come free in time"):
        await late.task
    await stop_all(scheduler, first, other, *queued)


@in_a_loop
async def test_a_newcomer_does_not_make_one_who_waits_too_late_unless_that_client_has_had_far_more():
    scheduler = Slots()
    first = await Search(scheduler, "a", max_wait_seconds=10).begun()
    scheduler._mean_seconds = 30
    waiting = Search(scheduler, "a", max_wait_seconds=14)  # has to begin within 10.5 s
    await until(lambda: scheduler.waiting == 1)
    with pytest.raises(Overloaded, match="no slot is likely to come free in time"):
        await Search(scheduler, "a", max_wait_seconds=13.5).task
    scheduler.now += SLICE_SECONDS * 2
    newcomer = Search(scheduler, "b", max_wait_seconds=13.5)
    await until(lambda: scheduler.waiting == 2)
    await stop_all(scheduler, first, waiting, newcomer)


@in_a_loop
async def test_who_fills_the_queue_makes_place_for_others():
    scheduler = Slots(1, 4)
    running = await Search(scheduler, "a").begun()
    greedy = [Search(scheduler, "a") for _ in range(4)]
    await until(lambda: scheduler.waiting == 4)
    modest = [Search(scheduler, "b"), Search(scheduler, "c")]
    for lost in greedy[:1:-1]:
        with pytest.raises(Overloaded, match="4 requests wait"):
            await lost.task
    assert scheduler.waiting == 4
    for client in "ab":
        with pytest.raises(Overloaded, match="4 requests wait"):
            await Search(scheduler, client).task
    await stop_all(scheduler, running, *greedy[:2], *modest)

"""Fair turns: as many at once as there are slots, first come first served, and nobody for ever."""

import asyncio
import contextlib

from plyd.clients.web import fair_queue
from plyd.clients.web.fair_queue import FairQueue
from tests.patience import SOON


async def take(queue, told, release, name, began):
    async with queue.time_slice(lambda ahead: told.append((name, ahead))) as time_slice:
        began.append(name)
        await asyncio.wait(
            [asyncio.ensure_future(release.wait()), asyncio.ensure_future(time_slice.over.wait())],
            return_when=asyncio.FIRST_COMPLETED,
        )


def run(main):
    return asyncio.run(asyncio.wait_for(main, SOON))


def test_who_comes_while_there_is_room_waits_for_nobody_and_is_told_nothing():
    async def main():
        told, began, release = [], [], asyncio.Event()
        together = FairQueue(2)
        tasks = [asyncio.ensure_future(take(together, told, release, name, began)) for name in "ab"]
        await asyncio.sleep(0)
        assert began == ["a", "b"]
        release.set()
        await asyncio.gather(*tasks)
        assert told == []

    run(main())


def test_those_who_wait_are_told_their_place_and_served_in_order(monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", 60)

    async def main():
        told, began, release = [], [], asyncio.Event()
        one = FairQueue(1)
        tasks = [asyncio.ensure_future(take(one, told, release, name, began)) for name in "abc"]
        await asyncio.sleep(0.01)
        assert (began, told) == (["a"], [("b", 1), ("c", 2)])
        release.set()
        await asyncio.gather(*tasks)
        assert began == ["a", "b", "c"]
        assert told[2:] == [("c", 1), ("b", 0), ("c", 0)]

    run(main())


def test_a_search_that_had_its_slice_gives_way_only_if_somebody_waits(monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", 0.02)

    async def main():
        one, never = FairQueue(1), asyncio.Event()
        async with one.time_slice(lambda _: None) as alone:
            await asyncio.sleep(0.06)
            assert not alone.over.is_set()
            began = []
            other = asyncio.ensure_future(take(one, [], never, "b", began))
            await alone.over.wait()
            assert began == []
        async with asyncio.timeout(SOON):
            while not began:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        assert began == ["b"]
        other.cancel()

    run(main())


def test_everybody_gets_about_as_many_turns(monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", 0.002)

    async def main():
        shared, counts = FairQueue(2), dict.fromkeys(range(10), 0)

        async def go(name):
            for _ in range(6):
                async with shared.time_slice(lambda _: None) as time_slice:
                    counts[name] += 1
                    if sum(counts.values()) > 20:
                        enough.set()
                    await time_slice.over.wait()
                    spread.append(max(counts.values()) - min(counts.values()))

        spread, enough = [], asyncio.Event()
        tasks = [asyncio.ensure_future(go(name)) for name in counts]
        await enough.wait()
        for task in tasks:
            task.cancel()
        assert max(spread) <= 1

    run(main())


def test_one_timer_at_most_watches_the_slices(monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", 60)

    async def main():
        one, tasks = FairQueue(1), []
        for _ in range(20):
            tasks.append(asyncio.ensure_future(take(one, [], asyncio.Event(), "x", [])))
            await asyncio.sleep(0)
        pending = [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()]
        assert len(pending) <= 2  # and the one of the test itself
        for task in tasks:
            task.cancel()

    run(main())


def test_who_leaves_the_line_makes_room_for_those_behind():
    async def main():
        told, began, release = [], [], asyncio.Event()
        one = FairQueue(1)
        a, b, c = (asyncio.ensure_future(take(one, told, release, name, began)) for name in "abc")
        await asyncio.sleep(0.01)
        b.cancel()
        await asyncio.wait([b])
        assert told[-1] == ("c", 1)
        release.set()
        await asyncio.gather(a, c)
        assert began == ["a", "c"]
        async with one.time_slice(lambda ahead: told.append(("d", ahead))):
            pass
        assert told[-1][0] != "d"

    run(main())


def test_who_leaves_in_the_moment_of_being_called_loses_nobody_a_turn():
    async def main():
        began, release = [], asyncio.Event()
        one = FairQueue(1)
        async with one.time_slice(lambda _: None):
            b, c = (asyncio.ensure_future(take(one, [], release, name, began)) for name in "bc")
            await asyncio.sleep(0.01)
        b.cancel()  # its ticket is there, and it has not seen it
        with contextlib.suppress(asyncio.CancelledError):
            await b
        release.set()
        await c
        assert began == ["c"]

    run(main())


def test_a_spare_slot_is_given_to_who_asks_for_one_once_nobody_else_waits(monkeypatch):
    monkeypatch.setattr(fair_queue, "SLICE_SECONDS", 60)

    async def main():
        began, release, queue = [], asyncio.Event(), FairQueue(1)

        async def take_one(name, is_spare):
            async with queue.time_slice(lambda _: None, is_spare=is_spare):
                began.append(name)
                await release.wait()

        wanted = [("first", True), ("spare", True), ("other", False)]
        tasks = [asyncio.ensure_future(take_one(*each)) for each in wanted]
        await asyncio.sleep(0.01)
        assert began == ["first"]
        tasks.append(asyncio.ensure_future(take_one("late", False)))
        await asyncio.sleep(0.01)
        release.set()
        await asyncio.gather(*tasks)
        assert began == ["first", "other", "late", "spare"]

    run(main())

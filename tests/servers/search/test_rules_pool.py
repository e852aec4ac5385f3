"""The rules pool: threads for rules that take long, shared in turns; work that nobody waits for any more ends."""

import asyncio
import threading

import pytest

from plyd.engines.core.errors import BadCommand, Overloaded
from plyd.servers.search.rules_pool import THREADS, RulesPool, check_wanted
from tests.patience import SOON


def run(talk):
    return asyncio.run(asyncio.wait_for(talk(), SOON))


async def check_waiting(pool, count):
    """The tasks made so far have begun, and so many of them wait."""
    await asyncio.sleep(0)
    assert pool.waiting == count


def test_parties_that_wait_take_turns(monkeypatch):
    monkeypatch.setattr("plyd.servers.search.rules_pool.THREADS", 1)
    order, gate = [], threading.Event()

    async def talk():
        pool = RulesPool(100)
        holding = asyncio.ensure_future(pool.run("holder", lambda: gate.wait(SOON)))
        work = [
            asyncio.ensure_future(pool.run(party, lambda party=party: order.append(party)))
            for party in ("greedy",) * 6 + ("modest",) * 2
        ]
        await check_waiting(pool, 8)
        gate.set()
        await asyncio.gather(holding, *work)
        pool.close()

    run(talk)
    assert order == ["greedy", "modest"] * 2 + ["greedy"] * 4


def test_what_waits_beyond_the_limit_is_refused_with_a_hint():
    gate = threading.Event()

    async def talk():
        pool = RulesPool(1)
        running = [asyncio.ensure_future(pool.run(None, lambda: gate.wait(SOON))) for _ in range(THREADS + 1)]
        await check_waiting(pool, 1)
        with pytest.raises(Overloaded) as caught:
            await pool.run(None, print)
        assert (caught.value.reason, caught.value.retry_seconds > 0) == ("rules", True)
        gate.set()
        await asyncio.gather(*running)
        assert await pool.run(None, lambda: 7) == 7
        pool.close()

    run(talk)


def test_work_whose_caller_has_left_ends_and_frees_its_thread():
    began, ended = threading.Event(), []

    def endless():
        began.set()
        try:
            while True:
                check_wanted()
        except BadCommand as error:
            ended.append(str(error))
            raise

    async def talk():
        pool = RulesPool(10)
        for _ in range(THREADS + 1):
            began.clear()
            task = asyncio.ensure_future(pool.run(None, endless))
            await asyncio.to_thread(began.wait, SOON)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await pool.run(None, lambda: 7) == 7
        pool.close()

    run(talk)
    assert ended[0] == "the caller has left"


def test_a_caller_who_leaves_while_it_waits_takes_no_thread():
    gate = threading.Event()

    async def talk():
        pool = RulesPool(10)
        running = [asyncio.ensure_future(pool.run(None, lambda: gate.wait(SOON))) for _ in range(THREADS)]
        waiting = asyncio.ensure_future(pool.run(None, lambda: pytest.fail("it has left")))
        await check_waiting(pool, 1)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert pool.waiting == 0
        gate.set()
        await asyncio.gather(*running)
        assert await asyncio.gather(*(pool.run(None, lambda: 7) for _ in range(5))) == [7] * 5
        pool.close()

    run(talk)


def test_check_wanted_says_nothing_outside_of_a_pool():
    check_wanted()

"""Turns: parties that wait share what comes, and a call does not wait behind a crowd's."""

import asyncio

import pytest

from plyd.servers.search.slots import turns
from plyd.servers.search.slots.turns import FIRST_CALLS, NEXT_CALLS, CallTurns, TurnQueue
from tests.patience import SOON

CALLS = 600  # of a crowd


def run(talk):
    return asyncio.run(asyncio.wait_for(talk(), SOON))


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless a test moves it."""
    now = [100.0]
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    return now


class Calls:
    """Calls that arrive, and the parties of those that have begun, in order."""

    def __init__(self):
        self.turns, self.begun, self.tasks = CallTurns(), [], []

    def arrive(self, party):
        if self.turns.must_wait():
            self.tasks.append(asyncio.ensure_future(self._wait(party)))
        else:
            self.begun.append(party)

    async def crowd(self, connections=1):
        for number in range(CALLS):
            self.arrive(number % connections)
            if number == FIRST_CALLS - 1:
                await asyncio.sleep(0)  # the first one begins to wait, so that all later ones do

    async def _wait(self, party):
        await self.turns.wait(party)
        self.begun.append(party)


def test_parties_take_turns_and_those_who_left_get_none():
    async def talk():
        queue = TurnQueue()
        waiters = {name: queue.put(name[0]) for name in ("a1", "a2", "a3", "b1", "b2", "c1")}
        assert queue.remove("b", waiters["b1"])
        waiters["a2"].cancel()  # its task has not seen it yet
        order = []
        while queue.grant():
            order += [name for name, waiter in waiters.items() if waiter.done() and name not in order]
        assert len(queue) == 0
        return [name for name in order if name != "a2"]

    assert run(talk) == ["a1", "b2", "c1", "a3"]


def test_who_has_been_granted_a_turn_waits_no_more():
    async def talk():
        queue = TurnQueue()
        waiter = queue.put("a")
        assert queue.grant()
        assert not queue.remove("a", waiter)
        assert not queue.grant()

    run(talk)


def test_calls_that_come_one_by_one_begin_at_once(clock):
    async def talk():
        calls = Calls()
        for _ in range(3 * NEXT_CALLS):
            clock[0] += 2 * turns.GAP_SECONDS
            calls.arrive("one")
        assert (len(calls.begun), calls.tasks) == (3 * NEXT_CALLS, [])

    run(talk)


@pytest.mark.parametrize("connections", [1, 20])
def test_a_call_behind_a_crowd_begins_within_one_round_of_turns(clock, connections):
    async def talk():
        calls = Calls()
        await calls.crowd(connections)
        before = len(calls.begun)
        calls.arrive("honest")
        await asyncio.gather(*calls.tasks)
        assert len(calls.begun) == CALLS + 1
        return before, calls.begun.index("honest")

    before, place = run(talk)
    assert before == FIRST_CALLS - 1
    assert place <= before + connections


def test_once_a_crowd_is_gone_calls_begin_at_once_again(clock):
    async def talk():
        calls = Calls()
        for _ in range(FIRST_CALLS):
            calls.arrive("crowd")
        await asyncio.gather(*calls.tasks)
        if beginning := calls.turns._beginning:
            await beginning
        calls.arrive("one")
        assert calls.begun[-1] == "one"

    run(talk)


def test_calls_that_leave_while_they_wait_hold_nobody_up(clock):
    async def talk():
        calls = Calls()
        await calls.crowd()
        for task in calls.tasks:
            task.cancel()
        calls.arrive("honest")
        await asyncio.gather(*calls.tasks, return_exceptions=True)
        assert calls.begun == [0] * (FIRST_CALLS - 1) + ["honest"]

    run(talk)

"""What a client may have: searches, games, time, requests and memory, counted and refused."""

import asyncio

import pytest

from plyd.engines.core.errors import Overloaded
from plyd.servers.access import quotas
from plyd.servers.access.memory import MemoryGrant, MemoryPool
from plyd.servers.access.quotas import Client, Quotas


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    it = Clock()
    monkeypatch.setattr(quotas, "time", it)
    return it


@pytest.mark.parametrize(("rate", "burst"), [(5, 5), (1, 1), (0.5, 1)])
def test_a_second_s_worth_of_requests_may_come_at_once_then_they_come_at_their_rate(clock, rate, burst):
    client = Client("gui", Quotas(requests_per_second=rate))
    for _ in range(burst):
        client.count_request()
    with pytest.raises(Overloaded, match="gui may send") as caught:
        client.count_request()
    assert caught.value.retry_seconds == pytest.approx(1 / rate, abs=1e-5)
    clock.now += caught.value.retry_seconds
    client.count_request()
    with pytest.raises(Overloaded):
        client.count_request()


def test_messages_of_a_stream_wait_instead():
    client = Client("gui", Quotas(requests_per_second=20))

    async def send():
        loop = asyncio.get_running_loop()
        began = loop.time()
        for _ in range(25):
            await client.pace()
        return loop.time() - began

    assert asyncio.run(send()) > 0.2  # twenty at once, five more at 50 ms each


@pytest.mark.parametrize("what", ["searching", "session"])
def test_too_many_at_once(what):
    client = Client("gui", Quotas(searches=2, sessions=2))
    enter = getattr(client, what)
    with enter():
        with enter(), pytest.raises(Overloaded, match="gui may have 2"), enter():
            pass
        with enter():
            assert not client.is_idle
    assert client.is_idle


def test_a_client_without_limits_has_all_it_wants():
    client = Client("gui")
    for _ in range(10_000):
        client.count_request()
    with client.searching(), client.session():
        pass


def test_a_share_is_what_is_wanted_or_what_is_left():
    daemon, client = MemoryPool(100), MemoryPool(50)
    first, second, third = (MemoryGrant(daemon, client) for _ in range(3))
    assert first.take(30, 8) == 30
    assert second.take(30, 8) == 20
    assert (daemon.used, client.used) == (50, 50)
    with pytest.raises(Overloaded, match="the search needs 8 MB of memory, which are not free"):
        third.take(30, 8)
    first.release()
    assert (daemon.used, client.used) == (20, 20)
    assert third.take(30, 30) == 30


def test_nothing_is_held_by_who_was_refused():
    daemon, client = MemoryPool(100), MemoryPool(5)
    with pytest.raises(Overloaded):
        MemoryGrant(daemon, client).take(30, 8)
    assert (daemon.used, client.used) == (0, 0)


def test_a_share_given_back_stays_so_even_if_its_search_comes_late():
    daemon = MemoryPool(100)
    grant = MemoryGrant(daemon, MemoryPool())
    grant.release()
    with pytest.raises(Overloaded, match="the caller has left; try again later"):
        grant.take(10, 10)
    assert daemon.used == 0

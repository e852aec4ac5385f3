"""A name that stands for many daemons, as a headless Service of Kubernetes does: clients use all that are there."""

import asyncio
import signal

import pytest

from plyd.clients import AsyncEngineClient, EngineClient
from plyd.engines import registry
from tests.patience import SOON, until
from tests.servers.conftest import house, open_daemon  # noqa: F401
from tests.servers.daemons import Process

POSITION = "b 1 1 0 0 0 0"


def target_of(*addresses):
    """A target that names several daemons."""
    return "ipv4:" + ",".join(addresses)


def calls(daemon, name):
    """How many calls of a method a daemon has answered."""
    requests = daemon.runtime.observer.metrics.requests
    return sum(sum(histogram.counts) for (method, *_), histogram in requests.items() if method == name)


@pytest.fixture
def pair(open_daemon):  # noqa: F811
    """Two daemons within this process."""
    return [open_daemon(registry.load("2584-2x3")) for _ in range(2)]


def connect(client, *daemons):
    """Call until the client has a connection to each of these daemons."""
    until(lambda: client.describe() and all(calls(daemon, "Describe") for daemon in daemons))


def test_calls_are_spread_evenly_and_go_on_when_a_daemon_is_killed(open_daemon, tmp_path):  # noqa: F811
    other = open_daemon(registry.load("2584-2x3"))
    with Process(tmp_path, "--listen", "127.0.0.1:0") as one:
        target = target_of(*one.addresses(), other.target)
        with EngineClient(target, retry_seconds=5) as client:
            until(lambda: client.describe() and one.requests() and calls(other, "Describe"))
            for _ in range(40):
                client.search(POSITION)
            assert calls(other, "Search") == 20
            one.signal(signal.SIGKILL)
            one.exit_status()
            assert all(client.search(POSITION).final for _ in range(40))
            assert calls(other, "Search") == 60


def test_a_daemon_that_drains_hands_its_callers_to_the_other(pair):
    one, other = pair
    with EngineClient(target_of(one.target, other.target)) as client:
        connect(client, *pair)
        with client.play(POSITION) as game, client.play(POSITION) as second:  # one on each daemon
            stopped = one.stop()
            assert all(client.search(POSITION).final for _ in range(20))
            del game, second
        assert stopped.result(SOON)
        assert client.search(POSITION).final


def test_the_asyncio_client_spreads_its_calls_too(pair):
    async def call():
        async with AsyncEngineClient(target_of(*(daemon.target for daemon in pair))) as client:
            await asyncio.gather(*(client.wait_until_ready(10) for _ in range(4)))
            while not all(calls(daemon, "Describe") for daemon in pair):
                await client.describe()

    asyncio.run(asyncio.wait_for(call(), SOON))

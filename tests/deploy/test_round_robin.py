"""A name that stands for many daemons, as a headless Service of Kubernetes does: clients use all that are there."""

import asyncio
import signal

import pytest

from plyd.clients import AsyncEngineClient, EngineClient
from tests.patience import SOON, until
from tests.servers.daemons import Process

POSITION = "b 1 1 0 0 0 0"


@pytest.fixture
def pair(tmp_path):
    """Two daemons, and a target that names both."""
    with Process(tmp_path, "--listen", "127.0.0.1:0") as one, Process(tmp_path, "--listen", "127.0.0.1:0") as other:
        target = "ipv4:" + ",".join(process.addresses()[0] for process in (one, other))
        yield one, other, target


def searches(process):
    return sum(line["method"] == "Search" for line in process.requests())


def test_calls_are_spread_evenly_and_go_on_when_a_daemon_is_killed(pair):
    one, other, target = pair
    with EngineClient(target, retry_seconds=5) as client:
        until(lambda: client.describe() and one.requests() and other.requests())  # both connections stand
        for _ in range(40):
            client.search(POSITION)
        until(lambda: searches(one) + searches(other) == 40)  # in the log, soon
        assert searches(one) == searches(other) == 20
        one.signal(signal.SIGKILL)
        one.exit_status()
        assert all(client.search(POSITION).final for _ in range(40))
        until(lambda: searches(other) == 60)


def test_a_daemon_that_drains_hands_its_callers_to_the_other(pair):
    one, other, target = pair
    with EngineClient(target) as client:
        until(lambda: client.describe() and one.requests() and other.requests())
        with client.play(POSITION) as game, client.play(POSITION) as second:  # one on each daemon
            one.signal(signal.SIGTERM)
            assert all(client.search(POSITION).final for _ in range(20))
            del game, second
        assert one.exit_status() == 0
        assert client.search(POSITION).final


def test_the_asyncio_client_spreads_its_calls_too(pair):
    one, other, target = pair

    async def call():
        async with AsyncEngineClient(target) as client:
            await asyncio.gather(*(client.wait_until_ready(10) for _ in range(4)))
            while not (one.requests() and other.requests()):
                await client.describe()

    asyncio.run(asyncio.wait_for(call(), SOON))

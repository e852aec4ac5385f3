"""Options of an engine: texts, numbers and booleans, in the same shape for every call of both clients."""

import asyncio

import numpy as np
import pytest

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.client import EngineClient
from plyd.clients.library.errors import DaemonFault, InvalidRequest
from plyd.clients.library.requests import option_texts
from tests.servers.daemons import OpenDaemon
from tests.servers.fakes import FakeEngine

AS_TEXTS = {"reports": "3", "seconds_per_report": "0.001", "fail": "false", "score": "points"}
AS_VALUES = {"reports": 3, "seconds_per_report": 0.001, "fail": False, "score": "points"}
AS_NUMPY = {"reports": np.int64(3), "seconds_per_report": np.float64(0.001), "fail": False, "score": "points"}


@pytest.fixture(scope="module")
def target(house):
    with OpenDaemon(house, FakeEngine()) as daemon:
        yield daemon.target


@pytest.mark.parametrize("options", [AS_TEXTS, AS_VALUES, AS_NUMPY])
def test_every_call_of_the_client_takes_the_same_options(target, options):
    with EngineClient(target) as client:
        found = [client.search(options=options), *list(client.analyze(options=options))[-1:]]
        for game in (client.play(options=options), client.play(**options)):
            with game:
                found.append(game.best())
    assert [(report.nodes, report.score.expected_points) for report in found] == [(3, 12.5)] * 4


@pytest.mark.parametrize("options", [AS_TEXTS, AS_VALUES, AS_NUMPY])
def test_every_call_of_the_asyncio_client_takes_the_same_options(target, options):
    async def talk():
        async with AsyncEngineClient(target) as client:
            found = [await client.search(options=options)]
            found += [report async for report in client.analyze(options=options) if report.final]
            for game in (await client.play(options=options), await client.play(**options)):
                async with game:
                    found.append(await game.best())
        return found

    found = asyncio.run(talk())
    assert [(report.nodes, report.score.expected_points) for report in found] == [(3, 12.5)] * 4


def test_a_boolean_is_not_a_number_and_a_number_that_is_not_whole_is_refused(target):
    with EngineClient(target) as client:
        with pytest.raises(DaemonFault):
            client.search(options={"fail": True})
        with pytest.raises(InvalidRequest, match='option fail is "1"; allowed is true or false'):
            client.search(options={"fail": 1})
        with pytest.raises(InvalidRequest, match=r'option reports is "1\.5"; allowed is a whole number'):
            client.play(reports=1.5)


@pytest.mark.parametrize("value", [None, [1], {}, b"1"])
def test_another_type_is_named_before_anything_is_sent(value):
    with pytest.raises(TypeError, match=r"option reports is .*; allowed is a text, a number or a boolean"):
        option_texts({"reports": value})

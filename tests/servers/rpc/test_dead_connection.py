"""A write that fails because the caller is gone, before gRPC has cancelled the call: it is a caller who left."""

import asyncio
import logging

import grpc
import pytest

from plyd.servers.rpc.context import begin_call
from plyd.servers.rpc.engine_service import EngineService
from plyd.servers.runtime import Capacity, Runtime
from plyd.v1 import engine_pb2
from tests.patience import SOON
from tests.servers.daemons import SLOW, analyze_request
from tests.servers.fakes import FakeEngine


class DeadConnection:
    """A gRPC context that has some requests to read, and fails when a report is written."""

    def __init__(self, *requests):
        self._requests = list(requests)
        self.has_failed = asyncio.Event()

    async def read(self):
        if self._requests:
            return self._requests.pop(0)
        return await asyncio.Event().wait()  # for ever: the caller sends no more

    async def write(self, message):
        if message.HasField("report"):
            self.has_failed.set()
            raise grpc.aio.InternalError("Failed grpc_call_start_batch")

    def time_remaining(self):
        return None

    def peer(self):
        return "unix:"


@pytest.fixture
def run(caplog, logged):
    """Runs a call of the engine service on a dead connection; the statuses that were logged."""
    caplog.set_level(logging.INFO, "plyd")

    async def call(method, request, *requests):
        runtime = Runtime({"sticks": FakeEngine()}, Capacity(slots=1))
        runtime.set_ready()
        connection = DeadConnection(*requests)
        begin_call(())
        running = asyncio.ensure_future(getattr(EngineService(runtime), method)(request, connection))
        async with asyncio.timeout(SOON):
            await connection.has_failed.wait()
            await runtime.searches.until_idle()
            running.cancel()  # as gRPC does, later
            with pytest.raises(asyncio.CancelledError):
                await running
        assert (runtime.calls, runtime.sessions) == (0, 0)
        runtime.close()

    def run(*arguments):
        asyncio.run(call(*arguments))
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
        return [fields["status"] for fields in logged()]

    return run


def test_a_player_who_is_gone_stops_the_search_and_is_no_engine_failure(run):
    commands = [engine_pb2.PlayRequest(id=1, new_game={"options": SLOW}), engine_pb2.PlayRequest(id=2, go={})]
    assert run("Play", None, *commands) == ["CANCELLED"]


def test_a_reader_of_an_analysis_who_is_gone_stops_it(run):
    assert run("Analyze", analyze_request(options=SLOW)) == ["CANCELLED"]

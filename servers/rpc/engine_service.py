"""The engine service: reads requests, runs searches and sends their reports."""

import asyncio
import functools
from contextlib import aclosing, closing
from typing import Any

from plyd.engines import __version__
from plyd.engines.core.errors import ShuttingDown
from plyd.engines.core.search import Limits
from plyd.servers.rpc.call import RequestReader, rpc_method, send
from plyd.servers.rpc.context import current_call
from plyd.servers.rpc.decoding import check_message, lenient
from plyd.servers.rpc.evaluate_stream import EvaluateStream
from plyd.servers.rpc.limits import read_limits
from plyd.servers.rpc.messages import engine_message, report_message, write_report
from plyd.servers.rpc.play_stream import PlayStream
from plyd.servers.runtime import KnownAnswer, Runtime
from plyd.servers.search.game_record import find_engine, read_game
from plyd.servers.search.known.question import is_counted
from plyd.servers.search.known.reports import is_proven
from plyd.servers.search.session import Session, TimedReport
from plyd.v1 import engine_pb2, engine_pb2_grpc

LOAD_SECONDS = 0.1  # between two messages of WatchLoad


class EngineService(engine_pb2_grpc.EngineServiceServicer):
    """Answers plyd.v1.EngineService."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._decode_search = lenient(engine_pb2.SearchRequest.FromString, runtime.capacity.max_message_bytes)
        self._described: dict[str, bytes] = {}  # encoded responses by game; they never change

    @rpc_method
    async def Describe(self, request: engine_pb2.DescribeRequest, context: Any) -> bytes:  # noqa: ARG002
        """Description of the engines served here."""
        if request.game:
            find_engine(self.runtime.engines, request.game)
        if request.game not in self._described:
            self._described[request.game] = self._describe(request.game).SerializeToString()
        return self._described[request.game]

    def _describe(self, game: str) -> engine_pb2.DescribeResponse:
        """The description of the engine of a game, or of all engines, and of the daemon."""
        engines = self.runtime.engines
        capacity = self.runtime.capacity
        return engine_pb2.DescribeResponse(
            engines=map(engine_message, [engines[game]] if game else engines.values()),
            daemon=engine_pb2.DaemonInfo(
                version=__version__,
                slots=capacity.slots,
                queue_size=capacity.queue_size,
                max_sessions=capacity.max_sessions,
                max_batch_bytes=capacity.max_batch_bytes,
                max_message_bytes=capacity.max_message_bytes,
                max_streams_per_connection=capacity.max_streams,
            ),
        )

    @rpc_method
    async def Search(self, data: bytes, context: Any) -> bytes:
        """One search, one answer. A question whose bytes are known is not even decoded."""
        if answer := self.runtime.known_answers.get(data):
            self.runtime.observer.metrics.known[answer.game] += 1
            current_call().note(game=answer.game, known=True)
            return answer.response
        session, limits = await self._begin(check_message(self._decode_search(data)))
        with closing(session):
            timed = await session.final(limits, context.time_remaining())
        _note_search(timed)
        response = engine_pb2.SearchResponse()
        write_report(response.report, *timed)
        encoded = response.SerializeToString()
        if is_proven(timed.report) and not is_counted(limits):
            self._remember(data, response, session.record.engine.card.game)
        return encoded

    def _remember(self, data: bytes, response: engine_pb2.SearchResponse, game: str) -> None:
        """Keep the response to these bytes, changed to what it says when no search is needed."""
        response.report.known, response.report.waited_us = True, 0
        known = KnownAnswer(response.SerializeToString(), game)
        self.runtime.known_answers.put(data, known, len(data) + len(known.response))

    @rpc_method
    async def Analyze(self, request: engine_pb2.AnalyzeRequest, context: Any) -> None:  # type: ignore[override]
        """One search, with reports while it runs."""
        session, limits = await self._begin(request)
        search = session.reports(limits, context.time_remaining())
        with closing(session):
            async with aclosing(search) as reports:
                async for timed in reports:
                    _note_search(timed)
                    await send(context, engine_pb2.AnalyzeResponse(report=report_message(*timed)))

    @rpc_method
    async def Play(self, requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """One game: commands and searches."""
        await self.runtime.until_ready()
        call = current_call()
        stream = PlayStream(self.runtime, call, functools.partial(send, context), context.time_remaining)
        with self.runtime.session(), call.client.session(), RequestReader(call, context, self.runtime) as reader:
            commands = 0
            try:
                while (request := await reader.next()) is not None:
                    commands += 1
                    call.note(commands=commands)
                    await stream.handle(request)
                await stream.finish_search()
            except ShuttingDown:
                await stream.stop_search()
                raise
            finally:
                stream.close()

    @rpc_method
    async def Evaluate(self, requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Values of positions, in batches."""
        await self.runtime.until_ready()
        await EvaluateStream(self.runtime, current_call(), context).answer()

    @rpc_method
    async def WatchLoad(self, request: engine_pb2.WatchLoadRequest, context: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """How busy the daemon is, until it shuts down."""
        draining = asyncio.ensure_future(self.runtime.draining.wait())
        sent, searches = None, self.runtime.searches
        try:
            while not draining.done():
                busy = (searches.running, searches.waiting)
                if busy != sent or any(busy):  # of an idle daemon there is no news
                    running, waiting = sent = busy
                    load = engine_pb2.WatchLoadResponse(slots=searches.slots, running=running, waiting=waiting)
                    await send(context, load)
                await asyncio.wait({draining}, timeout=LOAD_SECONDS)
        finally:
            draining.cancel()
        raise ShuttingDown("the daemon is shutting down")

    async def _begin(self, request: Any) -> tuple[Session, Limits]:
        """A session and the limits of a request, once the engines are warm."""
        limits = read_limits(request)
        call = current_call()
        record = await read_game(self.runtime.engines, request.position, self.runtime.rules, call.party)
        call.note(game=record.engine.card.game)
        if not self.runtime.is_ready:
            await self.runtime.until_ready()
        session = Session(record, request.options, self.runtime, call.client, call.party)
        await session.prepare()
        return session, limits


def _note_search(timed: TimedReport) -> None:
    if timed.is_known:
        current_call().note(known=True)
    else:
        current_call().note(nodes=timed.report.nodes, waited_ms=round(timed.waited_seconds * 1000, 3))

"""The engine service: reads requests, runs sessions, sends reports."""

from contextlib import aclosing, closing
from typing import Any

from plyd.engines import __version__
from plyd.engines.core.errors import ShuttingDown
from plyd.servers.rpc.call import answered, caller, next_request, note, record_of
from plyd.servers.rpc.evaluate_stream import Batches
from plyd.servers.rpc.messages import engine_message, read_limits, report_message
from plyd.servers.rpc.play_stream import Conversation
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import find_engine
from plyd.servers.search.session import Session
from plyd.v1 import engine_pb2, engine_pb2_grpc


class EngineService(engine_pb2_grpc.EngineServiceServicer):
    """Answers plyd.v1.EngineService."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._described: dict[str, bytes] = {}  # answers, by the game asked for

    @answered
    async def Describe(self, request: engine_pb2.DescribeRequest, context: Any) -> bytes:  # noqa: ARG002
        """Who answers here."""
        if request.game:
            find_engine(self.runtime.engines, request.game)
        if request.game not in self._described:
            self._described[request.game] = self._describe(request.game).SerializeToString()
        return self._described[request.game]

    def _describe(self, game: str) -> engine_pb2.DescribeResponse:
        """All that never changes about the engine of a game, or about all of them."""
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
            ),
        )

    @answered
    async def Search(self, request: engine_pb2.SearchRequest, context: Any) -> engine_pb2.SearchResponse:
        """One search, one answer."""
        session, limits = await self._begin(request)
        with closing(session):
            told = await session.final(limits, context.time_remaining())
        note(nodes=told.report.nodes, waited_ms=round(told.waited_seconds * 1000, 3))
        return engine_pb2.SearchResponse(report=report_message(*told))

    @answered
    async def Analyze(self, request: engine_pb2.AnalyzeRequest, context: Any) -> None:  # type: ignore[override]
        """One search, reports as it goes on."""
        session, limits = await self._begin(request)
        search = session.reports(limits, context.time_remaining())
        with closing(session):
            async with aclosing(search) as reports:
                async for told in reports:
                    note(nodes=told.report.nodes, waited_ms=round(told.waited_seconds * 1000, 3))
                    await context.write(engine_pb2.AnalyzeResponse(report=report_message(*told)))

    @answered
    async def Play(self, requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """One game."""
        await self.runtime.until_ready()
        conversation = Conversation(self.runtime, caller(), context.write, context.time_remaining)
        with self.runtime.session(), caller().session():
            commands = 0
            try:
                while (request := await next_request(context, self.runtime)) is not None:
                    commands += 1
                    note(commands=commands)
                    await conversation.obey(request)
                await conversation.finish()
            except ShuttingDown:
                await conversation.halt()
                raise
            finally:
                conversation.leave()

    @answered
    async def Evaluate(self, requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Batches of values."""
        await self.runtime.until_ready()
        await Batches(self.runtime, context).answer()

    async def _begin(self, request: Any) -> tuple[Session, Any]:
        """A session and limits for a request, once the engines are warm."""
        limits = read_limits(request)
        record = await record_of(self.runtime.engines, request.position)
        note(game=record.engine.card.game)
        if not self.runtime.is_ready:
            await self.runtime.until_ready()
        return Session(record, request.options, self.runtime, caller()), limits

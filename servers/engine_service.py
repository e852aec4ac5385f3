"""The engine service: reads requests, runs sessions, sends reports."""

from contextlib import aclosing
from typing import Any

from plyd.engines import __version__
from plyd.engines.core.errors import ShuttingDown
from plyd.servers.batches import Batches
from plyd.servers.calls import answered, next_request, note, record_of
from plyd.servers.conversation import Conversation
from plyd.servers.messages import engine_message, read_limits, report_message
from plyd.servers.record import find_engine
from plyd.servers.runtime import Runtime
from plyd.servers.session import Session
from plyd.v1 import engine_pb2, engine_pb2_grpc


class EngineService(engine_pb2_grpc.EngineServiceServicer):
    """Answers plyd.v1.EngineService."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @answered
    async def Describe(self, request: engine_pb2.DescribeRequest, context: Any) -> engine_pb2.DescribeResponse:  # noqa: ARG002
        """Who answers here."""
        engines = self.runtime.engines
        asked = [find_engine(engines, request.game)] if request.game else engines.values()
        capacity = self.runtime.capacity
        return engine_pb2.DescribeResponse(
            engines=map(engine_message, asked),
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
        told = await session.final(self.runtime.searches, limits, context.time_remaining())
        note(nodes=told.report.nodes, waited_ms=round(told.waited_seconds * 1000, 3))
        return engine_pb2.SearchResponse(report=report_message(*told))

    @answered
    async def Analyze(self, request: engine_pb2.AnalyzeRequest, context: Any) -> None:  # type: ignore[override]
        """One search, reports as it goes on."""
        session, limits = await self._begin(request)
        async with aclosing(session.reports(self.runtime.searches, limits, context.time_remaining())) as reports:
            async for told in reports:
                note(nodes=told.report.nodes, waited_ms=round(told.waited_seconds * 1000, 3))
                await context.write(engine_pb2.AnalyzeResponse(report=report_message(*told)))

    @answered
    async def Play(self, requests: Any, context: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """One game."""
        await self.runtime.until_ready()
        conversation = Conversation(self.runtime, context.write, context.time_remaining)
        with self.runtime.session():
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
        await self.runtime.until_ready()
        return Session(record, request.options), limits

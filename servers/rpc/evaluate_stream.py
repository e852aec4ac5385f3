"""The Evaluate stream: batches in, answers out in the same order, several evaluated at once."""

import asyncio
from collections.abc import Callable
from typing import Any

import grpc.aio

from plyd.engines.core.errors import BadBatch
from plyd.engines.core.intrinsics import Stop
from plyd.servers.futures import mark_seen
from plyd.servers.rpc.call import RequestReader, send
from plyd.servers.rpc.context import CallContext
from plyd.servers.rpc.messages import answers_message
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import find_engine, find_variant, with_field
from plyd.v1 import engine_pb2

READ_AHEAD = 4  # batches read before the first one is answered, so that every core has work


class EvaluateStream:
    """Reads and answers the batches of one stream."""

    def __init__(self, runtime: Runtime, call: CallContext, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self._runtime = runtime
        self._call = call
        self._context = context
        self._answers: asyncio.Queue[asyncio.Future[bytes] | None] = asyncio.Queue(READ_AHEAD)
        self._running: set[asyncio.Future[bytes]] = set()

    async def answer(self) -> None:
        """Answer every batch until the stream ends or a batch cannot be answered."""
        with RequestReader(self._call, self._context, self._runtime) as reader:
            reading = asyncio.ensure_future(self._read(reader))
            try:
                while (answer := await self._answers.get()) is not None:
                    await send(self._context, await answer)
            finally:
                reading.cancel()
                for answer in self._running:
                    answer.cancel()

    async def _read(self, reader: RequestReader) -> None:
        """Start evaluating each batch as it arrives; queue the answers, and None or the error that ended the stream."""
        batches = size = 0
        try:
            while (request := await reader.next()) is not None:
                batches, size = batches + 1, size + len(request.lines)
                self._call.note(batches=batches, bytes=size)
                evaluation = self._evaluate(self._job(request), request)
                answer = asyncio.ensure_future(evaluation)
                self._running.add(answer)
                answer.add_done_callback(self._done)
                await self._answers.put(answer)
            await self._answers.put(None)
        except Exception as error:  # `answer` raises it after the answers before it
            failed: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            await self._answers.put(failed)

    async def _evaluate(self, job: Callable[[float], bytes], request: engine_pb2.EvaluateRequest) -> bytes:
        """The answers of a batch, once what the engine needs for it is ready."""
        engine = find_engine(self._runtime.engines, request.game)
        parts = engine.evaluate_parts(find_variant(engine, request.variant))
        await self._runtime.parts.until_ready(engine, parts)
        return await self._runtime.evaluations.run(job, Stop(), client=self._call.party)

    def _done(self, answer: asyncio.Future[bytes]) -> None:
        self._running.discard(answer)
        mark_seen(answer)

    def _job(self, request: engine_pb2.EvaluateRequest) -> Callable[[float], bytes]:
        """The job that evaluates one batch; raises BadBatch if it is not valid."""
        most = self._runtime.capacity.max_batch_bytes
        if len(request.lines) > most:
            raise BadBatch(f"a batch of {len(request.lines)} bytes; at most {most} are allowed")
        if request.form not in engine_pb2.AnswerForm.values():
            known = ", ".join(engine_pb2.AnswerForm.keys())
            raise with_field("form", BadBatch(f"unknown form {request.form}; forms are {known}"))
        engine = find_engine(self._runtime.engines, request.game)
        self._call.note(game=engine.card.game)
        variant = find_variant(engine, request.variant)
        as_text = request.form == engine_pb2.ANSWER_FORM_TEXT

        def job(waited: float) -> bytes:  # noqa: ARG001
            answers = engine.evaluate(variant, request.lines, as_text=as_text, with_moves=request.with_moves)
            return answers_message(answers).SerializeToString()  # here, not on the event loop: it may be megabytes

        return job

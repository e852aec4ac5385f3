"""What surrounds every call: it is counted, its errors become statuses, and it leaves one line in the log."""

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

import grpc.aio

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import EngineError, ShuttingDown
from plyd.servers.messages import read_record
from plyd.servers.record import Record
from plyd.servers.runtime import Runtime
from plyd.servers.status import status_code, status_message, trailing_details
from plyd.v1 import position_pb2

log = logging.getLogger("plyd.request")

_notes: ContextVar[dict[str, Any]] = ContextVar("notes")

FEW_MOVES = 64  # played through in a few milliseconds

Handler = Callable[[Any, Any, Any], Awaitable[Any]]


def note(**facts: Any) -> None:
    """Add facts to the log line of the present call."""
    _notes.get().update(facts)


def answered(method: Handler) -> Handler:
    """A servicer's method whose errors reach the caller as statuses and whose end is logged."""

    @functools.wraps(method)
    async def answer(servicer: Any, request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        runtime: Runtime = servicer.runtime
        notes: dict[str, Any] = {}
        _notes.set(notes)
        began = time.perf_counter()
        status = "OK"
        with runtime.call():
            try:
                if runtime.draining.is_set():
                    raise ShuttingDown("the daemon is shutting down")
                return await method(servicer, request, context)
            except asyncio.CancelledError:
                status = "CANCELLED"
                raise
            except EngineError as error:
                status, notes["error"] = status_code(error).name, str(error)
                await context.abort(status_code(error), str(error), trailing_details(error))
            except Exception as error:
                status = "INTERNAL"
                log.exception("%s failed", method.__name__)
                await context.abort(grpc.StatusCode.INTERNAL, status_message(error))
            finally:
                milliseconds = round((time.perf_counter() - began) * 1000, 3)
                facts = {
                    "method": method.__name__,
                    "status": status,
                    "ms": milliseconds,
                    "peer": context.peer(),
                    **notes,
                }
                log.info("request", extra={"facts": facts})

    return answer


async def record_of(engines: Mapping[str, Engine], position: position_pb2.Position) -> Record:
    """The game that a request's position tells of, read without keeping others waiting if it is long."""
    if len(position.moves) <= FEW_MOVES:
        return read_record(engines, position)
    return await asyncio.to_thread(read_record, engines, position)


async def next_request(context: grpc.aio.ServicerContext[Any, Any], runtime: Runtime) -> Any:
    """The next message of a stream, None at its end; ShuttingDown if the daemon goes while we wait."""
    reading = asyncio.ensure_future(context.read())
    draining = asyncio.ensure_future(runtime.draining.wait())
    try:
        await asyncio.wait({reading, draining}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise ShuttingDown("the daemon is shutting down")
        request = reading.result()
        return None if request is grpc.aio.EOF else request
    finally:
        reading.cancel()
        draining.cancel()

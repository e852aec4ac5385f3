"""What surrounds every call: it has an id, is counted, its errors become statuses, and it leaves a line in the log."""

import asyncio
import functools
import itertools
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

import grpc.aio

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import EngineError, Overloaded, ShuttingDown
from plyd.servers.access.quotas import Client
from plyd.servers.rpc.decoding import Metadata, metadata, readable
from plyd.servers.rpc.messages import read_record
from plyd.servers.rpc.status import status_code, status_message, trailing_details
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import Record
from plyd.servers.telemetry import log as log_lines
from plyd.v1 import position_pb2

log = logging.getLogger("plyd.request")

_client: ContextVar[Client] = ContextVar("client")

FEW_MOVES = 64  # played through in a few milliseconds
REQUEST_ID = "x-request-id"  # metadata, both ways
LONGEST_ID = 64

Handler = Callable[[Any, Any, Any], Awaitable[Any]]

_process = secrets.token_hex(4)
_numbers = itertools.count(1)


def note(**facts: Any) -> None:
    """Add facts to the log line of the present call; the fact `client` also says whose request is counted."""
    log_lines.notes.get().update(facts)


def request_id(metadata: Metadata) -> tuple[str, bool]:
    """The id that the caller gave a call, if it can stand in a log as it is, else a new one; and whether it asked."""
    is_wanted = False
    for key, value in metadata:
        if key == REQUEST_ID:
            if 0 < len(value) <= LONGEST_ID and value.isascii() and value.isprintable():
                return str(value), True
            is_wanted = True
    return f"{_process}-{next(_numbers)}", is_wanted


def caller() -> Client:
    """The client that makes the present call."""
    return _client.get()


def answered(method: Handler) -> Handler:
    """A servicer's method whose errors reach the caller as statuses and whose end is counted and logged."""
    name = method.__name__
    full_name = f"plyd.v1.{method.__qualname__.replace('.', '/')}"

    @functools.wraps(method)
    async def answer(servicer: Any, request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        runtime: Runtime = servicer.runtime
        metrics, tracing = runtime.observer.metrics, runtime.observer.tracing
        began = time.perf_counter()
        sent = metadata.get()
        number, is_wanted = request_id(sent)
        notes: dict[str, Any] = {"request_id": number}
        log_lines.notes.set(notes)
        if is_wanted:  # else it would cost every call a twentieth more
            context.set_trailing_metadata(((REQUEST_ID, number),))
        span = tracing.begin(full_name, sent) if tracing else None
        status = "OK"
        runtime.call_begins()
        try:
            if runtime.draining.is_set():
                raise ShuttingDown("the daemon is shutting down")
            client = runtime.gate.admit(sent, context)
            _client.set(client)
            if client.is_known:
                notes["client"] = client.name
            client.request()
            return await method(servicer, readable(request), context)
        except asyncio.CancelledError:
            status = "CANCELLED"
            raise
        except EngineError as error:
            status, notes["error"] = status_code(error).name, str(error)
            if isinstance(error, Overloaded):
                metrics.shed(error.reason)
            await context.abort(status_code(error), str(error), ((REQUEST_ID, number), *trailing_details(error)))
        except Exception as error:
            status = "INTERNAL"
            log.exception("%s failed", name)
            await context.abort(grpc.StatusCode.INTERNAL, status_message(error), ((REQUEST_ID, number),))
        finally:
            seconds = time.perf_counter() - began
            metrics.call_ended(name, status, notes.get("client", ""), seconds)
            if tracing and span:
                tracing.end(span, status, notes)
            runtime.call_ends()
            runtime.journal.add(name, status, seconds, context.peer(), notes)

    return answer


async def record_of(engines: Mapping[str, Engine], position: position_pb2.Position) -> Record:
    """The game that a request's position tells of, read without keeping others waiting if it is long."""
    if len(position.moves) <= FEW_MOVES:
        return read_record(engines, position)
    return await asyncio.to_thread(read_record, engines, position)


async def next_request(context: grpc.aio.ServicerContext[Any, Any], runtime: Runtime) -> Any:
    """The next message of a stream, None at its end; ShuttingDown if the daemon goes while we wait."""
    await caller().pace()
    reading = asyncio.ensure_future(context.read())
    draining = asyncio.ensure_future(runtime.draining.wait())
    try:
        await asyncio.wait({reading, draining}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise ShuttingDown("the daemon is shutting down")
        request = reading.result()
        return None if request is grpc.aio.EOF else readable(request)
    finally:
        reading.cancel()
        draining.cancel()

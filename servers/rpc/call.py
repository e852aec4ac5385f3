"""What surrounds every call: request id, authentication, status codes, metrics, trace span and log line."""

import asyncio
import functools
import itertools
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, Self

import grpc.aio

from plyd.engines.core.errors import EngineError, NotAllowed, Overloaded, ShuttingDown
from plyd.servers.futures import mark_seen
from plyd.servers.rpc.context import CallContext, Metadata, current_call
from plyd.servers.rpc.decoding import UNREAD, check_message
from plyd.servers.rpc.status import status_code, status_message, trailing_details
from plyd.servers.runtime import Runtime

log = logging.getLogger("plyd.request")

REQUEST_ID = "x-request-id"  # metadata, both ways
MAX_ID_LENGTH = 64
WRITE_SECONDS = 1.0  # for a caller to read a message before it is told that its right has ended
RIGHT_ENDED = "the client's right to call has ended"

RpcContext = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[[Any, Any, Any], Awaitable[Any]]

_process = secrets.token_hex(4)
_numbers = itertools.count(1)


def request_id(metadata: Metadata) -> tuple[str, bool]:
    """The id that the caller gave, or a new one if it is not fit for a log; and whether the caller gave any."""
    is_given = False
    for key, value in metadata:
        if key == REQUEST_ID:
            if 0 < len(value) <= MAX_ID_LENGTH and value.isascii() and value.isprintable():
                return str(value), True
            is_given = True
    return f"{_process}-{next(_numbers)}", is_given


def rpc_method(method: Handler) -> Handler:
    """A service's method with all that surrounds a call: its errors become statuses, its end is counted and logged."""
    name = method.__name__
    full_name = f"plyd.v1.{method.__qualname__.replace('.', '/')}"

    @functools.wraps(method)
    async def answer(servicer: Any, request: Any, context: RpcContext) -> Any:
        runtime: Runtime = servicer.runtime
        began = time.perf_counter()
        call = current_call()
        _begin(call, full_name, runtime, context)
        status = "OK"
        try:
            _admit(call, runtime, context)
            if request is UNREAD:
                request = await context.read()
            return await method(servicer, check_message(request), context)
        except asyncio.CancelledError:
            if not _is_revoked(call):
                status = "CANCELLED"
                raise
            if call.writing:
                await asyncio.wait({call.writing}, timeout=WRITE_SECONDS)
                if not call.writing.done():  # the caller does not read, so it cannot be told
                    status = "CANCELLED"
                    raise
            error = NotAllowed(RIGHT_ENDED)
            status = status_code(error).name
            await _refuse(call, error, runtime, context)
        except EngineError as error:
            status = status_code(error).name
            await _refuse(call, error, runtime, context)
        except Exception as error:
            status = "INTERNAL"
            log.exception("%s failed", name)
            await context.abort(grpc.StatusCode.INTERNAL, status_message(error), _id_metadata(call))
        finally:
            _end(call, name, status, time.perf_counter() - began, runtime)

    return answer


def _begin(call: CallContext, full_name: str, runtime: Runtime, context: RpcContext) -> None:
    """Give the call its id and its span, and count it as running."""
    call.peer = context.peer()
    call.log_fields["request_id"], is_given = request_id(call.metadata)
    if is_given:  # sending it with every call would make each of them 5% slower
        context.set_trailing_metadata(_id_metadata(call))
    if runtime.observer.tracing:
        call.span = runtime.observer.tracing.begin(full_name, call.metadata)
    runtime.call_begins()


def _admit(call: CallContext, runtime: Runtime, context: RpcContext) -> None:
    """Find the call's client; raises an EngineError if the call may not go on."""
    if runtime.draining.is_set():
        raise ShuttingDown("the daemon is shutting down")
    if call.refusal:
        raise call.refusal
    if call.grant is None:
        call.admit(runtime.auth.by_connection(context))
    task = asyncio.current_task()
    if call.grant and call.client.is_known and task:
        if call.grant.has_ended:  # since its metadata arrived
            raise NotAllowed(RIGHT_ENDED)
        call.grant.calls.add(task)


def _is_revoked(call: CallContext) -> bool:
    """Whether a cancelled call was cancelled because its client's right has ended; then it goes on, to be refused."""
    task = asyncio.current_task()
    if call.grant is None or not call.grant.has_ended or task is None:
        return False
    task.uncancel()
    return True


async def _refuse(call: CallContext, error: EngineError, runtime: Runtime, context: RpcContext) -> None:
    """End the call with an error's status and details."""
    call.log_fields["error"] = str(error)
    if isinstance(error, Overloaded):
        runtime.observer.metrics.shed(error.reason, call.log_fields.get("client", ""))
    await context.abort(status_code(error), str(error), (*_id_metadata(call), *trailing_details(error)))


def _end(call: CallContext, name: str, status: str, seconds: float, runtime: Runtime) -> None:
    """Count, trace and log a call that has ended."""
    fields, observer = call.log_fields, runtime.observer
    observer.metrics.call_ended(name, status, fields.get("client", ""), seconds)
    if observer.tracing and call.span:
        observer.tracing.end(call.span, status, fields)
    runtime.request_log.add(name, status, seconds, call.peer, fields)
    task = asyncio.current_task()
    if call.grant and task:
        call.grant.calls.discard(task)
    runtime.call_ends()


def _id_metadata(call: CallContext) -> tuple[tuple[str, str]]:
    return ((REQUEST_ID, call.log_fields["request_id"]),)


async def send(context: RpcContext, message: Any) -> None:
    """Send a message of a stream. If that fails, the caller has left: the call is cancelled.

    gRPC cancels a call whose caller has left, but a write to a dead connection may fail before that.
    """
    call = current_call()
    try:
        if call.client.is_known:  # its right may end meanwhile: a refusal has to wait for the end of the write
            call.writing = asyncio.ensure_future(context.write(message))
            call.writing.add_done_callback(mark_seen)
            await asyncio.shield(call.writing)
        else:
            await context.write(message)
    except grpc.aio.InternalError:
        raise asyncio.CancelledError from None


class RequestReader:
    """Reads the messages of a stream in the caller's own task, until the daemon shuts down; use it in a `with`.

    A task for each message that waits for both would make a round trip a tenth longer.
    """

    def __init__(self, call: CallContext, context: RpcContext, runtime: Runtime) -> None:
        self._call, self._context = call, context
        self._reading: asyncio.Task[Any] | None = None
        self._is_interrupted = False
        self._draining = asyncio.ensure_future(runtime.draining.wait())
        self._draining.add_done_callback(lambda _: self._interrupt())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._draining.cancel()

    async def next(self) -> Any:
        """The next message, None at the end of the stream; raises ShuttingDown if the daemon stops meanwhile."""
        await self._call.client.pace()
        if self._draining.done():
            raise ShuttingDown("the daemon is shutting down")
        reading = self._reading = asyncio.current_task()
        try:
            request = await self._context.read()
        except asyncio.CancelledError:
            if self._is_interrupted and reading and reading.uncancel() == 0:
                raise ShuttingDown("the daemon is shutting down") from None
            raise
        finally:
            self._reading = None
        return None if request is grpc.aio.EOF else check_message(request)

    def _interrupt(self) -> None:
        if self._reading:
            self._is_interrupted = True
            self._reading.cancel()

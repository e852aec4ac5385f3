"""Finds the handler of a call, refuses what may not come in, and turns bytes into messages and messages into bytes.

A call's metadata arrives first. gRPC receives and decodes the message of a unary call before its handler runs, that of
a stream only when it is read. So a call that may not come in by its metadata alone gets a streaming handler: it is
refused with its message unread, or admitted by its connection (a client certificate) and read then. So does a call that
has come in a crowd: its message is read when its turn has come.

Bytes that cannot be decoded reach the service as UndecodableMessage and are refused like any other bad input. gRPC on
its own would end the call with UNKNOWN and the name of an exception.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from plyd.engines.core.errors import BadMessage, Overloaded
from plyd.servers.rpc.context import CallContext, begin_call, current_call
from plyd.servers.runtime import Runtime

UNREAD = object()  # takes the place of a message that was not read yet
BATCH_METHODS = ("Evaluate",)  # their messages may be larger than others

RAW_METHODS = ("/plyd.v1.EngineService/Search",)  # get bytes, and decode them only if they must


class UndecodableMessage:
    """Takes the place of a message that could not be decoded."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class MethodHandlers(NamedTuple):
    """The usual handler of a method, and one that waits for the call's turn before its message is read."""

    usual: Any
    unread: Any


class MessageDecoder(grpc.GenericRpcHandler):
    """The methods of all our services. The generated code registers them here as it would with a server."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._methods: dict[str, MethodHandlers] = {}

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Nothing: the same handlers arrive by `add_registered_method_handlers`."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Serve these methods."""
        capacity = self._runtime.capacity
        for name, handler in handlers.items():
            path = f"/{service}/{name}"
            most_bytes = capacity.most_bytes if name in BATCH_METHODS else capacity.max_message_bytes
            decode = None if path in RAW_METHODS else lenient(handler.request_deserializer, most_bytes)
            usual = handler._replace(request_deserializer=decode, response_serializer=encode)
            self._methods[path] = MethodHandlers(usual, self._unread_handler(usual))

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call, None if the method is not ours. Begins the call's context."""
        method = self._methods.get(details.method)
        if method is None:
            return None
        call = begin_call(details.invocation_metadata or ())
        call.must_wait = self._runtime.turns.must_wait()
        return method.usual if self._may_come_in(call) and not call.must_wait else method.unread

    def _may_come_in(self, call: CallContext) -> bool:
        """Whether a call is admitted by its metadata; the context says why it is refused, if that is clear already."""
        runtime = self._runtime
        task = asyncio.current_task()
        assert task is not None, "gRPC runs each call in a task"
        runtime.accept(task)
        grant = runtime.auth.by_metadata(call.metadata)
        needs_credentials = runtime.auth.needs_credentials
        try:
            if grant:
                call.admit(grant)
            runtime.check_room(is_admitted=grant is not None or not needs_credentials)
        except Overloaded as error:
            call.refusal = error
            return False
        return grant is not None or not needs_credentials

    def _unread_handler(self, usual: Any) -> Any:
        """The handler that waits for a call's turn if it must, and gets UNREAD in place of a unary call's message."""
        behaviour = usual.stream_stream or usual.unary_stream or usual.unary_unary
        turns = self._runtime.turns

        async def answer(requests: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
            call = current_call()
            if call.must_wait and not call.refusal:
                call.peer = context.peer()
                await turns.wait(call.party)
            response = await behaviour(requests if usual.request_streaming else UNREAD, context)
            if response is not None:
                await context.write(response)

        return grpc.stream_stream_rpc_method_handler(answer, usual.request_deserializer, usual.response_serializer)


def lenient(decode: Callable[[bytes], Any], most_bytes: int) -> Callable[[bytes], Any]:
    """A decoder that returns UndecodableMessage where the given one raises, and for more bytes than are allowed."""

    def decode_leniently(data: bytes) -> Any:
        if len(data) > most_bytes:
            return UndecodableMessage(f"the message has {len(data)} bytes; at most {most_bytes} are allowed")
        try:
            return decode(data)
        except DecodeError as error:
            return UndecodableMessage(f"the bytes are not a message of the schema: {error}")

    return decode_leniently


def encode(response: Any) -> bytes:
    """The bytes of a message; a response that never changes may be bytes already."""
    return response if type(response) is bytes else response.SerializeToString()


def check_message(request: Any) -> Any:
    """The request; raises BadMessage if it is not there or could not be decoded."""
    if request is grpc.aio.EOF:
        raise BadMessage("the call came without a message")
    if isinstance(request, UndecodableMessage):
        raise BadMessage(request.reason)
    return request

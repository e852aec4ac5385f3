"""Finds the handler of a call, and turns bytes into messages and messages into bytes.

Bytes that cannot be decoded reach the service as UndecodableMessage and are refused like any other bad input. gRPC on
its own would end the call with UNKNOWN and the name of an exception.
"""

from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from plyd.engines.core.errors import BadMessage
from plyd.servers.rpc.context import begin_call

RAW_METHODS = ("/plyd.v1.EngineService/Search",)  # get bytes, and decode them only if they must


class UndecodableMessage:
    """Takes the place of a message that could not be decoded."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class MessageDecoder(grpc.GenericRpcHandler):
    """The methods of all our services. The generated code registers them here as it would with a server."""

    def __init__(self) -> None:
        self._handlers: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Nothing: the same handlers arrive by `add_registered_method_handlers`."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Serve these methods."""
        for name, handler in handlers.items():
            path = f"/{service}/{name}"
            decode = None if path in RAW_METHODS else lenient(handler.request_deserializer)
            self._handlers[path] = handler._replace(request_deserializer=decode, response_serializer=encode)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call, None if the method is not ours. Begins the call's context."""
        handler = self._handlers.get(details.method)
        if handler:
            begin_call(details.invocation_metadata or ())
        return handler


def lenient(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A decoder that returns UndecodableMessage where the given one raises."""

    def decode_leniently(data: bytes) -> Any:
        try:
            return decode(data)
        except DecodeError as error:
            return UndecodableMessage(str(error))

    return decode_leniently


def encode(response: Any) -> bytes:
    """The bytes of a message; a response that never changes may be bytes already."""
    return response if type(response) is bytes else response.SerializeToString()


def require_message(request: Any) -> Any:
    """The request; raises BadMessage if it could not be decoded."""
    if isinstance(request, UndecodableMessage):
        raise BadMessage(f"the bytes are not a message of the schema: {request.reason}")
    return request

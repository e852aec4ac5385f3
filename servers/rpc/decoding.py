"""Finds the method of a call, and stands where its bytes become messages and its messages bytes.

Bytes that are no message reach the service as such, and are refused like any other bad input; gRPC itself would end
the call with UNKNOWN and the name of an exception.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from plyd.engines.core.errors import BadMessage

Metadata = tuple[tuple[str, Any], ...]

metadata: ContextVar[Metadata] = ContextVar("metadata", default=())  # that came with the present call


class Unreadable:
    """Stands for a message that could not be read."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Switchboard(grpc.GenericRpcHandler):
    """The methods of all our services. The generated code takes it for the server."""

    def __init__(self) -> None:
        self._handlers: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Nothing: the same handlers come by the other way."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Serve these methods."""
        for name, handler in handlers.items():
            self._handlers[f"/{service}/{name}"] = handler._replace(
                request_deserializer=forgiving(handler.request_deserializer), response_serializer=encoded
            )

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The method of a call, None if it is none of ours. What metadata it has is read here and only here."""
        handler = self._handlers.get(details.method)
        if handler:
            metadata.set(details.invocation_metadata or ())
        return handler


def forgiving(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """The decoder, that gives Unreadable where it would raise."""

    def decoded(data: bytes) -> Any:
        try:
            return decode(data)
        except DecodeError as error:
            return Unreadable(str(error))

    return decoded


def encoded(response: Any) -> bytes:
    """The bytes of a message; one that is always the same may be bytes already."""
    return response if type(response) is bytes else response.SerializeToString()


def readable(request: Any) -> Any:
    """The request; BadMessage if it is none."""
    if isinstance(request, Unreadable):
        raise BadMessage(f"bytes that are no message of the schema: {request.reason}")
    return request

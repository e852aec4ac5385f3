"""How bytes become messages: those that are none reach the service as such, and are refused like any other bad input.

gRPC itself would end the call with UNKNOWN and the name of an exception.
"""

from collections.abc import Callable, Mapping
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from plyd.engines.core.errors import BadMessage


class Unreadable:
    """Stands for a message that could not be read."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Forgiving:
    """What the generated code takes for the server: adds its handlers with decoders that do not raise."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Nothing: the same handlers come by the other way."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Serve these methods."""
        kept = {
            name: handler._replace(request_deserializer=forgiving(handler.request_deserializer))
            for name, handler in handlers.items()
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, kept),))


def forgiving(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """The decoder, that gives Unreadable where it would raise."""

    def decoded(data: bytes) -> Any:
        try:
            return decode(data)
        except DecodeError as error:
            return Unreadable(str(error))

    return decoded


def readable(request: Any) -> Any:
    """The request; BadMessage if it is none."""
    if isinstance(request, Unreadable):
        raise BadMessage(f"bytes that are no message of the schema: {request.reason}")
    return request

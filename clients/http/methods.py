"""The methods of the schema, by path."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from plyd.v1 import engine_pb2, rules_pb2

STUBS = {"EngineService": "engine", "RulesService": "rules"}  # as library/connect/connections.py calls them


class Method(NamedTuple):
    """One method: where it is called, what it takes and gives, and whether either is a stream."""

    path: str
    descriptor: MethodDescriptor
    request: Any
    response: Any
    takes_stream: bool
    gives_stream: bool

    @property
    def name(self) -> str:
        """Its name: "Search"."""
        return self.descriptor.name

    def on(self, stubs: Any) -> Any:
        """The method of the stubs of a connection."""
        return getattr(getattr(stubs, STUBS[self.descriptor.containing_service.name]), self.name)


def _all_methods() -> Iterator[Method]:
    for file in (engine_pb2.DESCRIPTOR, rules_pb2.DESCRIPTOR):
        for service in file.services_by_name.values():
            for each in service.methods:
                request, response = GetMessageClass(each.input_type), GetMessageClass(each.output_type)
                path = f"/{service.full_name}/{each.name}"
                yield Method(path, each, request, response, each.client_streaming, each.server_streaming)


METHODS = tuple(_all_methods())


def game_of(message: Any) -> str:
    """The game that a request names: its own field, or that of its position or of its new game; "" if none."""
    for field, value in message.ListFields():
        if field.name == "game":
            return str(value)
        is_message = field.type == FieldDescriptor.TYPE_MESSAGE
        if is_message and field.name in ("position", "new_game") and (game := game_of(value)):
            return game
    return ""

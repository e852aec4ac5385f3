"""The schema as an OpenAPI document: every method and message, with the comments of the .proto files."""

import re
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from plyd.clients.http.failures import HTTP_STATUS, code_name
from plyd.clients.http.methods import METHODS, Method
from plyd.v1 import engine_pb2, position_pb2, rules_pb2, search_pb2

FILES = (position_pb2, search_pb2, engine_pb2, rules_pb2)
DEFINITION = re.compile(r"(?:message|enum|service|rpc|oneof) (\w+)|(?:[\w.<>, ]+ )?(\w+) = \d+")
SCALARS: dict[int, dict[str, Any]] = {
    FieldDescriptor.TYPE_DOUBLE: {"oneOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
    FieldDescriptor.TYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.TYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    FieldDescriptor.TYPE_UINT64: {"type": ["string", "integer"], "pattern": "^[0-9]+$"},  # in quotes when we write it
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
}
ABOUT = """Game engines over HTTP with JSON: the Connect protocol (https://connectrpc.com/docs/protocol).

A call with one answer is a POST with Content-Type application/json. Fields with their default value are left out of
answers. Connect-Timeout-Ms is the deadline. A stream from the daemon is a POST with application/connect+json: each
message follows 5 bytes, its flags and its length; the last one has flag 2 and holds the error, if any. A stream both
ways is a WebSocket, shown here as a GET: each text message is one message of the stream in JSON."""


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document."""
    schemas: dict[str, Any] = {"Error": _error()}
    for file in FILES:
        for message in file.DESCRIPTOR.message_types_by_name.values():
            schemas[message.name] = _message(message)
        for enum in file.DESCRIPTOR.enum_types_by_name.values():
            schemas[enum.name] = _enum(enum)
    return {
        "openapi": "3.1.0",
        "info": {"title": "plyd", "version": version("plyd-client"), "description": ABOUT},
        "security": [{}, {"token": []}],
        "paths": {method.path: _path(method) for method in METHODS},
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


@cache
def comments() -> dict[str, str]:
    """The comment before each definition in the schema, by the definition's path: "SearchRequest.position"."""
    found: dict[str, str] = {}
    for file in FILES:
        source = resources.files("plyd.v1") / file.DESCRIPTOR.name.rpartition("/")[2]
        _read_comments(source.read_text(), found)
    return found


def _read_comments(source: str, found: dict[str, str]) -> None:
    within: list[str] = []
    comment: list[str] = []
    for line in map(str.strip, source.splitlines()):
        if line.startswith("//"):
            comment.append(line.removeprefix("//").strip())
            continue
        if definition := DEFINITION.match(line):
            name = definition[1] or definition[2]
            path = ".".join([*(each for each in within if each), name])
            found[path] = " ".join(comment)
            if line.endswith("{"):
                within.append("" if line.startswith("oneof") else name)  # its fields are the message's
        if line == "}":
            within.pop()
        comment = []


def _path(method: Method) -> dict[str, Any]:
    name = f"{method.descriptor.containing_service.name}.{method.name}"
    operation: dict[str, Any] = {
        "operationId": name.replace(".", "_"),
        "tags": [method.descriptor.containing_service.name],
        "summary": comments()[name],
    }
    request, response = _reference(method.request.DESCRIPTOR), _reference(method.response.DESCRIPTOR)
    if method.takes_stream:
        told = f"A WebSocket: each text message is a {request['$ref']} to the daemon, or a {response['$ref']} from it."
        return {"get": operation | {"responses": {"101": {"description": told.replace("#/components/schemas/", "")}}}}
    form = "application/connect+json" if method.gives_stream else "application/json"
    many = "Messages, each in an envelope." if method.gives_stream else "The answer."
    timeout = {"name": "Connect-Timeout-Ms", "in": "header", "schema": {"type": "string", "pattern": "^[0-9]{1,10}$"}}
    return {
        "post": operation
        | {
            "parameters": [timeout | {"description": "Deadline, in milliseconds. Default: none."}],
            "requestBody": {"required": True, "content": {form: {"schema": request}}},
            "responses": {
                "200": {"description": many, "content": {form: {"schema": response}}},
                "default": {
                    "description": "The call failed.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
                },
            },
        }
    }


def _message(message: Descriptor) -> dict[str, Any]:
    properties = {
        field.json_name: _field(field) | {"description": comments()[f"{message.name}.{field.name}"]}
        for field in message.fields
    }
    return {
        "type": "object",
        "description": comments()[message.name],
        "properties": properties,
        "additionalProperties": False,
    }


def _field(field: FieldDescriptor) -> dict[str, Any]:
    kind = field.message_type
    if kind and kind.GetOptions().map_entry:
        return {"type": "object", "additionalProperties": _single(kind.fields_by_name["value"])}
    return {"type": "array", "items": _single(field)} if field.is_repeated else _single(field)


def _single(field: FieldDescriptor) -> dict[str, Any]:
    named = field.message_type or field.enum_type
    return _reference(named) if named else dict(SCALARS[field.type])


def _reference(named: Descriptor | EnumDescriptor) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{named.name}"}


def _enum(enum: EnumDescriptor) -> dict[str, Any]:
    told = [f"{value.name}: {comments()[f'{enum.name}.{value.name}']}" for value in enum.values]
    return {
        "type": "string",
        "description": "\n\n".join([comments()[enum.name], *told]),
        "enum": [value.name for value in enum.values],
    }


def _error() -> dict[str, Any]:
    detail = {
        "type": "object",
        "properties": {
            "type": {"type": "string", "description": "google.rpc.BadRequest or google.rpc.RetryInfo."},
            "value": {"type": "string", "description": "The detail in binary protobuf, base64 without padding."},
            "debug": {"type": "object", "description": "The detail in JSON."},
        },
        "required": ["type", "value"],
    }
    return {
        "type": "object",
        "description": "Why a call failed. Codes are those of gRPC.",
        "properties": {
            "code": {"type": "string", "enum": [code_name(code) for code in HTTP_STATUS]},
            "message": {"type": "string", "description": "What is wrong, and what was allowed."},
            "details": {"type": "array", "items": detail},
        },
        "required": ["code"],
    }

"""What a request says: its body and the form of it, its deadline, and the metadata for the daemon."""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from grpc import StatusCode
from starlette.requests import HTTPConnection, Request

from plyd.clients.http.codec import JSON, PROTO
from plyd.clients.http.failures import CallFailed, invalid
from plyd.clients.web.app import bounded_body

MAX_BODY_BYTES = 1 << 20  # a message of 160 KiB, the most that a daemon takes, with every character escaped
UNARY_TYPES = {"application/json": JSON, "application/proto": PROTO}
TIMEOUT, GRPC_TIMEOUT = "connect-timeout-ms", "grpc-timeout"
GRPC_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
AUTHORIZATION = "authorization"
PASSED_ON = (AUTHORIZATION, "x-request-id", "traceparent", "tracestate")
SUBPROTOCOL, BEARER = "plyd.v1", "bearer."  # of a WebSocket: browsers can give it no other header


Form = TypeVar("Form")


class CallHeaders(NamedTuple):
    """A call's deadline in seconds from now, None for none, its metadata, and the game that the URL names."""

    timeout: float | None
    metadata: tuple[tuple[str, str], ...]
    game: str


def media_type_of(request: HTTPConnection) -> str:
    """The Content-Type, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def message_form(request: HTTPConnection, allowed: Mapping[str, Form]) -> Form:
    """The form that the Content-Type names; raises CallFailed if it is none of those allowed."""
    given, media_type = request.headers.get("content-type", ""), media_type_of(request)
    charset = given.partition(";")[2].strip().lower()
    if media_type not in allowed or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        message = f"Content-Type is {given[:60]!r}; allowed is {' or '.join(allowed)}"
        raise CallFailed(StatusCode.INVALID_ARGUMENT, message, http_status=415)
    for name in ("content-encoding", "connect-content-encoding", "grpc-encoding"):
        if (encoding := request.headers.get(name, "identity")) != "identity":
            raise CallFailed(StatusCode.UNIMPLEMENTED, f"{name} is {encoding[:60]!r}; supported is identity")
    if (version := request.headers.get("connect-protocol-version", "1")) != "1":
        raise invalid(f"connect-protocol-version is {version[:60]!r}; allowed is 1")
    return allowed[media_type]


def call_headers(request: HTTPConnection) -> CallHeaders:
    """The deadline and the metadata of a call."""
    given = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
    for offered in request.scope.get("subprotocols", ()):
        if offered.startswith(BEARER):
            given[AUTHORIZATION] = f"Bearer {offered.removeprefix(BEARER)}"
    for name, value in given.items():
        if not (value.isascii() and value.isprintable()):
            raise invalid(f"the header {name} contains invalid characters; allowed is printable ASCII")
    return CallHeaders(_timeout(request), tuple(given.items()), request.query_params.get("game", ""))


async def read_body(request: Request) -> bytes:
    """The body of a request."""
    data = await bounded_body(request, MAX_BODY_BYTES)
    if data is None:
        message = f"the body is larger than {MAX_BODY_BYTES} bytes, the most allowed"
        raise CallFailed(StatusCode.RESOURCE_EXHAUSTED, message)
    return data


def _timeout(request: HTTPConnection) -> float | None:
    if (text := request.headers.get(TIMEOUT)) is not None:
        if not re.fullmatch("[0-9]{1,10}", text):
            raise invalid(f"{TIMEOUT} is {text[:60]!r}; allowed is a whole number of at most 10 digits")
        return int(text) / 1000
    if (text := request.headers.get(GRPC_TIMEOUT)) is not None:
        if not re.fullmatch("[0-9]{1,8}[HMSmun]", text):
            raise invalid(f"{GRPC_TIMEOUT} is {text[:60]!r}; allowed is at most 8 digits and one of H M S m u n")
        return int(text[:-1]) * GRPC_UNITS[text[-1]]
    return None

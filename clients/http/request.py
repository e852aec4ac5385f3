"""What a request says: its body and the form of it, its deadline, and the metadata for the daemon."""

from collections.abc import Mapping
from typing import NamedTuple

from grpc import StatusCode
from starlette.requests import HTTPConnection, Request

from plyd.clients.http.codec import JSON, PROTO
from plyd.clients.http.failures import CallFailed, invalid

MAX_BODY_BYTES = 1 << 20  # a message of 160 KiB, the most that a daemon takes, with every character escaped
MAX_DISCARDED_BYTES = 16 * MAX_BODY_BYTES
UNARY_TYPES = {"application/json": JSON, "application/proto": PROTO}
STREAM_TYPES = {"application/connect+json": JSON, "application/connect+proto": PROTO}
TIMEOUT = "connect-timeout-ms"
AUTHORIZATION = "authorization"
PASSED_ON = (AUTHORIZATION, "x-request-id", "traceparent", "tracestate")
SUBPROTOCOL, BEARER = "plyd.v1", "bearer."  # of a WebSocket: browsers can give it no other header


class CallHeaders(NamedTuple):
    """A call's deadline in seconds from now, None for none, its metadata, and the game that the URL names."""

    timeout: float | None
    metadata: tuple[tuple[str, str], ...]
    game: str


def message_form(request: HTTPConnection, allowed: Mapping[str, str]) -> str:
    """The form that the Content-Type names; raises CallFailed if it is none of those allowed."""
    given = request.headers.get("content-type", "")
    media_type, _, charset = (part.strip().lower() for part in given.partition(";"))
    if media_type not in allowed or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        message = f"Content-Type is {given[:60]!r}; allowed is {' or '.join(allowed)}"
        raise CallFailed(StatusCode.INVALID_ARGUMENT, message, http_status=415)
    for name in ("content-encoding", "connect-content-encoding"):
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
    """The body of a request. One that is too large is read to its end: otherwise the sender gets a reset, no answer."""
    data, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            data += chunk
        elif size > MAX_DISCARDED_BYTES:
            break
    if size > MAX_BODY_BYTES:
        message = f"the body is larger than {MAX_BODY_BYTES} bytes, the most allowed"
        raise CallFailed(StatusCode.RESOURCE_EXHAUSTED, message)
    return bytes(data)


def _timeout(request: HTTPConnection) -> float | None:
    text = request.headers.get(TIMEOUT)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise invalid(f"{TIMEOUT} is {text[:60]!r}; allowed is a whole number of at most 10 digits")
    return int(text) / 1000

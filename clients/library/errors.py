"""The errors of the client library, as one tree:

PlydError
├── Unavailable       no daemon answers at the address, or it is shutting down
├── TimedOut          the answer did not arrive within the timeout
├── InvalidRequest    the request or its arguments are invalid; `field` names the part
├── UnknownGame       the daemon does not serve this game
├── NotAllowed        the daemon does not accept the client's token or certificate
├── NotSupported      the engine does not support this call
├── Overloaded        no search slot was free; `retry_seconds` says when to try again
├── Cancelled         the client cancelled the call
├── ProgramFailed     the outside program that plays crashed, was too late, or gave a move that is none
├── DaemonFault       the daemon failed; its log has the details
└── BadEndpoint       a bridge cannot listen, or may not listen, at this address
"""

from typing import Any

import grpc
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status

from plyd.v1 import engine_pb2

DETAILS_KEY = "grpc-status-details-bin"
BROKEN_WRITE = "Internal error from Core"  # grpc/grpc issue 36066: replaces the status that ended the stream
SERVER_CLOSING = "CANCELLED"  # details of a call that reached a closing server; a call that we cancel has others
RESET = "RST_STREAM with error code"  # in gRPC's words for a stream that the other side cut
REMOVED = "Stream removed"  # likewise, of older versions; also where we end the stream: then the status says so


class PlydError(Exception):
    """Base of every error of the client library."""

    field = ""
    retry_seconds = 0.0


class Unavailable(PlydError):
    """No daemon answers at the address, or it is shutting down."""


class TimedOut(PlydError):
    """The answer did not arrive within the timeout."""


class InvalidRequest(PlydError):
    """The request or its arguments are invalid."""


class UnknownGame(PlydError):
    """The daemon does not serve this game."""


class NotAllowed(PlydError):
    """The daemon does not accept the client's token or certificate."""


class NotSupported(PlydError):
    """The engine does not support this call."""


class Overloaded(PlydError):
    """No search slot was free."""


class Cancelled(PlydError):
    """The client cancelled the call."""


class ProgramFailed(PlydError):
    """The outside program that plays here crashed, was too late, or gave a move that is none."""


class DaemonFault(PlydError):
    """The daemon failed."""


class BadEndpoint(PlydError):
    """A bridge cannot listen, or may not listen, at this address."""


ERRORS: dict[grpc.StatusCode, type[PlydError]] = {
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: TimedOut,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.OUT_OF_RANGE: InvalidRequest,
    grpc.StatusCode.FAILED_PRECONDITION: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: UnknownGame,
    grpc.StatusCode.UNAUTHENTICATED: NotAllowed,
    grpc.StatusCode.UNIMPLEMENTED: NotSupported,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.ABORTED: ProgramFailed,
}


def status_of(error: Any) -> grpc.StatusCode:
    """The status of a gRPC error, UNAVAILABLE for every way in which a connection or a stream breaks.

    A proxy whose daemon dies cuts the stream, which gRPC reports as INTERNAL, UNKNOWN or CANCELLED. grpc.aio reports a
    stream that breaks during a write as INTERNAL, and a call to a closing server as CANCELLED.
    """
    code, details = error.code(), error.details() or ""
    is_ours = code in (grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)
    is_cut = RESET in details or (not is_ours and details.startswith(REMOVED))
    if is_cut or details == BROKEN_WRITE or (code, details) == (grpc.StatusCode.CANCELLED, SERVER_CLOSING):
        return grpc.StatusCode.UNAVAILABLE
    return code  # type: ignore[no-any-return]


def from_rpc_error(error: Any, target: str) -> PlydError:
    """The exception for a gRPC error."""
    code, message = status_of(error), error.details() or ""
    kind = ERRORS.get(code, DaemonFault)
    if kind is Unavailable:
        message = f"{target} is unavailable: {message}{tls_hint(target, message)}"
    elif kind is TimedOut:
        message = f"no answer from {target} in time"
    elif kind is DaemonFault:
        message = f"{target} failed with {code.name}: {message}"
    mapped = kind(message)
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            _read_details(mapped, value)
    if kind is Overloaded and not mapped.retry_seconds:  # gRPC's own refusal of a message that is too large
        return InvalidRequest(message)
    return mapped


def tls_hint(target: str, message: str) -> str:
    """What to try when a connection fails because of TLS, as the end of an error message, or ""."""
    if "CERTIFICATE_VERIFY_FAILED" in message:
        return "; PLYD_CA names a file of certificate authorities to trust"
    if "WRONG_VERSION_NUMBER" in message:
        return f"; if the daemon does not use TLS, its address is {target.removeprefix('tls:')}"
    if "last error" in message and "Socket closed" in message:  # while connecting, not later
        if target.startswith("tls:"):
            return "; if the daemon wants a client certificate, set PLYD_CERTIFICATE and PLYD_KEY"
        return f"; if the daemon uses TLS, its address is tls:{target}"
    return ""


def from_command(fault: engine_pb2.CommandError, target: str) -> PlydError:
    """The exception for a CommandError in a game."""
    status = next((status for status in grpc.StatusCode if status.value[0] == fault.code), grpc.StatusCode.UNKNOWN)
    error = ERRORS.get(status, DaemonFault)(fault.message if status in ERRORS else f"{fault.message} (at {target})")
    error.field = fault.field
    error.retry_seconds = fault.retry_after_ms / 1000
    return error


def _read_details(error: PlydError, data: bytes) -> None:
    for detail in Status.FromString(data).details:
        fault, retry = BadRequest(), RetryInfo()
        if detail.Unpack(fault) and fault.field_violations:
            error.field = fault.field_violations[0].field
        elif detail.Unpack(retry):
            error.retry_seconds = retry.retry_delay.ToTimedelta().total_seconds()

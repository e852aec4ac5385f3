"""What can go wrong with a call, as one tree:

PlydError
├── Unavailable       no daemon answers there, or it shuts down
├── TimedOut          the answer did not come within the timeout
├── InvalidRequest    the daemon could not use what it was sent; `field` says which part
├── UnknownGame       that daemon does not serve the game
├── NotAllowed        the daemon does not know us, or our token
├── NotSupported      that engine cannot do this
├── Overloaded        no search slot was free; `retry_seconds` says when to try again
├── Cancelled         the call was cancelled from this side
└── DaemonFault       the daemon failed; its log says more
"""

from typing import Any

import grpc
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status

from plyd.v1 import engine_pb2

DETAILS_KEY = "grpc-status-details-bin"
BROKEN_WRITE = "Internal error from Core"  # grpc/grpc issue 36066: hides the status that the stream ended with
CAME_TOO_LATE = "CANCELLED"  # a call that met a server in the act of closing; one cancelled from this side says more


class PlydError(Exception):
    """Anything that can go wrong with a call."""

    field = ""
    retry_seconds = 0.0


class Unavailable(PlydError):
    """No daemon answers there, or it shuts down."""


class TimedOut(PlydError):
    """The answer did not come within the timeout."""


class InvalidRequest(PlydError):
    """The daemon could not use what it was sent."""


class UnknownGame(PlydError):
    """That daemon does not serve the game."""


class NotAllowed(PlydError):
    """The daemon does not know us, or our token."""


class NotSupported(PlydError):
    """That engine cannot do this."""


class Overloaded(PlydError):
    """No search slot was free."""


class Cancelled(PlydError):
    """The call was cancelled from this side."""


class DaemonFault(PlydError):
    """The daemon failed."""


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
}


def status_of(error: Any) -> grpc.StatusCode:
    """The status of a gRPC error. A stream that breaks under a write is INTERNAL to grpc.aio, and a call that comes
    while a server closes is CANCELLED; both are UNAVAILABLE.
    """
    if error.details() == BROKEN_WRITE or (error.code(), error.details()) == (grpc.StatusCode.CANCELLED, CAME_TOO_LATE):
        return grpc.StatusCode.UNAVAILABLE
    return error.code()  # type: ignore[no-any-return]


def from_rpc_error(error: Any, target: str) -> PlydError:
    """The exception that says what a gRPC error means."""
    code, message = status_of(error), error.details() or ""
    kind = ERRORS.get(code, DaemonFault)
    if kind is Unavailable:
        message = f"{target} is unavailable: {message}"
    elif kind is TimedOut:
        message = f"no answer from {target} in time"
    elif kind is DaemonFault:
        message = f"{target} failed with {code.name}: {message}"
    mapped = kind(message)
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            _read_details(mapped, value)
    if kind is Overloaded and not mapped.retry_seconds:  # not the daemon's word but gRPC's, of a message too large
        return InvalidRequest(message)
    return mapped


def from_command(fault: engine_pb2.CommandError, target: str) -> PlydError:
    """The exception that says what a CommandError in a game means."""
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

"""Errors as gRPC statuses: one status for each kind of error, with details where they help."""

from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode

from plyd.engines.core import errors

STATUS: dict[type[errors.EngineError], StatusCode] = {
    errors.BadPosition: StatusCode.INVALID_ARGUMENT,
    errors.BadMove: StatusCode.INVALID_ARGUMENT,
    errors.BadOption: StatusCode.INVALID_ARGUMENT,
    errors.BadLimit: StatusCode.INVALID_ARGUMENT,
    errors.BadBatch: StatusCode.INVALID_ARGUMENT,
    errors.BadCommand: StatusCode.INVALID_ARGUMENT,
    errors.BadMessage: StatusCode.INVALID_ARGUMENT,
    errors.UnknownGame: StatusCode.NOT_FOUND,
    errors.NotSupported: StatusCode.UNIMPLEMENTED,
    errors.BadModel: StatusCode.FAILED_PRECONDITION,
    errors.BadPlugin: StatusCode.FAILED_PRECONDITION,
    errors.ProgramFailed: StatusCode.ABORTED,
    errors.NotAllowed: StatusCode.UNAUTHENTICATED,
    errors.Overloaded: StatusCode.RESOURCE_EXHAUSTED,
    errors.ShuttingDown: StatusCode.UNAVAILABLE,
}

INTERNAL_MESSAGE = "internal error of the daemon; its log has the details"


def status_code(error: BaseException) -> StatusCode:
    """The status that an error ends a call with; INTERNAL for an error that is not in the table."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), StatusCode.INTERNAL)


def status_message(error: BaseException) -> str:
    """The message for the caller; it reveals nothing about an internal error."""
    return str(error) if isinstance(error, errors.EngineError) else INTERNAL_MESSAGE


def trailing_details(error: errors.EngineError) -> tuple[tuple[str, bytes], ...]:
    """Trailing metadata with the field at fault, or with the time to try again."""
    status = Status(code=status_code(error).value[0], message=str(error))
    if isinstance(error, errors.Overloaded):
        delay = Duration()
        delay.FromMilliseconds(round(error.retry_seconds * 1000))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    elif error.field:
        violation = BadRequest.FieldViolation(field=error.field, description=str(error))
        status.details.add().Pack(BadRequest(field_violations=[violation]))
    return (("grpc-status-details-bin", status.SerializeToString()),)

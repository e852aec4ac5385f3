"""Errors as the Connect protocol writes them: a code, a message and details, and an HTTP status for each code."""

import base64
from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf import any_pb2, json_format
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode

from plyd.clients.library.errors import DETAILS_KEY, status_of

HTTP_STATUS = {
    StatusCode.CANCELLED: 499,
    StatusCode.UNKNOWN: 500,
    StatusCode.INVALID_ARGUMENT: 400,
    StatusCode.DEADLINE_EXCEEDED: 504,
    StatusCode.NOT_FOUND: 404,
    StatusCode.ALREADY_EXISTS: 409,
    StatusCode.PERMISSION_DENIED: 403,
    StatusCode.RESOURCE_EXHAUSTED: 429,
    StatusCode.FAILED_PRECONDITION: 400,
    StatusCode.ABORTED: 409,
    StatusCode.OUT_OF_RANGE: 400,
    StatusCode.UNIMPLEMENTED: 501,
    StatusCode.INTERNAL: 500,
    StatusCode.UNAVAILABLE: 503,
    StatusCode.DATA_LOSS: 500,
    StatusCode.UNAUTHENTICATED: 401,
}
READABLE_DETAILS = (BadRequest, RetryInfo)


class CallFailed(Exception):
    """A call ended with this status. `http_status` is the code's own unless HTTP has a better one."""

    def __init__(
        self,
        code: StatusCode,
        message: str,
        details: Sequence[any_pb2.Any] = (),
        metadata: Sequence[tuple[str, str]] = (),
        http_status: int = 0,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.details, self.metadata = code, message, details, metadata
        self.http_status = http_status or HTTP_STATUS[code]

    def as_json(self) -> dict[str, Any]:
        """The error as the Connect protocol writes it."""
        fields: dict[str, Any] = {"code": code_name(self.code), "message": self.message}
        if self.details:
            fields["details"] = [_detail_json(detail) for detail in self.details]
        return fields


def code_name(code: StatusCode) -> str:
    """A status as the Connect protocol calls it: "invalid_argument"."""
    return "canceled" if code is StatusCode.CANCELLED else code.name.lower()


def invalid(message: str) -> CallFailed:
    """The failure of a request that cannot be read."""
    return CallFailed(StatusCode.INVALID_ARGUMENT, message)


def from_rpc(error: Any, address: str) -> CallFailed:
    """The failure for a gRPC error, with the details that the daemon gave."""
    code, message, trailers = status_of(error), error.details() or "", error.trailing_metadata() or ()
    details = [each for key, value in trailers if key == DETAILS_KEY for each in Status.FromString(value).details]
    if code is grpc.StatusCode.UNAVAILABLE and not trailers:  # gRPC's own words, which do not name the daemon
        message = f"{address} is unavailable: {message}"
    return CallFailed(code, message, details, texts_of(trailers))


def texts_of(trailers: Any) -> list[tuple[str, str]]:
    """The metadata after a call that is text, such as the request's id."""
    return [(key, value) for key, value in trailers or () if isinstance(value, str)]


def _detail_json(detail: any_pb2.Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "type": detail.type_url.rpartition("/")[2],
        "value": base64.b64encode(detail.value).decode().rstrip("="),
    }
    for kind in READABLE_DETAILS:
        message = kind()
        if detail.Unpack(message):
            fields["debug"] = json_format.MessageToDict(message)
    return fields

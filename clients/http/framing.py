"""The two protocols that put messages in envelopes, Connect's streams and gRPC-Web: they differ in how they end."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from google.rpc.status_pb2 import Status

from plyd.clients.http.codec import END_STREAM, JSON, PROTO, TRAILERS, in_envelope, json_text, single_message
from plyd.clients.http.failures import CallFailed, invalid
from plyd.clients.library.errors import DETAILS_KEY

Trailers = Sequence[tuple[str, str]]
End = Callable[[CallFailed | None, Trailers], bytes]


class Framing(NamedTuple):
    """How the messages of a Content-Type are written."""

    form: str
    end: End
    is_text: bool = False  # all in base64

    def message_in(self, body: bytes) -> bytes:
        """The one message in the body of a request."""
        if self.is_text:
            try:
                body = base64.b64decode(body, validate=True)
            except binascii.Error as error:
                raise invalid(f"the body is not base64: {error}") from None
        return single_message(body)

    def write(self, envelope: bytes) -> bytes:
        """An envelope as it is sent."""
        return base64.b64encode(envelope) if self.is_text else envelope


def connect_end(failed: CallFailed | None, trailers: Trailers) -> bytes:
    """The last envelope of a stream of the Connect protocol: the error and the metadata in JSON."""
    fields: dict[str, object] = {"error": failed.as_json()} if failed else {}
    if trailers:
        fields["metadata"] = {key: [value] for key, value in trailers}
    return in_envelope(json_text(fields).encode(), END_STREAM)


def grpc_web_end(failed: CallFailed | None, trailers: Trailers) -> bytes:
    """The last envelope of a gRPC-Web call: the status and the metadata as header lines."""
    lines = [("grpc-status", str(failed.code.value[0] if failed else 0))]
    if failed:
        lines.append(("grpc-message", quote(failed.message, safe=" !\"#$&'()*+,/:;<=>?@[\\]^`{|}")))
    if failed and failed.details:
        status = Status(code=failed.code.value[0], message=failed.message, details=failed.details)
        lines.append((DETAILS_KEY, base64.b64encode(status.SerializeToString()).decode().rstrip("=")))
    return in_envelope("".join(f"{key}: {value}\r\n" for key, value in [*lines, *trailers]).encode(), TRAILERS)


STREAM_TYPES = {
    "application/connect+json": Framing(JSON, connect_end),
    "application/connect+proto": Framing(PROTO, connect_end),
}
GRPC_WEB_TYPES = {
    "application/grpc-web": Framing(PROTO, grpc_web_end),
    "application/grpc-web+proto": Framing(PROTO, grpc_web_end),
    "application/grpc-web-text": Framing(PROTO, grpc_web_end, is_text=True),
    "application/grpc-web-text+proto": Framing(PROTO, grpc_web_end, is_text=True),
}

"""Messages as JSON or binary protobuf, alone or in the envelopes of a stream."""

import json
import struct
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from plyd.clients.http.failures import invalid

JSON, PROTO = "json", "proto"
ENVELOPE = struct.Struct(">BI")  # flags, length of the message
END_STREAM, TRAILERS = 0x02, 0x80  # flags of the last envelope: Connect, gRPC-Web
MAX_SHOWN = 300  # characters of an error's text


def decode(form: str, data: bytes, kind: Any) -> Any:
    """The message of a kind that the bytes hold; raises CallFailed if they hold none."""
    try:
        if form == PROTO:
            return kind.FromString(data)
        if not data.lstrip().startswith(b"{"):  # the library takes [] for an empty message
            raise ValueError("it is not an object, { ... }")
        return json_format.Parse(data, kind())
    except DecodeError as error:
        raise invalid(f"not a {kind.DESCRIPTOR.full_name} in binary protobuf: {error}") from None
    except (json_format.Error, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise invalid(f"not a {kind.DESCRIPTOR.full_name} in JSON: {reason:.{MAX_SHOWN}}") from None


def encode(form: str, message: Any) -> bytes:
    """A message as bytes."""
    return bytes(message.SerializeToString()) if form == PROTO else to_json(message).encode()


def to_json(message: Any) -> str:
    """A message as JSON on one line; fields with their default value are left out."""
    return json_text(json_format.MessageToDict(message))


def json_text(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def in_envelope(data: bytes, flags: int = 0) -> bytes:
    """A message of a stream."""
    return ENVELOPE.pack(flags, len(data)) + data


def single_message(data: bytes) -> bytes:
    """The one message in the body of a request for a stream."""
    if len(data) < ENVELOPE.size:
        raise invalid(f"the body has {len(data)} bytes; it is an envelope of 5 bytes and the message in it")
    flags, length = ENVELOPE.unpack_from(data)
    if flags:
        raise invalid(f"the envelope's flags are {flags}; allowed is 0: a message that is not compressed")
    if length != len(data) - ENVELOPE.size:
        raise invalid(
            f"the envelope says {length} bytes and {len(data) - ENVELOPE.size} follow; expected is one message"
        )
    return data[ENVELOPE.size :]

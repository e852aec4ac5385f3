"""Frames of HTTP/2 by hand (RFC 9113), for what no gRPC client would send."""

import socket
import time
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9  # kinds of frames
END_STREAM, END_HEADERS = 1, 4  # flags of frames
CANCEL = (8).to_bytes(4, "big")  # an error code
HEAD_BYTES = 9
EMPTY_MESSAGE = bytes(5)  # gRPC's frame: not compressed, of length 0


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


OPENING = PREFACE + frame(SETTINGS, 0, 0, b"")


def headers(method: str, **more: str) -> bytes:
    """The header block of a call, each field written out in full; `grpc_timeout` is the field grpc-timeout."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields.items())


def _text(text: str) -> bytes:
    """A string literal without Huffman coding (RFC 7541, 5.2)."""
    length, encoded = len(text), b""
    if length < 127:
        return bytes([length]) + text.encode()
    length -= 127
    while length >= 128:
        encoded += bytes([length % 128 + 128])
        length //= 128
    return b"\x7f" + encoded + bytes([length]) + text.encode()


def request(stream: int, method: str, message: bytes, *, is_gzip: bool = False, **more: str) -> bytes:
    """All frames of one unary call with a message of up to 16 kB, gzip-compressed already if so said."""
    if is_gzip:
        more["grpc_encoding"] = "gzip"
    body = bytes([is_gzip]) + len(message).to_bytes(4, "big") + message
    return frame(HEADERS, END_HEADERS, stream, headers(method, **more)) + frame(DATA, END_STREAM, stream, body)


class RawConnection:
    """A TCP connection that has sent the opening of HTTP/2, and counts the streams that the other side ends."""

    def __init__(self, target: str, opening: bytes = OPENING, *, seconds: float = 5.0) -> None:
        host, _, port = target.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=seconds)
        self._seconds = seconds
        self._unread = b""
        self._ended: set[int] = set()
        self.is_open = True
        self.send(opening)

    def send(self, data: bytes) -> None:
        """Send bytes; the connection is not open afterwards if the other side has closed it or reads no more."""
        self._socket.settimeout(self._seconds)
        try:
            self._socket.sendall(data)
        except OSError:
            self.is_open = False

    def wait_for_ends(self, count: int, seconds: float) -> int:
        """Number of streams that the other side ends, until there are `count` or the seconds are over."""
        ended, end = 0, time.monotonic() + seconds
        while ended < count and self.is_open and (left := end - time.monotonic()) > 0:
            ended += self.read(left)
        return ended

    def read(self, seconds: float = 0.0) -> int:
        """Number of streams that end by what arrives next; 0 if nothing does within the seconds."""
        self._socket.settimeout(seconds)
        try:
            data = self._socket.recv(1 << 16)
        except (BlockingIOError, TimeoutError):
            return 0
        except OSError:
            data = b""
        self.is_open = bool(data)
        self._unread += data
        before = len(self._ended)
        for kind, flags, stream in self._frames():
            if kind == GOAWAY:
                self.is_open = False
            elif kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM):
                self._ended.add(stream)
        return len(self._ended) - before

    def _frames(self) -> Iterator[tuple[int, int, int]]:
        """Kind, flags and stream of each whole frame that has arrived."""
        while len(self._unread) >= (size := HEAD_BYTES + int.from_bytes(self._unread[:3], "big")):
            yield self._unread[3], self._unread[4], int.from_bytes(self._unread[5:9], "big")
            self._unread = self._unread[size:]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

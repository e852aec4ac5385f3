"""A daemon to be mistreated, and the bytes to do it with."""

import os
import socket
import time

from tests.patience import SOON, until
from tests.servers.daemons import Caller, Process, search_request

START, VALUE = "b 2 2 0 0 0 0", 1422.339260970406
ENDLESS = {"method": "expectimax"}  # looks ahead until it is stopped
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6  # kinds of frames
END_STREAM, END_HEADERS = 1, 4  # flags of frames


class Victim(Process):
    """`plyd serve 2584-2x3` with two slots; use it in a `with`."""

    def __enter__(self):
        [self.target] = self.addresses()
        return self

    def __init__(self, folder, *arguments):
        super().__init__(
            folder, "--listen", "127.0.0.1:0", "--slots", "2", "--queue", "8", "--sessions", "16", *arguments
        )

    def check(self):
        """Assert that it answers a new caller, rightly and soon, and that both slots are free."""
        with Caller(self.target) as caller:
            for _ in range(3):
                report = caller.engine.Search(search_request(START), timeout=SOON).report
                assert report.score.expected_points == VALUE
            limits = {"move_time_ms": 40}
            until(
                lambda: (
                    caller.engine.Search(search_request(START, limits=limits), timeout=SOON).report.waited_us < 20_000
                )
            )

    def resident_megabytes(self):
        """Memory in use."""
        with open(f"/proc/{self.pid}/status") as status:
            [line] = [line for line in status if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024

    def open_files(self):
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def connect(self):
        """A plain TCP connection to it."""
        host, port = self.target.split(":")
        return socket.create_connection((host, int(port)), timeout=SOON)


def frame(kind, flags, stream, payload):
    """A frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def headers(method, **more):
    """The header block of a call, each field written out in full."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    block = b""
    for name, value in fields.items():
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return block


def call(method, message, declared=None, **more):
    """All bytes of one unary call; `declared` is the length it says that its message has."""
    length = len(message) if declared is None else declared
    body = b"\0" + length.to_bytes(4, "big") + message
    return (
        PREFACE
        + frame(SETTINGS, 0, 0, b"")
        + frame(HEADERS, END_HEADERS, 1, headers(method, **more))
        + frame(DATA, END_STREAM, 1, body)
    )


def everything(connection, seconds, last=None):
    """What comes back on a connection until it closes or the last words are there, or for so many seconds."""
    heard, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and (last is None or last not in heard):
        connection.settimeout(left)
        try:
            piece = connection.recv(65536)
        except (TimeoutError, ConnectionError):
            break
        if not piece:
            break
        heard += piece
    return heard

"""A daemon to be mistreated, and the bytes to do it with."""

import os
import socket
import time

from plyd.clients.stress.attacks.http2 import DATA, END_HEADERS, END_STREAM, HEADERS, OPENING, frame, headers
from tests.patience import SOON, until
from tests.servers.daemons import Caller, Process, search_request

START, VALUE = "b 2 2 0 0 0 0", 1422.339260970406
ENDLESS = {"method": "expectimax"}  # looks ahead until it is stopped


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


def call(method, message, declared=None, **more):
    """All bytes of one unary call; `declared` is the length it says that its message has."""
    length = len(message) if declared is None else declared
    body = b"\0" + length.to_bytes(4, "big") + message
    return OPENING + frame(HEADERS, END_HEADERS, 1, headers(method, **more)) + frame(DATA, END_STREAM, 1, body)


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

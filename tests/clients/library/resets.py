"""A server and a relay that cut streams, as a proxy does whose daemon dies: a few frames of HTTP/2 by hand."""

import contextlib
import socket
import struct
import threading

from tests.clients.library.relay import Relay

PREFACE = 24  # bytes: what a client sends first
DATA, HEADERS, RESET, SETTINGS = 0, 1, 3, 4
ACK = 1
INTERNAL = 2  # an error code of HTTP/2


class ResettingServer:
    """Answers each call with RST_STREAM and an error code of HTTP/2; use it in a `with`."""

    def __init__(self, code):
        self._code = code
        self.streams = 0  # that were cut

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError, EOFError), connection.makefile("rb") as incoming:
            connection.sendall(frame(SETTINGS))
            incoming.read(PREFACE)
            while header := incoming.read(9):
                length, kind, flags, stream = unpack(header)
                incoming.read(length)
                if kind == SETTINGS and not flags & ACK:
                    connection.sendall(frame(SETTINGS, flags=ACK))
                elif kind == HEADERS:
                    self.streams += 1
                    connection.sendall(frame(RESET, stream=stream, payload=struct.pack(">I", self._code)))


def frame(kind, flags=0, stream=0, payload=b""):
    """The bytes of a frame."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def unpack(header):
    """Length, kind, flags and stream of a frame, from its first nine bytes."""
    return int.from_bytes(header[:3], "big"), *struct.unpack(">BBI", header[3:])


class CuttingRelay(Relay):
    """A relay that cuts streams of the daemon: of every so many messages, one becomes RST_STREAM with INTERNAL."""

    def __init__(self, target, messages):
        super().__init__(target)
        self._messages = messages
        self._passed = 0
        self.cuts = 0

    def _pass_on(self, source, sink):
        if source.getpeername() != self._target:
            return super()._pass_on(source, sink)
        with contextlib.suppress(OSError), source.makefile("rb") as incoming:
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each frame waits for the last one's ACK
            while header := incoming.read(9):
                length, kind, _, stream = unpack(header)
                payload = incoming.read(length)
                self._passed += kind == DATA
                if kind == DATA and self._passed % self._messages == 0:
                    self.cuts += 1
                    header, payload = frame(RESET, stream=stream, payload=struct.pack(">I", INTERNAL)), b""
                sink.sendall(header + payload)
        return super()._pass_on(source, sink)  # closes both

"""A TCP relay to a daemon: cutting it looks to a client like a daemon that dies, restoring it like one that is back."""

import contextlib
import socket
import threading
import time

from tests.ports import free_place


class Relay:
    """Passes bytes between clients and a target, each piece after a delay; use it in a `with`."""

    def __init__(self, target, delay_seconds=0.0):
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._delay = delay_seconds
        self.address = free_place()
        self.connections = 0
        self._open = []
        self._lock = threading.Lock()  # a connection is made before a cut, which breaks it, or not at all
        self._listener = None

    def __enter__(self):
        self.restore()
        return self

    def __exit__(self, *_):
        self.cut()

    def restore(self):
        """Accept connections."""
        self._listener = socket.create_server(("127.0.0.1", int(self.address.rpartition(":")[2])))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self):
        """Refuse connections, and break those that are open."""
        with self._lock:
            listener, self._listener = self._listener, None
            if listener:
                with contextlib.suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
                listener.close()
            while self._open:
                with contextlib.suppress(OSError):
                    self._open.pop().shutdown(socket.SHUT_RDWR)

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                near = listener.accept()[0]
                far = socket.create_connection(self._target)
                with self._lock:
                    if self._listener is not listener:  # cut meanwhile
                        near.close()
                        far.close()
                        return
                    self.connections += 1
                    self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                time.sleep(self._delay)
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

"""Attacks on what stands beside the daemon: the bridge, the metrics and the log."""

import contextlib
import http.client
import json
import os
import signal
import socket
import tempfile
import threading
from typing import IO, Any

import grpc
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from plyd.clients.cli import PROGRAM
from plyd.clients.stress.attacks.scene import Attack, Scene
from plyd.clients.stress.daemons import RunningDaemon, child_process, first_line, serving

PATIENCE_SECONDS = 30.0  # for the bridge to find its daemon
MAX_GROWTH_MB = 64  # of the bridge's memory
ENDLESS = {"position": {"game": "2584-2x3", "start": "b 2 2 0 0 0 0"}, "options": {"method": "expectimax"}}
THINK = json.dumps({"id": 0, "do": "think", **ENDLESS})
STOP = json.dumps({"id": 1, "do": "stop"})


def log_file() -> IO[bytes]:
    """A file for the log of a process, gone once it is closed."""
    return tempfile.TemporaryFile()


class StopFlood(Attack):
    """`stop` on a WebSocket as fast as the bridge reads, for a search whose daemon is frozen (SIGSTOP)."""

    name = "stop-flood"

    def prepare(self, scene: Scene) -> None:
        """Start a daemon to freeze and a bridge to it; the honest caller is another page."""
        frozen = scene.stack.enter_context(serving("2584-2x3", options=("--log-level", "warning")))
        command = [*PROGRAM, "web", "--listen", "127.0.0.1:0", "--connect", frozen.target]
        errors = scene.stack.enter_context(log_file())
        bridge = scene.stack.enter_context(child_process(command, errors))
        address = first_line(bridge, errors).split()[-1].removeprefix("http://")
        self._frozen, scene.watched = frozen, RunningDaemon(address, bridge)
        scene.honest_target = f"ws://{address}/socket"

    def run(self, scene: Scene) -> None:
        """Begin a search, freeze its daemon, and send `stop` until the time is over."""
        assert self._frozen.process is not None
        assert scene.watched is not None
        before = scene.watched.resident_bytes() or 0
        with connect(scene.honest_target) as page:
            self._read_until(page, '"isComplete":true')
            page.send(THINK)
            self._read_until(page, '"report"')
            os.kill(self._frozen.process.pid, signal.SIGSTOP)
            threading.Thread(target=self._read, args=(page, scene), daemon=True).start()
            try:
                for _ in scene.rounds(300_000):
                    page.send(STOP)
                    scene.sent["stop"] += 1
            except WebSocketException:
                scene.heard["closed"] += 1
            grown = ((scene.watched.resident_bytes() or 0) - before) >> 20
            os.kill(self._frozen.process.pid, signal.SIGCONT)
        if grown > MAX_GROWTH_MB:
            scene.broken.append(f"the bridge grew by {grown} MB")

    def _read_until(self, page: ClientConnection, text: str) -> None:
        while text not in str(page.recv(timeout=PATIENCE_SECONDS)):
            pass

    def _read(self, page: ClientConnection, scene: Scene) -> None:
        with contextlib.suppress(WebSocketException):
            for text in page:
                scene.heard["error" if '"error"' in str(text) else "answer"] += 1


class ForeignHost(Attack):
    """GET /metrics with the Host of another site, as DNS rebinding sends it: none may be answered."""

    name = "foreign-host"

    def run(self, scene: Scene) -> None:
        """Ask again and again."""
        for _ in scene.rounds(5000):
            connection = http.client.HTTPConnection(scene.metrics, timeout=scene.timeout)
            with contextlib.closing(connection):
                connection.request("GET", "/metrics", headers={"Host": "evil.example"})
                scene.sent["GET"] += 1
                scene.heard[str(connection.getresponse().status)] += 1
        if answered := scene.heard["200"]:
            scene.broken.append(f"{answered} requests for another host were answered")


class UnreadLog(Attack):
    """Calls to a daemon whose stderr is a socket that nobody reads, as that of a service can be: none may hang."""

    name = "unread-log"

    def prepare(self, scene: Scene) -> None:
        """Start such a daemon; it is the one that the honest caller uses."""
        unread, stderr = socket.socketpair()
        scene.stack.callback(unread.close)
        command = [*PROGRAM, "serve", "2584-2x3", "connect4", "--listen", "127.0.0.1:0"]
        with stderr:
            process = scene.stack.enter_context(child_process(command, stderr.fileno()))
        target = first_line(process, scene.stack.enter_context(log_file())).split()[-1]
        scene.honest_target, scene.watched = target, RunningDaemon(target, process)

    def run(self, scene: Scene) -> None:
        """Make calls, each of which is logged, until the log is long full."""
        channel: Any = scene.stack.enter_context(grpc.insecure_channel(scene.honest_target))
        describe = channel.unary_unary("/plyd.v1.EngineService/Describe")

        def send(_: int) -> Any:
            return describe.future(b"", timeout=scene.timeout)

        scene.flood("Describe", 10_000, send, at_once=10)

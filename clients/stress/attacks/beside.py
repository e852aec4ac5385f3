"""Attacks on what stands beside the daemon: the bridge and the metrics."""

import contextlib
import http.client
import json
import os
import signal
import tempfile
import threading

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


class StopFlood(Attack):
    """`stop` on a WebSocket as fast as the bridge reads, for a search whose daemon is frozen (SIGSTOP)."""

    name = "stop-flood"

    def prepare(self, scene: Scene) -> None:
        """Start a daemon to freeze and a bridge to it; the honest caller is another page."""
        frozen = scene.stack.enter_context(serving("2584-2x3", options=("--log-level", "warning")))
        command = [*PROGRAM, "web", "--listen", "127.0.0.1:0", "--connect", frozen.target]
        errors = scene.stack.enter_context(tempfile.TemporaryFile())
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
        for _ in scene.rounds(100):
            connection = http.client.HTTPConnection(scene.metrics, timeout=scene.left + 1)
            with contextlib.closing(connection):
                connection.request("GET", "/metrics", headers={"Host": "evil.example"})
                scene.sent["GET"] += 1
                scene.heard[str(connection.getresponse().status)] += 1
        if answered := scene.heard["200"]:
            scene.broken.append(f"{answered} requests for another host were answered")

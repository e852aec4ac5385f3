"""Where an attack takes place: a daemon of ours, the tokens of its clients, and what was sent and heard."""

import contextlib
import hashlib
import os
import secrets
import signal
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import grpc

from plyd.clients.stress.daemons import RunningDaemon, free_port, serving

GAMES = ("2584-2x3", "connect4", "gomoku")
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
SLOTS = 2
MEMORY_MB = 1024
LAST_SECONDS = 1.0
QUOTAS = {  # of each client of the daemon
    "honest": "",
    "greedy": "",
    "small": "memory_mb = 64\nsearches = 2\n",
    "revoked": "",
}


@dataclass
class Scene:
    """A daemon under attack, with the time and the share of its full size that the attack has."""

    daemon: RunningDaemon
    metrics: str
    clients_file: Path
    tokens: dict[str, str]
    seconds: float
    share: float = 1.0
    sent: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    """Answers by kind: a status of gRPC, or a word."""
    broken: list[str] = field(default_factory=list)
    """What the daemon did and should not have done."""
    stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """What is closed after the attack."""
    honest_target: str = ""
    watched: RunningDaemon | None = None
    """The process whose memory and processor time count. Default: the daemon's."""
    _end: float = 0.0

    def begin(self) -> None:
        """Let the time of the attack run from now on."""
        self._end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that the attack still has."""
        return max(0.0, self._end - time.monotonic())

    @property
    def timeout(self) -> float:
        """Seconds for a call that begins now: until the attack is over, and a little more for the last answers."""
        return self.left + LAST_SECONDS

    def rounds(self, count: int) -> Iterator[int]:
        """Numbers from 0 up to a share of `count`, as long as there is time; 0 in any case."""
        for number in range(max(1, round(count * self.share))):
            if number and not self.left:
                return
            yield number

    def wait(self) -> None:
        """Do nothing until the time is over."""
        time.sleep(self.left)

    def channel(self) -> Any:
        """A connection of its own to the daemon, closed after the attack."""
        channel = grpc.insecure_channel(self.daemon.target, OPTIONS)
        self.stack.callback(channel.close)
        return channel

    def metadata(self, client: str) -> tuple[tuple[str, str], ...]:
        """The metadata of a client's calls."""
        return (("authorization", f"Bearer {self.tokens[client]}"),)

    def flood(self, what: str, count: int, send: Callable[[int], Any], at_once: int) -> None:
        """Send calls, at most some at once, and count how each ends. `send` gives each of them a deadline."""
        waiting: deque[Any] = deque()
        for number in self.rounds(count):
            waiting.append(send(number))
            self.sent[what] += 1
            if len(waiting) >= at_once:
                self.heard[waiting.popleft().code().name] += 1
        for call in waiting:
            self.heard[call.code().name] += 1

    def set_clients(self, *names: str) -> None:
        """Let the daemon know these clients only."""
        write_clients(self.clients_file, {name: self.tokens[name] for name in names})
        assert self.daemon.process is not None
        os.kill(self.daemon.process.pid, signal.SIGHUP)


class Attack:
    """One attack. The docstring of each says what it sends; its `name` is its name on the command line."""

    name: ClassVar[str]

    def prepare(self, scene: Scene) -> None:
        """Set up what the attack needs, before anything is measured."""

    def run(self, scene: Scene) -> None:
        """Attack until all is sent, or until the scene's time is over."""
        raise NotImplementedError


def write_clients(file: Path, tokens: dict[str, str]) -> None:
    """Write a clients file."""
    tables = [
        f'[[client]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n{QUOTAS[name]}'
        for name, token in tokens.items()
    ]
    file.write_text("\n".join(tables))


@contextlib.contextmanager
def opened_scene(seconds: float, share: float = 1.0) -> Iterator[Scene]:
    """A scene with a new daemon, which is stopped afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        clients_file, metrics = Path(folder) / "clients.toml", f"127.0.0.1:{free_port()}"
        tokens = {name: secrets.token_hex(16) for name in QUOTAS}
        write_clients(clients_file, tokens)
        options = {"slots": SLOTS, "memory-mb": MEMORY_MB, "clients": clients_file, "metrics-listen": metrics}
        flags = [str(text) for name, value in options.items() for text in (f"--{name}", value)]
        with serving(*GAMES, options=tuple(flags)) as daemon:
            yield Scene(daemon, metrics, clients_file, tokens, seconds, share)

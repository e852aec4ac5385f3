"""Which daemon a call goes to, where an address names several: the least loaded one that answers. Does no I/O.

A daemon's load is what this client has in progress there, plus what the daemon says of others (WatchLoad), divided by
its slots. Docs: docs/operations.md, "Many daemons", which also has the measurements behind this choice.
"""

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from plyd.clients.library.channel import DaemonAddress
from plyd.clients.library.connect.connections import Connections
from plyd.clients.library.errors import Overloaded, PlydError, Unavailable
from plyd.clients.library.requests import Retry
from plyd.v1 import engine_pb2

AVOID_SECONDS = 1.0  # a daemon that was unavailable is left out for so long; then a call tries it again


class Daemon:
    """One daemon: the connections to it, and how busy it is."""

    def __init__(
        self, address: DaemonAddress, open_channel: Callable[[], Any], close_channel: Callable[[Any], object]
    ) -> None:
        self.address = address
        self.connections = Connections(open_channel)
        self._close_channel = close_channel
        self.calls = 0  # of this client, in progress
        self._most_calls = 0  # since the last report
        self.games = 0  # of this client, open
        self.turn = 0  # when it was last chosen; larger is later
        self.avoid_until = 0.0
        self.is_removed = False
        self.slots = 1  # until it says otherwise
        self._others = 0

    @property
    def channel(self) -> Any:
        """The channel that is always there."""
        return self.connections.first.channel

    def close(self) -> None:
        """Close all connections."""
        for connection in self.connections.all:
            self._close_channel(connection.channel)

    @property
    def load(self) -> float:
        """Searches in progress and waiting, by slot."""
        return (self.calls + self._others) / self.slots

    def report(self, load: engine_pb2.WatchLoadResponse) -> None:
        """Note what the daemon says of its load.

        That includes our own calls of a moment ago, some of which have ended since.
        """
        self.slots = max(1, load.slots)
        self._others = max(0, load.running + load.waiting - self._most_calls)
        self._most_calls = self.calls

    def forget_load(self) -> None:
        """Note that the load of others is not known."""
        self._others = 0

    def begin_call(self) -> None:
        """Count a call of this client."""
        self.calls += 1
        self._most_calls = max(self._most_calls, self.calls)

    def avoid(self, seconds: float = 0.0) -> None:
        """Prefer the other daemons for some time. Default: AVOID_SECONDS."""
        self.avoid_until = time.monotonic() + (seconds or AVOID_SECONDS)


class Lease:
    """A daemon and a connection to it, chosen for one call or one game, and counted as busier until the end.

    Use it in a `with`.
    """

    def __init__(self, daemon: Daemon, on_end: Callable[[], None]) -> None:
        self.daemon = daemon
        self.stubs = daemon.connections.take()
        self._on_end: Callable[[], None] | None = on_end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """The call or game is over. May be called again."""
        on_end, self._on_end = self._on_end, None
        if on_end:
            self.daemon.connections.release(self.stubs)
            on_end()


class Balancer:
    """The daemons behind an address, and the choice between them. Safe to share between threads."""

    def __init__(self) -> None:
        self.daemons: tuple[Daemon, ...] = ()
        self._lock = threading.Lock()
        self._turns = itertools.count(1)

    def update(self, addresses: Iterable[DaemonAddress], connect: Callable[[DaemonAddress], Daemon]) -> list[Daemon]:
        """Use the daemons at these addresses from now on; the new ones. Those that are gone finish their calls."""
        wanted = dict.fromkeys(addresses)
        with self._lock:
            kept = [daemon for daemon in self.daemons if daemon.address in wanted]
            gone = [daemon for daemon in self.daemons if daemon.address not in wanted]
            known = {daemon.address for daemon in kept}
            new = [connect(address) for address in wanted if address not in known]
            random.shuffle(new)  # so that clients that start together do not all begin with the same daemon
            self.daemons = (*kept, *new)
            for daemon in gone:
                daemon.is_removed = True
                self._close_if_unused(daemon)
        return new

    def lease_call(self) -> Lease:
        """The daemon for a call."""
        with self._lock:
            daemon = self._choose()
            daemon.begin_call()
        return Lease(daemon, lambda: self._end(daemon, calls=1))

    def lease_game(self) -> Lease:
        """The daemon for a game; it keeps the game to the end."""
        with self._lock:
            daemon = self._choose()
            daemon.games += 1
        return Lease(daemon, lambda: self._end(daemon, games=1))

    def delay_after(self, error: PlydError, daemon: Daemon, retry: Retry) -> float:
        """Seconds to wait before a call that failed at a daemon is tried again; raises the error if it is not.

        A daemon that is unavailable or refuses has done nothing, so that the others are tried at once, each one time.
        """
        if isinstance(error, Unavailable | Overloaded):
            daemon.avoid(error.retry_seconds)
            retry.failures += 1
            now = time.monotonic()
            if retry.failures < len(self.daemons) and any(other.avoid_until <= now for other in self.daemons):
                return 0.0
        return retry.delay_after(error)

    def _choose(self) -> Daemon:
        """The least loaded daemon; among equals that with fewer games, then the one not used for longest."""
        now = time.monotonic()
        chosen = min(self.daemons, key=lambda one: (max(now, one.avoid_until), one.load, one.games, one.turn))
        chosen.turn = next(self._turns)
        return chosen

    def _end(self, daemon: Daemon, calls: int = 0, games: int = 0) -> None:
        with self._lock:
            daemon.calls -= calls
            daemon.games -= games
            self._close_if_unused(daemon)

    def _close_if_unused(self, daemon: Daemon) -> None:
        if daemon.is_removed and not daemon.calls and not daemon.games:
            daemon.close()

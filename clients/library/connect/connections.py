"""The connections of a client to its daemon: one, and further ones while those before are full of calls."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from grpc_health.v1 import health_pb2_grpc

from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2_grpc

MAX_CALLS = 100  # on one connection, until the daemon describes itself
SPARE_CALLS = 4  # for calls of health, which are not counted


class Connection:
    """A channel, the stubs on it, and the number of calls that use it."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.engine: Any = engine_pb2_grpc.EngineServiceStub(channel)
        self.rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
        self.health: Any = health_pb2_grpc.HealthStub(channel)
        self.calls = 0


class Connections:
    """All connections of one client. Safe to use from several threads.

    A daemon answers a limited number of calls on one connection. gRPC holds others back until one ends, and games
    may last hours. So each call takes a connection that has room, and a new one is opened if none has.
    """

    def __init__(self, open_channel: Callable[[], Any]) -> None:
        self._open_channel = open_channel
        self._lock = threading.Lock()
        self._max_calls = MAX_CALLS - SPARE_CALLS
        self.all = [Connection(open_channel())]

    @property
    def first(self) -> Connection:
        """The connection that is always there."""
        return self.all[0]

    def learn(self, daemon: engine_pb2.DaemonInfo) -> None:
        """Heed what a daemon says about its limits."""
        if daemon.max_streams_per_connection:
            self._max_calls = max(1, daemon.max_streams_per_connection - SPARE_CALLS)

    def take(self) -> Connection:
        """A connection with room for one more call, which is counted until `release`."""
        with self._lock:
            for connection in self.all:
                if connection.calls < self._max_calls:
                    break
            else:
                connection = Connection(self._open_channel())
                self.all.append(connection)
            connection.calls += 1
            return connection

    def release(self, connection: Connection) -> None:
        """A call on a connection has ended."""
        with self._lock:
            connection.calls -= 1

    @contextlib.contextmanager
    def taken(self) -> Iterator[Connection]:
        """A connection for one call, within a `with`."""
        connection = self.take()
        try:
            yield connection
        finally:
            self.release(connection)

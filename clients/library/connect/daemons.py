"""The daemons behind a client's address: found by name, connected to, watched, and closed.

A lone daemon has one plain connection. Each of several has a health-checked one: gRPC fails a call at once, unsent,
where the daemon does not report SERVING, and the balancer sends it elsewhere.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import grpc
import grpc.aio

from plyd.clients.library.channel import (
    ChannelConfig,
    DaemonAddress,
    are_found,
    find_daemons,
    open_async_channel,
    open_channel,
)
from plyd.clients.library.connect.balance import Balancer, Daemon, Lease
from plyd.clients.library.errors import Cancelled, PlydError
from plyd.clients.library.requests import Retry
from plyd.v1 import engine_pb2

RESOLVE_SECONDS = 30.0  # between two looks at a name, unless a daemon fails
PAUSE_SECONDS = 1.0  # at least, between two looks at a name, or two attempts to watch a load
WATCH_SECONDS = 300.0  # then the load is watched anew, so that an old connection can end
READY = grpc.ChannelConnectivity.READY


def is_worth_watching(error: grpc.RpcError) -> bool:
    """Whether a daemon has a load to watch, after a watch of it has failed: an older one has not."""
    return error.code() is not grpc.StatusCode.UNIMPLEMENTED


class AnyDaemonSet:
    """What both kinds of client do alike with their daemons."""

    _balancer: Balancer
    _wake: threading.Event | asyncio.Event  # look at the names again

    def delay_after(self, error: PlydError, daemon: Daemon, retry: Retry) -> float:
        """Seconds to wait before a call that failed at a daemon is tried again; raises the error if it is not."""
        self._wake.set()
        return self._balancer.delay_after(error, daemon, retry)

    def learn(self, info: engine_pb2.DaemonInfo) -> None:
        """Heed what a daemon says about its limits; the others are taken to have the same."""
        for daemon in self._balancer.daemons:
            daemon.connections.learn(info)
            if not daemon.address.health_checked:  # else it reports its load, and its slots with it
                daemon.slots = max(1, info.slots)

    @property
    def slots(self) -> int:
        """Concurrent searches of all daemons together, as far as they have said so."""
        return sum(daemon.slots for daemon in self._balancer.daemons)


class DaemonSet(AnyDaemonSet):
    """The daemons of a blocking client. Threads watch loads and names, if there are several daemons."""

    def __init__(self, config: ChannelConfig) -> None:
        self.config = config
        self.closed = threading.Event()
        self._balancer = Balancer()
        self._wake: threading.Event = threading.Event()
        self._starting = threading.Lock()
        if len(config.addresses) == 1 and not config.has_names:
            self._update(config.addresses)

    def call(self) -> Lease:
        """The daemon for a call."""
        self._start()
        return self._balancer.lease_call()

    def game(self) -> Lease:
        """The daemon for a game."""
        self._start()
        return self._balancer.lease_game()

    def are_many(self) -> bool:
        """Whether there are several daemons now."""
        self._start()
        return len(self._balancer.daemons) > 1

    def any_serving(self) -> Iterator[bool]:
        """Whether any of the daemons there are now serves: now, and again at each change."""
        changes: queue.SimpleQueue[tuple[int, grpc.ChannelConnectivity]] = queue.SimpleQueue()
        subscribed = []
        for number, daemon in enumerate(self._balancer.daemons):
            # The default is bound now: each callback needs its own number.
            on_change = lambda state, number=number: changes.put((number, state))  # noqa: E731
            daemon.channel.subscribe(on_change, try_to_connect=True)
            subscribed.append((daemon.channel, on_change))
        states: dict[int, grpc.ChannelConnectivity] = {}
        told = None
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    number, state = changes.get(timeout=PAUSE_SECONDS)
                    states[number] = state
                if self.closed.is_set():
                    raise Cancelled("the client was closed")
                if (is_any := READY in states.values()) != told:
                    told = is_any
                    yield is_any
        finally:
            for channel, on_change in subscribed:
                channel.unsubscribe(on_change)

    def close(self) -> None:
        """Close all connections."""
        self.closed.set()
        self._wake.set()
        with self._starting:
            for daemon in self._balancer.daemons:
                daemon.close()

    def _start(self) -> None:
        if self._balancer.daemons:
            return
        with self._starting:
            if not self._balancer.daemons:
                self._update(find_daemons(self.config))
                if self.config.has_names:
                    threading.Thread(target=self._follow_names, daemon=True).start()

    def _update(self, addresses: tuple[DaemonAddress, ...]) -> None:
        for daemon in self._balancer.update(addresses, self._connect):
            if daemon.address.health_checked:
                threading.Thread(target=self._follow_load, args=(daemon,), daemon=True).start()

    def _connect(self, address: DaemonAddress) -> Daemon:
        return Daemon(address, lambda: open_channel(self.config, address), lambda channel: channel.close())

    def _follow_names(self) -> None:
        while not self.closed.wait(PAUSE_SECONDS):
            self._wake.wait(RESOLVE_SECONDS)
            self._wake.clear()
            found = find_daemons(self.config)
            with self._starting:
                if are_found(found) and not self.closed.is_set():  # else those known before may well be there
                    self._update(found)

    def _follow_load(self, daemon: Daemon) -> None:
        while not (self.closed.is_set() or daemon.is_removed):
            try:
                for load in self._loads(daemon):
                    daemon.report(load)
            except grpc.RpcError as error:
                daemon.forget_load()
                if not is_worth_watching(error):
                    return
            except ValueError:  # the channel is closed
                return
            self.closed.wait(PAUSE_SECONDS)

    def _loads(self, daemon: Daemon) -> Any:
        request = engine_pb2.WatchLoadRequest()
        return daemon.connections.first.engine.WatchLoad(
            request, timeout=WATCH_SECONDS, metadata=self.config.metadata, wait_for_ready=True
        )


class AsyncDaemonSet(AnyDaemonSet):
    """The daemons of an asyncio client. Tasks watch loads and names, if there are several daemons."""

    def __init__(self, config: ChannelConfig) -> None:
        self.config = config
        self.closed = asyncio.Event()
        self._balancer = Balancer()
        self._wake: asyncio.Event = asyncio.Event()
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Future[Any]] = set()
        if len(config.addresses) == 1 and not config.has_names:
            self._update(config.addresses)

    async def call(self) -> Lease:
        """The daemon for a call."""
        await self._start()
        return self._balancer.lease_call()

    async def game(self) -> Lease:
        """The daemon for a game."""
        await self._start()
        return self._balancer.lease_game()

    async def are_many(self) -> bool:
        """Whether there are several daemons now."""
        await self._start()
        return len(self._balancer.daemons) > 1

    async def any_serving(self) -> AsyncGenerator[bool, None]:
        """Whether any of the daemons there are now serves: now, and again at each change."""
        told = None
        while True:
            states = [(each.channel, each.channel.get_state(try_to_connect=True)) for each in self._balancer.daemons]
            if (is_any := any(state is READY for _, state in states)) != told:
                told = is_any
                yield is_any
            changes = [asyncio.ensure_future(channel.wait_for_state_change(state)) for channel, state in states]
            try:
                await asyncio.wait(changes, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for change in changes:
                    change.cancel()

    async def close(self) -> None:
        """Close all connections."""
        self.closed.set()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for daemon in self._balancer.daemons:
            for connection in daemon.connections.all:
                await connection.channel.close()

    async def _start(self) -> None:
        if self._balancer.daemons:
            return
        async with self._starting:
            if not self._balancer.daemons:
                self._update(await asyncio.to_thread(find_daemons, self.config))
                if self.config.has_names:
                    self._begin(self._follow_names())

    def _update(self, addresses: tuple[DaemonAddress, ...]) -> None:
        for daemon in self._balancer.update(addresses, self._connect):
            if daemon.address.health_checked:
                self._begin(self._follow_load(daemon))

    def _connect(self, address: DaemonAddress) -> Daemon:
        return Daemon(
            address,
            lambda: open_async_channel(self.config, address),
            lambda channel: self._begin(channel.close()),
        )

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow_names(self) -> None:
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), RESOLVE_SECONDS)
            self._wake.clear()
            found = await asyncio.to_thread(find_daemons, self.config)
            if are_found(found):  # else those known before may well be there
                self._update(found)

    async def _follow_load(self, daemon: Daemon) -> None:
        while not daemon.is_removed:
            request = engine_pb2.WatchLoadRequest()
            try:
                async for load in daemon.connections.first.engine.WatchLoad(
                    request, timeout=WATCH_SECONDS, metadata=self.config.metadata, wait_for_ready=True
                ):
                    daemon.report(load)
            except grpc.RpcError as error:
                daemon.forget_load()
                if not is_worth_watching(error):
                    return
            await asyncio.sleep(PAUSE_SECONDS)

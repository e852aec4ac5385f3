"""What all services of one daemon share: engines, slots, limits, and whether it is coming, there, or going."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.servers.scheduler import Scheduler

MOST_BATCHES = 1024  # of all Evaluate streams together, waiting for a core


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a daemon takes on."""

    slots: int
    queue_size: int = 64
    max_sessions: int = 256
    max_batch_bytes: int = 1 << 19  # even if each line is malformed, the answer is below the 4 MiB of a stock client
    max_message_bytes: int = 4 << 20


class Runtime:
    """Shared by the services of one daemon."""

    def __init__(self, engines: Mapping[str, Engine], capacity: Capacity) -> None:
        self.engines = engines
        self.capacity = capacity
        self.searches = Scheduler("search", capacity.slots, capacity.queue_size)
        self.evaluations = Scheduler("evaluate", capacity.slots, MOST_BATCHES)  # short, so never behind a long search
        self._settled = asyncio.Event()  # ready, or going
        self.draining = asyncio.Event()
        self.calls = 0
        self._no_calls = asyncio.Event()
        self._no_calls.set()
        self._sessions = 0

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Count a call as under way."""
        self.calls += 1
        self._no_calls.clear()
        try:
            yield
        finally:
            self.calls -= 1
            if self.calls == 0:
                self._no_calls.set()

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Count a Play stream; refuse it if there are too many."""
        if self._sessions >= self.capacity.max_sessions:
            raise Overloaded(f"{self._sessions} games are open, the most allowed; try again later", 1.0)
        self._sessions += 1
        try:
            yield
        finally:
            self._sessions -= 1

    def set_ready(self) -> None:
        """The engines are warm."""
        self._settled.set()

    async def until_ready(self) -> None:
        """Wait until the engines are warm."""
        await self._settled.wait()
        if self.draining.is_set():
            raise ShuttingDown("the daemon is shutting down")

    def drain(self) -> None:
        """Begin to go: stop searches, turn new ones away."""
        self.draining.set()
        self._settled.set()
        self.searches.drain()
        self.evaluations.drain()

    async def until_idle(self) -> None:
        """Wait until no call is under way and no thread is at work."""
        await self._no_calls.wait()
        await self.searches.until_idle()
        await self.evaluations.until_idle()

    def close(self) -> None:
        """Let the threads go."""
        self.searches.close()
        self.evaluations.close()

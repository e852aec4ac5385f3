"""What all services of one daemon share: engines, slots, limits, and whether it is coming, there, or going."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.servers.access.auth import Gate
from plyd.servers.access.quotas import Memory
from plyd.servers.search.scheduler import Scheduler
from plyd.servers.telemetry.log import Journal
from plyd.servers.telemetry.observer import Observer

if TYPE_CHECKING:
    from plyd.servers.telemetry.tracing import Tracing

MOST_BATCHES = 1024  # of all Evaluate streams together, waiting for a core


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a daemon takes on."""

    slots: int
    queue_size: int = 64
    max_sessions: int = 256
    memory_mb: int | None = None  # that all searchers together may hold
    connection_seconds: float | None = None  # that a connection may take before it has to begin anew
    max_batch_bytes: int = 1 << 19  # even if each line is malformed, the answer is below the 4 MiB of a stock client
    max_message_bytes: int = 4 << 20


class Runtime:
    """Shared by the services of one daemon."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        capacity: Capacity,
        gate: Gate | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        self.engines = engines
        self.capacity = capacity
        self.gate = gate or Gate()
        self.memory = Memory(capacity.memory_mb)
        self.observer = Observer(tracing)
        self.searches = Scheduler("search", capacity.slots, capacity.queue_size)
        self.evaluations = Scheduler("evaluate", capacity.slots, MOST_BATCHES)  # short, so never behind a long search
        self._settled = asyncio.Event()  # ready, or going
        self.draining = asyncio.Event()
        self.calls = 0
        self._no_calls = asyncio.Event()  # set while the daemon goes
        self.journal = Journal()
        self.sessions = 0  # Play streams open now

    def call_begins(self) -> None:
        """Count a call as under way."""
        self.calls += 1

    def call_ends(self) -> None:
        """Count a call no more."""
        self.calls -= 1
        if self.calls == 0 and self.draining.is_set():
            self._no_calls.set()

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Count a Play stream; refuse it if there are too many."""
        if self.sessions >= self.capacity.max_sessions:
            raise Overloaded(f"{self.sessions} games are open, the most allowed; try again later", 1.0, "sessions")
        self.sessions += 1
        try:
            yield
        finally:
            self.sessions -= 1

    @property
    def is_ready(self) -> bool:
        """Whether the engines are warm and the daemon is not on its way out."""
        return self._settled.is_set() and not self.draining.is_set()

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
        if self.calls == 0:
            self._no_calls.set()
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
        self.journal.write()
        self.searches.close()
        self.evaluations.close()

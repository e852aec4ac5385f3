"""What all services of one daemon share: engines, slots, quotas, and whether it is starting, ready or draining."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.servers.access.auth import Authenticator
from plyd.servers.access.memory import MemoryPool
from plyd.servers.search.engine_parts import EngineParts
from plyd.servers.search.known.reports import BoundedTable, KnownReports
from plyd.servers.search.known.store import ReportStore
from plyd.servers.search.rules_pool import RulesPool
from plyd.servers.search.slots.scheduler import Scheduler
from plyd.servers.search.slots.turns import CallTurns
from plyd.servers.telemetry.log import RequestLog
from plyd.servers.telemetry.observer import Observer

if TYPE_CHECKING:
    from plyd.servers.telemetry.tracing import Tracing

MAX_WAITING_BATCHES = 1024  # of all Evaluate streams together
MAX_WAITING_RULES = 256  # questions about rules that wait for a thread, besides one of each open game
BUSY_RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a daemon does at once."""

    slots: int
    queue_size: int = 64
    max_sessions: int = 256
    memory_mb: int | None = None  # for all searchers together
    connection_seconds: float | None = None  # maximum age of a connection
    max_batch_bytes: int = 1 << 19  # so the answer fits in a stock client's 4 MiB even if every line is malformed
    max_message_bytes: int = 160 << 10  # of others than batches: 20,000 moves; decoded, it may be 20 times as big
    max_streams: int = 100  # calls at once on one connection
    max_calls: int = 2048  # at once, besides searches that run or wait and open games

    @property
    def most_calls(self) -> int:
        """Calls accepted at once."""
        return self.max_calls + self.slots + self.queue_size + self.max_sessions

    @property
    def most_bytes(self) -> int:
        """Size of the largest message that is received: twice the largest batch, so that such a one hears the limit."""
        return max(self.max_message_bytes, 2 * self.max_batch_bytes)


class KnownAnswer(NamedTuple):
    """The encoded response to a known question, and its game."""

    response: bytes
    game: str


class Runtime:
    """Shared by the services of one daemon."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        capacity: Capacity,
        auth: Authenticator | None = None,
        tracing: "Tracing | None" = None,
        store: ReportStore | None = None,
    ) -> None:
        self.engines = engines
        self.capacity = capacity
        self.auth = auth or Authenticator()
        self.turns = CallTurns()
        self.memory = MemoryPool(capacity.memory_mb)
        self.observer = Observer(tracing)
        self.request_log = RequestLog()
        self.searches = Scheduler("search", capacity.slots, capacity.queue_size)
        self.evaluations = Scheduler(  # never behind a long search
            "evaluate", capacity.slots, MAX_WAITING_BATCHES, can_pause=False
        )
        self.parts = EngineParts(engines)
        self.rules = RulesPool(MAX_WAITING_RULES + capacity.max_sessions)
        self.known_reports = KnownReports(store=store)
        self.known_answers: BoundedTable[bytes, KnownAnswer] = BoundedTable()  # by the bytes of a SearchRequest
        self.addresses: list[str] = []  # where it listens, as clients write it
        self.draining = asyncio.Event()
        self.accepted = 0  # calls that have not ended, including those whose message has not arrived
        self.calls = 0  # running now
        self.sessions = 0  # Play streams open now
        self._most_calls = capacity.most_calls
        self._started = asyncio.Event()  # ready or draining
        self._no_calls = asyncio.Event()  # set only while draining

    def accept(self, task: "asyncio.Task[Any]") -> None:
        """Count a call as accepted until its task ends."""
        self.accepted += 1
        task.add_done_callback(self._accepted_ended)

    def _accepted_ended(self, _: "asyncio.Task[Any]") -> None:
        self.accepted -= 1

    def check_room(self, *, is_admitted: bool) -> None:
        """Raise Overloaded if too many calls are accepted. Half of the room is only for callers that are admitted."""
        most = self._most_calls if is_admitted else self._most_calls // 2
        if self.accepted > most:
            raise Overloaded(
                f"{most} calls are being answered, the most allowed; try again later", BUSY_RETRY_SECONDS, "calls"
            )

    def call_begins(self) -> None:
        """Count a call as running."""
        self.calls += 1

    def call_ends(self) -> None:
        """Count a call as ended."""
        self.calls -= 1
        if self.calls == 0 and self.draining.is_set():
            self._no_calls.set()

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Count an open Play stream; raises Overloaded if there are too many."""
        if self.sessions >= self.capacity.max_sessions:
            raise Overloaded(f"{self.sessions} games are open, the most allowed; try again later", 1.0, "sessions")
        self.sessions += 1
        try:
            yield
        finally:
            self.sessions -= 1

    @property
    def is_ready(self) -> bool:
        """Whether the engines are warm and the daemon is not draining."""
        return self._started.is_set() and not self.draining.is_set()

    def set_ready(self) -> None:
        """The engines are warm: let calls begin."""
        self._started.set()

    async def until_ready(self) -> None:
        """Wait until the engines are warm; raises ShuttingDown if the daemon stops instead."""
        await self._started.wait()
        if self.draining.is_set():
            raise ShuttingDown("the daemon is shutting down")

    def drain(self) -> None:
        """Stop all searches and refuse new ones."""
        self.draining.set()
        if self.calls == 0:
            self._no_calls.set()
        self._started.set()
        self.searches.drain()
        self.evaluations.drain()

    async def until_idle(self) -> None:
        """Wait until no call and no thread is running."""
        await self._no_calls.wait()
        await self.searches.until_idle()
        await self.evaluations.until_idle()

    def close(self) -> None:
        """Write the rest of the log and of the store, and end the threads."""
        self.request_log.write()
        self.known_reports.close()
        self.searches.close()
        self.evaluations.close()
        self.rules.close()
        self.parts.close()

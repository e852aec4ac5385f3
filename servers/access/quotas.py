"""Quotas: what one client may use at the same time, and what it uses now."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from plyd.engines.core.errors import Overloaded

ROUNDING_SECONDS = 1e-6
RETRY_SECONDS = 0.5  # retry hint when a client runs too much at once: nobody knows when one of its searches ends


@dataclass(frozen=True, slots=True)
class Quotas:
    """Limits of one client; None is no limit."""

    searches: int | None = None  # concurrent, including those that wait for a slot
    sessions: int | None = None  # open games
    move_seconds: float | None = None  # of one search
    requests_per_second: float | None = None
    memory_mb: int | None = None  # of all its searchers together


def quota_exceeded(message: str, retry_seconds: float = RETRY_SECONDS) -> Overloaded:
    """The error for a request beyond a client's quotas."""
    return Overloaded(f"{message}; try again later", retry_seconds, "client_limit")


class MemoryPool:
    """Megabytes that searchers share. Safe to use from several threads."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.used = 0
        self._lock = threading.Lock()

    def take(self, wanted: int, least: int) -> int:
        """Megabytes reserved: what is wanted or what is left, or 0 if less than `least` is left."""
        with self._lock:
            given = wanted if self.limit is None else min(wanted, self.limit - self.used)
            if given < least:
                return 0
            self.used += given
            return given

    def give_back(self, megabytes: int) -> None:
        """Return megabytes that were reserved."""
        with self._lock:
            self.used -= megabytes


class MemoryGrant:
    """The megabytes of one searcher, reserved in the daemon's pool and in its client's."""

    def __init__(self, daemon: MemoryPool, client: MemoryPool) -> None:
        self._pools = (daemon, client)
        self._held = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def take(self, wanted: int, least: int) -> int:
        """Megabytes for the searcher; Overloaded if less than `least` is left. Called by the search's thread."""
        with self._lock:
            if self._is_closed:
                raise quota_exceeded("the caller has left")
            daemon, client = self._pools
            given = daemon.take(wanted, least)
            allowed = client.take(given, least) if given else 0
            daemon.give_back(given - allowed)
            if not allowed:
                raise quota_exceeded(f"the search needs {least} MB of memory, which are not free")
            self._held = allowed
            return allowed

    def release(self) -> None:
        """Give all of it back, for good: nothing can be taken afterwards."""
        with self._lock:
            self._is_closed = True
            for pool in self._pools:
                pool.give_back(self._held)
            self._held = 0


class Client:
    """A caller: its name, its quotas, and what it uses now."""

    def __init__(self, name: str, quotas: Quotas | None = None, *, is_known: bool = False) -> None:
        self.name = name
        self.is_known = is_known  # listed in the clients file, not only known by its network address
        self.memory = MemoryPool()
        self._searches = 0
        self._sessions = 0
        self._next_request = 0.0  # earliest time of the next request, on the monotonic clock
        self.set_quotas(quotas or Quotas())

    def set_quotas(self, quotas: Quotas) -> None:
        """Change the quotas; what is in use stays in use."""
        self.quotas = quotas
        self.memory.limit = quotas.memory_mb

    @property
    def is_idle(self) -> bool:
        """Whether this client may be forgotten: it uses nothing and its request rate is not exceeded."""
        return not (self._searches or self._sessions or self.memory.used) and time.monotonic() >= self._next_request

    def count_request(self) -> None:
        """Count a request; raise Overloaded if they come too fast. A burst of one second's worth is allowed."""
        if self.quotas.requests_per_second is None:
            return
        early = self._early_seconds()
        if early > 0:
            rate = self.quotas.requests_per_second
            raise quota_exceeded(f"{self.name} may send {rate:g} requests a second", early)
        self._schedule_next_request()

    async def pace(self) -> None:
        """Count a message of a stream; wait if they come too fast."""
        if self.quotas.requests_per_second is None:
            return
        early = self._early_seconds()
        self._schedule_next_request()
        if early > 0:
            await asyncio.sleep(early)

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Count a search while it waits and runs; raise Overloaded if there are too many."""
        limit = self.quotas.searches
        if limit is not None and self._searches >= limit:
            raise quota_exceeded(f"{self.name} may have {limit} searches at once")
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Count an open game; raise Overloaded if there are too many."""
        limit = self.quotas.sessions
        if limit is not None and self._sessions >= limit:
            raise quota_exceeded(f"{self.name} may have {limit} open games")
        self._sessions += 1
        try:
            yield
        finally:
            self._sessions -= 1

    def _early_seconds(self) -> float:
        """How much too early a request is now; 0 or less if it is not."""
        assert self.quotas.requests_per_second is not None
        interval = 1 / self.quotas.requests_per_second
        allowed = max(0.0, 1.0 - interval) + ROUNDING_SECONDS
        return self._next_request - time.monotonic() - allowed

    def _schedule_next_request(self) -> None:
        assert self.quotas.requests_per_second is not None
        self._next_request = max(self._next_request, time.monotonic()) + 1 / self.quotas.requests_per_second

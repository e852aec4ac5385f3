"""Quotas: what one client may use at the same time, and what it uses now."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from plyd.servers.access.memory import MemoryPool, quota_exceeded

ROUNDING_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Quotas:
    """Limits of one client; None is no limit."""

    searches: int | None = None  # concurrent, including those that wait for a slot
    sessions: int | None = None  # open games
    move_seconds: float | None = None  # of one search
    requests_per_second: float | None = None
    memory_mb: int | None = None  # of all its searchers together


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

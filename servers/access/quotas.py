"""What one client may have at once, and what it has now."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from plyd.engines.core.errors import Overloaded

ROUNDING_SECONDS = 1e-6
BUSY_SECONDS = 0.5  # when to try again after too many at once: nobody knows when one of them ends


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a client may have; None is as much as there is."""

    searches: int | None = None  # at once, waiting ones too
    sessions: int | None = None  # open games
    move_seconds: float | None = None  # of one search
    requests_per_second: float | None = None
    memory_mb: int | None = None  # that its searchers may hold


def too_much(message: str, retry_seconds: float = BUSY_SECONDS) -> Overloaded:
    """The refusal of what a client may not have now."""
    return Overloaded(f"{message}; try again later", retry_seconds, "client_limit")


class Memory:
    """Megabytes given out to searchers. Threads may share it."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.held = 0
        self._lock = threading.Lock()

    def take(self, wanted: int, least: int) -> int:
        """Megabytes now held for somebody: what is wanted or what is left, but 0 if that is below the least."""
        with self._lock:
            given = wanted if self.most is None else min(wanted, self.most - self.held)
            if given < least:
                return 0
            self.held += given
            return given

    def give_back(self, megabytes: int) -> None:
        """Somebody needs them no more."""
        with self._lock:
            self.held -= megabytes


class Share:
    """Megabytes of one searcher, of what the daemon has and of what its client may have."""

    def __init__(self, daemon: Memory, client: Memory) -> None:
        self._sources = (daemon, client)
        self._held = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def take(self, wanted: int, least: int) -> int:
        """Megabytes for the searcher; Overloaded if less than the least is left. Called by the search's thread."""
        with self._lock:
            if self._is_closed:
                raise too_much("the caller has left")
            daemon, client = self._sources
            given = daemon.take(wanted, least)
            allowed = client.take(given, least) if given else 0
            daemon.give_back(given - allowed)
            if not allowed:
                raise too_much(f"{least} MB are wanted for a search, and not free")
            self._held = allowed
            return allowed

    def give_back(self) -> None:
        """The searcher is gone; there will be no other."""
        with self._lock:
            self._is_closed = True
            for source in self._sources:
                source.give_back(self._held)
            self._held = 0


class Client:
    """A caller: who it is, what it may have and what it has now."""

    def __init__(self, name: str, allowance: Allowance | None = None, *, is_known: bool = False) -> None:
        self.name = name
        self.is_known = is_known  # by the file of clients, not only by its address
        self.memory = Memory()
        self._searches = 0
        self._sessions = 0
        self._due = 0.0  # when the next request may come, by the monotonic clock
        self.allow(allowance or Allowance())

    def allow(self, allowance: Allowance) -> None:
        """Change what it may have; what it has stays."""
        self.allowance = allowance
        self.memory.most = allowance.memory_mb

    @property
    def is_idle(self) -> bool:
        """Whether nothing needs to be remembered about it."""
        return not (self._searches or self._sessions or self.memory.held) and time.monotonic() >= self._due

    def request(self) -> None:
        """Count a request; refuse it if they come too fast. A burst of one second's worth is forgiven."""
        if self.allowance.requests_per_second is None:
            return
        early = self._early_seconds()
        if early > 0:
            rate = self.allowance.requests_per_second
            raise too_much(f"{self.name} may send {rate:g} requests a second", early)
        self._count_request()

    async def pace(self) -> None:
        """Count a message of a stream; wait with it if they come too fast."""
        if self.allowance.requests_per_second is None:
            return
        early = self._early_seconds()
        self._count_request()
        if early > 0:
            await asyncio.sleep(early)

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Count a search while it waits and runs; refuse it if there are too many."""
        most = self.allowance.searches
        if most is not None and self._searches >= most:
            raise too_much(f"{self.name} may have {most} searches at once")
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Count an open game; refuse it if there are too many."""
        most = self.allowance.sessions
        if most is not None and self._sessions >= most:
            raise too_much(f"{self.name} may have {most} open games")
        self._sessions += 1
        try:
            yield
        finally:
            self._sessions -= 1

    def _early_seconds(self) -> float:
        """How much too early a request is now; 0 or less if it is not."""
        assert self.allowance.requests_per_second is not None
        apart = 1 / self.allowance.requests_per_second
        forgiven = max(0.0, 1.0 - apart) + ROUNDING_SECONDS
        return self._due - time.monotonic() - forgiven

    def _count_request(self) -> None:
        assert self.allowance.requests_per_second is not None
        self._due = max(self._due, time.monotonic()) + 1 / self.allowance.requests_per_second

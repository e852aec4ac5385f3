"""Memory of searchers: a pool for the whole daemon, one for each client, and the grants taken from them.

A running search is charged with its whole grant, an idle game with what its searcher has touched. If a search needs
more than is free, the games that have been idle longest give up their searchers, and make new ones when they search
again.
"""

import threading

from plyd.engines.core.errors import Overloaded
from plyd.engines.core.search import Searcher

UNLIMITED = 2**40  # megabytes
RETRY_SECONDS = 0.5  # retry hint: nobody knows when a search ends, or memory comes free
_lock = threading.Lock()  # of all pools and grants in this process: each grant is in two pools


def quota_exceeded(message: str, retry_seconds: float = RETRY_SECONDS) -> Overloaded:
    """The error for a request beyond what a client may use, or beyond the memory that is left."""
    return Overloaded(f"{message}; try again later", retry_seconds, "client_limit")


class MemoryPool:
    """Megabytes that searchers share."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.used = 0
        self.dropped = 0  # searchers that were given up for others
        self.idle: dict[MemoryGrant, None] = {}  # the longest idle first

    @property
    def free(self) -> int:
        """Megabytes that nobody is charged with; below 0 after the limit was lowered."""
        return (UNLIMITED if self.limit is None else self.limit) - self.used

    @property
    def available(self) -> int:
        """Megabytes that are free or belong to idle games."""
        return self.free + sum(grant.charged for grant in self.idle)

    def share(self, searches: int) -> int:
        """Megabytes for each of some searches."""
        return UNLIMITED if self.limit is None else self.limit // searches


class MemoryGrant:
    """The searcher of one game, and its megabytes in the daemon's pool and in its client's. Safe in any thread."""

    def __init__(self, daemon: MemoryPool, client: MemoryPool) -> None:
        self.searcher: Searcher | None = None
        self.charged = 0
        self._daemon, self._client = daemon, client
        self._granted = 0
        self._is_closed = False
        self._has_lost = False

    def take(self, wanted: int, least: int) -> int:
        """Megabytes for a search, which are charged until `rest`.

        A game that has a searcher gets what it had. A new searcher gets what is wanted, but at least `least` and no
        more than half of what the daemon has left, so that something is left for a search which takes turns with it.
        Raises Overloaded if even that is not free; then nobody loses anything.
        """
        lost: list[Searcher | None] = []  # freed when this returns, without the lock
        with _lock:
            if self._is_closed:
                raise quota_exceeded("the caller has left")
            self._set_idle(False)
            if not self._fits(self._granted) and self._fits(least):
                self._lose(lost)
            megabytes = self._granted or self._offer(wanted, least)
            if not self._fits(megabytes):
                self._set_idle(self._granted > 0)
                raise quota_exceeded(f"the search needs {megabytes} MB of memory, which are not free")
            self._reclaim(megabytes, lost)
            self._granted = megabytes
            self._charge(megabytes)
            return megabytes

    def rest(self, touched: int) -> None:
        """The search is over: from now on the game is charged with what its searcher has touched."""
        with _lock:
            if not self._is_closed:
                self._charge(min(touched, self._granted))
                self._set_idle(True)

    def has_lost(self) -> bool:
        """Whether the game has lost its searcher since it was last asked."""
        with _lock:
            has_lost, self._has_lost = self._has_lost, False
            return has_lost

    def release(self) -> Searcher | None:
        """Give all of it back, for good: nothing can be taken afterwards. Returns the searcher, to be freed."""
        with _lock:
            self._is_closed = True
            self._set_idle(False)
            self._charge(0)
            searcher, self.searcher = self.searcher, None
            return searcher

    def _offer(self, wanted: int, least: int) -> int:
        """Megabytes for a new searcher."""
        most = self._daemon.available // 2 if least < wanted else wanted
        return min(wanted, max(least, min(most, self._client.available)))

    def _fits(self, megabytes: int) -> bool:
        """Whether so much can be charged if idle games give up theirs."""
        return min(self._client.available, self._daemon.available) + self.charged >= megabytes

    def _reclaim(self, megabytes: int, lost: list[Searcher | None]) -> None:
        """Have the longest idle games give up their searchers until so much can be charged.

        A client that is short of its own memory takes it from its own games.
        """
        for pool in (self._client, self._daemon):
            for grant in list(pool.idle):
                if pool.free >= megabytes - self.charged:
                    break
                if grant.charged:
                    grant._lose(lost)

    def _lose(self, lost: list[Searcher | None]) -> None:
        lost.append(self.searcher)
        self.searcher, self._granted, self._has_lost = None, 0, True
        self._set_idle(False)
        self._charge(0)
        self._daemon.dropped += 1

    def _charge(self, megabytes: int) -> None:
        for pool in (self._daemon, self._client):
            pool.used += megabytes - self.charged
        self.charged = megabytes

    def _set_idle(self, is_idle: bool) -> None:
        for pool in (self._daemon, self._client):
            pool.idle.pop(self, None)
            if is_idle:
                pool.idle[self] = None

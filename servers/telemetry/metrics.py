"""What a daemon counts, cheaply: plain numbers, which `exporter` turns into Prometheus metrics when somebody asks.

Calls are counted by the event loop's thread alone, so they need no lock; searches by their own threads, so they do.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
LATE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
SHED_REASONS = ("queue_full", "no_slot_in_time", "sessions", "client_limit")


class Tally:
    """A histogram: how many values lie at or below each bound and above the one before, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last: above every bound
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Tallies(dict[str, Tally]):
    """Tallies by a name, each made when it is first asked for."""

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__()
        self._bounds = bounds

    def __missing__(self, name: str) -> Tally:
        tally = self[name] = Tally(self._bounds)
        return tally


class Metrics:
    """The counts of one daemon, from its start on."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, str], Tally] = {}  # seconds, by method, status and client ("": no name)
        self.sheds = Counter(dict.fromkeys(SHED_REASONS, 0))
        self.searches: Counter[tuple[str, str]] = Counter()  # by game and stop reason
        self.nodes: Counter[str] = Counter()  # by game
        self.search_seconds = Tallies(SECONDS)  # these three by game
        self.wait_seconds = Tallies(SECONDS)
        self.late_seconds = Tallies(LATE_SECONDS)
        self._lock = threading.Lock()

    def call_ended(self, method: str, status: str, client: str, seconds: float) -> None:
        """A call has been answered, one way or another."""
        tally = self.requests.get((method, status, client))
        if tally is None:
            tally = self.requests[method, status, client] = Tally(SECONDS)
        tally.add(seconds)

    def shed(self, reason: str) -> None:
        """Somebody was turned away, since there was too much to do."""
        self.sheds[reason] += 1

    def search_went_on(self, game: str, nodes: int) -> None:
        """A search has done so many nodes more."""
        with self._lock:
            self.nodes[game] += nodes

    def search_ended(
        self, game: str, reason: str, waited_seconds: float, seconds: float, late_seconds: float | None
    ) -> None:
        """A search has ended; `late_seconds` after its time was up, None if that did not end it."""
        with self._lock:
            self.searches[game, reason] += 1
            self.wait_seconds[game].add(waited_seconds)
            self.search_seconds[game].add(seconds)
            if late_seconds is not None:
                self.late_seconds[game].add(late_seconds)

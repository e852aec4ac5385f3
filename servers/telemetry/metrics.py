"""What a daemon counts: plain numbers, which `exporter` turns into Prometheus metrics when they are read.

Calls are counted only by the event loop's thread and need no lock; searches are counted by their own threads.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
LATE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
SHED_REASONS = ("queue_full", "no_slot_in_time", "sessions", "client_limit", "calls", "rules")


class Histogram:
    """The number of values at or below each bound and above the one before, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)  # the last one: above every bound
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Histograms(dict[str, Histogram]):
    """Histograms by name, each made on first use."""

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__()
        self._bounds = bounds

    def __missing__(self, name: str) -> Histogram:
        histogram = self[name] = Histogram(self._bounds)
        return histogram


class Metrics:
    """The counts of one daemon since its start."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, str], Histogram] = {}  # by method, status, client ("": no name)
        self.sheds = Counter(dict.fromkeys(((reason, "") for reason in SHED_REASONS), 0))  # by reason and client
        self.searches: Counter[tuple[str, str]] = Counter()  # by game and stop reason
        self.nodes: Counter[str] = Counter()  # by game
        self.known: Counter[str] = Counter()  # questions answered without a search, by game; event loop only
        self.search_seconds = Histograms(SECONDS)  # these three by game
        self.wait_seconds = Histograms(SECONDS)
        self.late_seconds = Histograms(LATE_SECONDS)
        self._lock = threading.Lock()

    def call_ended(self, method: str, status: str, client: str, seconds: float) -> None:
        """Count a call that has ended."""
        histogram = self.requests.get((method, status, client))
        if histogram is None:
            histogram = self.requests[method, status, client] = Histogram(SECONDS)
        histogram.add(seconds)

    def shed(self, reason: str, client: str = "") -> None:
        """Count a request that was refused for lack of capacity."""
        self.sheds[reason, client] += 1

    def search_went_on(self, game: str, nodes: int) -> None:
        """Count further nodes of a search."""
        with self._lock:
            self.nodes[game] += nodes

    def search_ended(
        self, game: str, reason: str, waited_seconds: float, seconds: float, late_seconds: float | None
    ) -> None:
        """Count a search that has ended, `late_seconds` after its time limit; None if the limit did not end it."""
        with self._lock:
            self.searches[game, reason] += 1
            self.wait_seconds[game].add(waited_seconds)
            self.search_seconds[game].add(seconds)
            if late_seconds is not None:
                self.late_seconds[game].add(late_seconds)

"""Admission: a search may wait for a slot only if one is likely to come free in time.

A search with a time limit and a slot ends when its time is over. So the running and waiting searches tell when slots
come free:

    slot 1   [running, due at 40 ms][first in the queue, due at 90 ms][second ...
    slot 2   [running, due at 60 ms][newcomer?
                                    ^ starts at 60 ms; if that leaves it too little time, it is refused now

Many searches end long before their limit, and the picture above would be far too pessimistic for them. A search is
therefore expected to take no longer than is usual or, once it has taken longer, twice as long as it has taken so far.
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

USEFUL_SHARE = 0.25  # share of a search's time that must be left when it gets its slot


@dataclass(frozen=True, slots=True)
class WaitBudget:
    """Arrival time of a request on the monotonic clock, and the seconds it may spend waiting and searching."""

    arrived: float
    max_wait: float | None

    @property
    def due(self) -> float:
        """When its time is over."""
        return math.inf if self.max_wait is None else self.arrived + self.max_wait

    @property
    def latest_start(self) -> float:
        """When its slot has to come to leave enough time for a useful search."""
        return math.inf if self.max_wait is None else self.due - USEFUL_SHARE * self.max_wait


def expected_end(budget: WaitBudget, began: float, usual_seconds: float, now: float) -> float:
    """When a running search is likely to end."""
    return min(max(now, budget.due), began + max(usual_seconds, 2 * (now - began)))


def expected_starts(ends: Iterable[float], queue: Iterable[WaitBudget], usual_seconds: float) -> list[float]:
    """When each request in the queue gets a slot, in order; `ends` has the expected end of each slot's current job."""
    slots = list(ends)
    heapq.heapify(slots)
    starts = []
    for budget in queue:
        starts.append(slots[0])
        heapq.heapreplace(slots, max(slots[0], min(budget.due, slots[0] + usual_seconds)))
    return starts

"""Who is let in to wait for a slot: only one whom a slot comes to in time, as far as can be told.

Whoever has a time limit and a slot is done when its time is over, so what runs and waits tells when slots come free:

    slot 1   [running, due at 40 ms][first in the queue, due at 90 ms][second ...
    slot 2   [running, due at 60 ms][newcomer?
                                    ^ starts at 60 ms; if that leaves it too little of its time, it is refused now

Searches that are over long before their limit would make that far too dark a picture, so a search is expected to take
no longer than is usual, or, once it has taken longer, as long again.
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

USEFUL_SHARE = 0.25  # of a search's time that has to be left when its slot comes; with less it had better go elsewhere


@dataclass(frozen=True, slots=True)
class Stay:
    """How long somebody may be here: arrived, and with how much time; both in seconds, on the monotonic clock."""

    arrived: float
    patience: float | None

    @property
    def due(self) -> float:
        """When its time is over."""
        return math.inf if self.patience is None else self.arrived + self.patience

    @property
    def latest_start(self) -> float:
        """When its slot has to come for a search that is worth while."""
        return math.inf if self.patience is None else self.due - USEFUL_SHARE * self.patience


def expected_end(stay: Stay, began: float, usual_seconds: float, now: float) -> float:
    """When a search that runs is likely to be over."""
    return min(max(now, stay.due), began + max(usual_seconds, 2 * (now - began)))


def expected_starts(ends: Iterable[float], queue: Iterable[Stay], usual_seconds: float) -> list[float]:
    """When each of those in the queue gets a slot, first come first; `ends` has the end of what each slot does now."""
    slots = list(ends)
    heapq.heapify(slots)
    starts = []
    for stay in queue:
        starts.append(slots[0])
        heapq.heapreplace(slots, max(slots[0], min(stay.due, slots[0] + usual_seconds)))
    return starts

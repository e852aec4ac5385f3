"""A job: one search on its way through the scheduler."""

import asyncio
import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from plyd.engines.core.intrinsics import Stop

USEFUL_SHARE = 0.25  # share of a search's time that must be left when it gets its slot
NO_LIMIT_URGENCY_SECONDS = 60.0  # a job without a time limit queues as if it had this one


class Priority(IntEnum):
    """Which job goes first when a slot comes free."""

    NORMAL = 0
    BACKGROUND = 1  # an analysis without limits: pauses as soon as a normal job needs its slot
    PONDER = 2  # ends when any other job needs its slot


@dataclass(frozen=True, slots=True)
class WaitBudget:
    """Arrival time of a request on the monotonic clock, and the seconds it may spend waiting and searching.

    It may wait for `max_wait` seconds; `seconds` is its time limit, if that is shorter.
    """

    arrived: float
    max_wait: float | None
    seconds: float | None = None

    @property
    def due(self) -> float:
        """When its time is over."""
        limit = self.max_wait if self.seconds is None else self.seconds
        return math.inf if limit is None else self.arrived + limit

    @property
    def latest_start(self) -> float:
        """When its slot has to come to leave enough time for a useful search."""
        return math.inf if self.max_wait is None else self.arrived + (1 - USEFUL_SHARE) * self.max_wait

    @property
    def urgency(self) -> float:
        """Its place among the jobs of its client: the smallest goes first."""
        return self.arrived + NO_LIMIT_URGENCY_SECONDS if self.max_wait is None else self.due


@dataclass(slots=True, eq=False)
class Job:
    """A job that waits for a slot, has one, or has given it up for a while."""

    number: int  # in the order of arrival
    stop: Stop
    client: str
    priority: Priority
    budget: WaitBudget
    granted: asyncio.Future[None]  # done when the job has its first slot
    future: asyncio.Future[Any] | None = None  # of its thread, once it has begun
    began: float = 0.0
    slice_began: float = 0.0  # when it got its slot, or got it back
    seconds: float = 0.0  # in a slot, up to its last pause
    is_paused: bool = False

    @property
    def account(self) -> tuple[Priority, str]:
        """Whose slot time it uses: clients take turns within a priority."""
        return self.priority, self.client

    @property
    def is_waiting(self) -> bool:
        """Whether it wants a slot: its first one, or its next one."""
        return self.is_paused or not self.granted.done()

"""Owns the cores: a fixed number of slots, and a bounded queue of those who wait for one."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.engines.core.intrinsics import Stop
from plyd.servers.search.admission import Stay, expected_end, expected_starts

T = TypeVar("T")
PATIENT_SECONDS = 60.0  # where a waiter without a deadline stands among those with one


class Priority(IntEnum):
    """Who goes first when a slot comes free."""

    NORMAL = 0
    PONDER = 1  # gives its slot up, too, when somebody else needs one


class Place(NamedTuple):
    """A place in the queue; the least one goes first."""

    priority: Priority
    urgency: float
    number: int  # no two have the same, so nothing below is ever compared
    stop: Stop
    ticket: asyncio.Future[None]
    stay: Stay


class Run(NamedTuple):
    """A job in its slot."""

    priority: Priority
    future: asyncio.Future[Any]
    began: float
    stay: Stay


class Scheduler:
    """Runs jobs in threads, at most `slots` at once; the others wait, the most urgent first, at most `queue_size`."""

    def __init__(self, name: str, slots: int, queue_size: int) -> None:
        self.slots = slots
        self.queue_size = queue_size
        self._pool = ThreadPoolExecutor(slots + queue_size, thread_name_prefix=name)  # threads start when needed
        self._free = slots
        self._waiting: list[Place] = []
        self._order = itertools.count()
        self._running: dict[Stop, Run] = {}
        self._mean_seconds = 0.1  # of recent jobs, to tell when a slot comes free
        self._is_draining = False
        self.cancelled = {"waiting": 0, "running": 0}  # jobs whose caller left meanwhile, so far

    @property
    def running(self) -> int:
        """Jobs in their slots now."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Jobs in the queue now."""
        return sum(not place.ticket.done() for place in self._waiting)

    async def run(
        self,
        job: Callable[[float], T],
        stop: Stop,
        patience_seconds: float | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> T:
        """What the job returns; it is told how many seconds it waited.

        Raises Overloaded at once if the queue is full or no slot is likely to come in time, and when the patience ends
        if one does not come after all. If the caller is cancelled while the job runs,
        `stop` is set, and the slot is free again as soon as the job's thread has seen it.
        """
        loop = asyncio.get_running_loop()
        arrived = time.monotonic()  # not the loop's clock, which may stand still for a millisecond
        stay = Stay(arrived, patience_seconds)
        await self._take(stop, stay, priority)
        if self._is_draining:  # since the slot was granted
            stop.set()
        began = time.monotonic()
        future = loop.run_in_executor(self._pool, job, began - arrived)
        self._running[stop] = Run(priority, future, began, stay)

        def give_back(done: asyncio.Future[T]) -> None:
            del self._running[stop]
            self._mean_seconds += 0.1 * (time.monotonic() - began - self._mean_seconds)
            self._give_back()
            if not done.cancelled():
                done.exception()  # seen, even if nobody waits for the result any more

        future.add_done_callback(give_back)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            self.cancelled["running"] += 1
            raise

    def hurry(self, stop: Stop) -> None:
        """Let a job that waits run at once, beyond the slots: its stop is set, so it only says that it has nothing."""
        assert stop.is_set()
        for place in self._waiting:
            if place.stop is stop and not place.ticket.done():
                self._free -= 1
                place.ticket.set_result(None)

    def drain(self) -> None:
        """Stop what runs, turn away what waits and whatever comes from now on."""
        self._is_draining = True
        for stop in self._running:
            stop.set()
        for place in self._waiting:
            if not place.ticket.done():
                place.ticket.set_exception(ShuttingDown("the daemon is shutting down"))
        self._waiting.clear()

    async def until_idle(self) -> None:
        """Wait until no thread is at work, not even for a caller who has left."""
        while self._running:
            await asyncio.wait([run.future for run in self._running.values()])

    def close(self) -> None:
        """Let the threads go; call it when nothing runs any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _take(self, stop: Stop, stay: Stay, priority: Priority) -> None:
        if self._is_draining:
            raise ShuttingDown("the daemon is shutting down")
        if self._free > 0:
            self._free -= 1
            return
        if self.waiting >= self.queue_size:
            text = f"all {self.slots} slots are taken and {self.queue_size} requests wait; try again later"
            raise Overloaded(text, self._hint(), "queue_full")
        if stop.is_set():  # too late for `hurry`, and as quickly over
            self._free -= 1
            return
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        urgency = stay.arrived + PATIENT_SECONDS if stay.patience is None else stay.due
        place = Place(priority, urgency, next(self._order), stop, ticket, stay)
        self._refuse_if_hopeless(place)
        if priority is Priority.NORMAL:
            self._stop_a_ponderer()
        heapq.heappush(self._waiting, place)
        try:
            async with asyncio.timeout(stay.patience):
                await ticket
        except TimeoutError:
            if self._was_granted(ticket):  # in the very moment that the patience ended
                return
            text = f"no slot came free within {stay.patience:.3f} s; try again later"
            raise Overloaded(text, self._hint(), "no_slot_in_time") from None
        except asyncio.CancelledError:
            self.cancelled["waiting"] += 1
            if self._was_granted(ticket):
                self._give_back()
            raise
        finally:
            if place in self._waiting:  # gave up, or was hurried past the others
                self._waiting.remove(place)
                heapq.heapify(self._waiting)

    def _refuse_if_hopeless(self, newcomer: Place) -> None:
        """Raise Overloaded if no slot is likely to come in time for a newcomer, or for one whom it would go before."""
        if newcomer.stay.patience is None:
            return  # waits for as long as it takes, behind nearly everybody
        now, usual = time.monotonic(), 2 * self._mean_seconds
        ends = sorted(self._expected_end(run, usual, now) for run in self._running.values())
        ends += [now + usual] * (self.slots - len(ends))  # slots granted a moment ago
        queue = sorted(place for place in (*self._waiting, newcomer) if not place.ticket.done())
        starts = expected_starts(ends[-self.slots :], (place.stay for place in queue), usual)
        start = starts[queue.index(newcomer)]
        if start > newcomer.stay.latest_start or any(
            begins > place.stay.due
            for place, begins in zip(queue, starts, strict=True)
            if place > newcomer and place.priority is Priority.NORMAL
        ):
            raise Overloaded(
                f"no slot is likely to come free in time: of {newcomer.stay.patience:.3f} s, "
                f"{max(0.0, start - newcomer.stay.arrived):.3f} s would pass in the queue; try again later",
                _within_reason(start - now),
                "no_slot_in_time",
            )

    @staticmethod
    def _expected_end(run: Run, usual_seconds: float, now: float) -> float:
        if run.priority is Priority.PONDER:
            return now  # it gives way
        return expected_end(run.stay, run.began, usual_seconds, now)

    def _stop_a_ponderer(self) -> None:
        for stop, run in self._running.items():
            if run.priority is Priority.PONDER and not stop.is_set():
                stop.set()
                return

    @staticmethod
    def _was_granted(ticket: asyncio.Future[None]) -> bool:
        return ticket.done() and not ticket.cancelled() and ticket.exception() is None

    def _give_back(self) -> None:
        while self._waiting and self._free >= 0:
            ticket = heapq.heappop(self._waiting).ticket
            if not ticket.done():
                ticket.set_result(None)
                return
        self._free += 1

    def _hint(self) -> float:
        return _within_reason(self._mean_seconds * (self.waiting + 1) / self.slots)


def _within_reason(seconds: float) -> float:
    """A hint when to try again that nobody regrets to have followed."""
    return min(10.0, max(0.05, seconds))

"""Owns the cores: a fixed number of slots, and a bounded queue of those who wait for one."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any, TypeVar

from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.engines.core.machine import Stop

T = TypeVar("T")
PATIENT_SECONDS = 60.0  # where a waiter without a deadline stands among those with one


class Priority(IntEnum):
    """Who goes first when a slot comes free."""

    NORMAL = 0
    PONDER = 1  # gives its slot up, too, when somebody else needs one


class Scheduler:
    """Runs jobs in threads, at most `slots` at once; the others wait, the most urgent first, at most `queue_size`."""

    def __init__(self, name: str, slots: int, queue_size: int) -> None:
        self.slots = slots
        self.queue_size = queue_size
        self._pool = ThreadPoolExecutor(slots + queue_size, thread_name_prefix=name)  # threads start when needed
        self._free = slots
        self._waiting: list[tuple[Priority, float, int, Stop, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._running: dict[Stop, tuple[Priority, asyncio.Future[Any]]] = {}
        self._mean_seconds = 0.1  # of recent jobs, for the retry hint
        self._is_draining = False

    @property
    def running(self) -> int:
        """Jobs in their slots now."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Jobs in the queue now."""
        return sum(not ticket.done() for *_, ticket in self._waiting)

    async def run(
        self,
        job: Callable[[float], T],
        stop: Stop,
        patience_seconds: float | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> T:
        """What the job returns; it is told how many seconds it waited.

        Raises Overloaded if the queue is full or the patience ends. If the caller is cancelled while the job runs,
        `stop` is set, and the slot is free again as soon as the job's thread has seen it.
        """
        loop = asyncio.get_running_loop()
        arrived = time.monotonic()  # not the loop's clock, which may stand still for a millisecond
        await self._take(stop, patience_seconds, priority)
        if self._is_draining:  # since the slot was granted
            stop.set()
        began = time.monotonic()
        future = loop.run_in_executor(self._pool, job, began - arrived)
        self._running[stop] = (priority, future)

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
            raise

    def hurry(self, stop: Stop) -> None:
        """Let a job that waits run at once, beyond the slots: its stop is set, so it only says that it has nothing."""
        assert stop.is_set()
        for *_, waiting, ticket in self._waiting:
            if waiting is stop and not ticket.done():
                self._free -= 1
                ticket.set_result(None)

    def drain(self) -> None:
        """Stop what runs, turn away what waits and whatever comes from now on."""
        self._is_draining = True
        for stop in self._running:
            stop.set()
        for *_, ticket in self._waiting:
            if not ticket.done():
                ticket.set_exception(ShuttingDown("the daemon is shutting down"))
        self._waiting.clear()

    async def until_idle(self) -> None:
        """Wait until no thread is at work, not even for a caller who has left."""
        while self._running:
            await asyncio.wait([future for _, future in self._running.values()])

    def close(self) -> None:
        """Let the threads go; call it when nothing runs any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _take(self, stop: Stop, patience_seconds: float | None, priority: Priority) -> None:
        if self._is_draining:
            raise ShuttingDown("the daemon is shutting down")
        if self._free > 0:
            self._free -= 1
            return
        if self.waiting >= self.queue_size:
            raise Overloaded(
                f"all {self.slots} slots are taken and {self.queue_size} requests wait; try again later", self._hint()
            )
        if stop.is_set():  # too late for `hurry`, and as quickly over
            self._free -= 1
            return
        if priority is Priority.NORMAL:
            self._stop_a_ponderer()
        loop = asyncio.get_running_loop()
        urgency = loop.time() + (PATIENT_SECONDS if patience_seconds is None else patience_seconds)
        ticket: asyncio.Future[None] = loop.create_future()
        place = (priority, urgency, next(self._order), stop, ticket)
        heapq.heappush(self._waiting, place)
        try:
            async with asyncio.timeout(patience_seconds):
                await ticket
        except TimeoutError:
            if self._was_granted(ticket):  # in the very moment that the patience ended
                return
            raise Overloaded(
                f"no slot came free within {patience_seconds:.3f} s; try again later", self._hint()
            ) from None
        except asyncio.CancelledError:
            if self._was_granted(ticket):
                self._give_back()
            raise
        finally:
            if place in self._waiting:  # gave up, or was hurried past the others
                self._waiting.remove(place)
                heapq.heapify(self._waiting)

    def _stop_a_ponderer(self) -> None:
        for stop, (priority, _) in self._running.items():
            if priority is Priority.PONDER and not stop.is_set():
                stop.set()
                return

    @staticmethod
    def _was_granted(ticket: asyncio.Future[None]) -> bool:
        return ticket.done() and not ticket.cancelled() and ticket.exception() is None

    def _give_back(self) -> None:
        while self._waiting and self._free >= 0:
            *_, ticket = heapq.heappop(self._waiting)
            if not ticket.done():
                ticket.set_result(None)
                return
        self._free += 1

    def _hint(self) -> float:
        return min(10.0, max(0.05, self._mean_seconds * (self.waiting + 1) / self.slots))

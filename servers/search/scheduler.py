"""The scheduler: runs jobs on a fixed number of slots; the others wait in a bounded queue."""

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
from plyd.servers.search.admission import WaitBudget, expected_end, expected_starts

T = TypeVar("T")
NO_LIMIT_URGENCY_SECONDS = 60.0  # a job without a time limit queues as if it had this one


class Priority(IntEnum):
    """Which job goes first when a slot comes free."""

    NORMAL = 0
    PONDER = 1  # also gives up its slot when a normal job needs one


class QueueEntry(NamedTuple):
    """A job in the queue; the smallest entry goes first."""

    priority: Priority
    urgency: float
    number: int  # unique, so the fields below are never compared
    stop: Stop
    granted: asyncio.Future[None]  # done when the job has its slot
    budget: WaitBudget


class RunningJob(NamedTuple):
    """A job in its slot."""

    priority: Priority
    future: asyncio.Future[Any]
    began: float
    budget: WaitBudget


class Scheduler:
    """Runs jobs in threads, at most `slots` at once; up to `queue_size` others wait, the most urgent first."""

    def __init__(self, name: str, slots: int, queue_size: int) -> None:
        self.slots = slots
        self.queue_size = queue_size
        self._pool = ThreadPoolExecutor(slots + queue_size, thread_name_prefix=name)  # threads start when needed
        self._free = slots
        self._queue: list[QueueEntry] = []
        self._order = itertools.count()
        self._running: dict[Stop, RunningJob] = {}
        self._mean_seconds = 0.1  # moving average of job times, to predict when a slot comes free
        self._is_draining = False
        self.cancelled = {"waiting": 0, "running": 0}  # jobs whose caller left, by what they were doing then

    @property
    def running(self) -> int:
        """Number of jobs in their slots."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Number of jobs in the queue."""
        return sum(not entry.granted.done() for entry in self._queue)

    async def run(
        self,
        job: Callable[[float], T],
        stop: Stop,
        max_wait_seconds: float | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> T:
        """What the job returns. The job is called with the seconds it waited for its slot.

        Raises Overloaded at once if the queue is full or no slot is likely to come free in time, and after
        `max_wait_seconds` if none came free after all. If the caller is cancelled while the job runs, `stop` is set,
        and the slot is free again as soon as the job's thread has seen that.
        """
        loop = asyncio.get_running_loop()
        arrived = time.monotonic()  # not the loop's clock, which may be a millisecond behind
        budget = WaitBudget(arrived, max_wait_seconds)
        await self._take_slot(stop, budget, priority)
        if self._is_draining:  # since the slot was granted
            stop.set()
        began = time.monotonic()
        future = loop.run_in_executor(self._pool, job, began - arrived)
        self._running[stop] = RunningJob(priority, future, began, budget)

        def on_done(done: asyncio.Future[T]) -> None:
            del self._running[stop]
            self._mean_seconds += 0.1 * (time.monotonic() - began - self._mean_seconds)
            self._release_slot()
            if not done.cancelled():
                done.exception()  # mark it as retrieved, even if nobody waits for the result

        future.add_done_callback(on_done)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            self.cancelled["running"] += 1
            raise

    def run_now(self, stop: Stop) -> None:
        """Run a waiting job at once, beyond the slots. Its stop is set, so it returns without searching."""
        assert stop.is_set()
        for entry in self._queue:
            if entry.stop is stop and not entry.granted.done():
                self._free -= 1
                entry.granted.set_result(None)

    def drain(self) -> None:
        """Stop running jobs, refuse waiting ones and all that come later."""
        self._is_draining = True
        for stop in self._running:
            stop.set()
        for entry in self._queue:
            if not entry.granted.done():
                entry.granted.set_exception(ShuttingDown("the daemon is shutting down"))
        self._queue.clear()

    async def until_idle(self) -> None:
        """Wait until no job runs, not even one whose caller has left."""
        while self._running:
            await asyncio.wait([job.future for job in self._running.values()])

    def close(self) -> None:
        """End the threads; call it when no job runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _take_slot(self, stop: Stop, budget: WaitBudget, priority: Priority) -> None:
        if self._is_draining:
            raise ShuttingDown("the daemon is shutting down")
        if self._free > 0:
            self._free -= 1
            return
        if self.waiting >= self.queue_size:
            text = f"all {self.slots} slots are taken and {self.queue_size} requests wait; try again later"
            raise Overloaded(text, self._retry_seconds(), "queue_full")
        if stop.is_set():  # was stopped before it could be queued, so `run_now` did not find it
            self._free -= 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        urgency = budget.arrived + NO_LIMIT_URGENCY_SECONDS if budget.max_wait is None else budget.due
        entry = QueueEntry(priority, urgency, next(self._order), stop, granted, budget)
        self._refuse_if_hopeless(entry)
        if priority is Priority.NORMAL:
            self._stop_a_ponderer()
        heapq.heappush(self._queue, entry)
        await self._wait_for_slot(entry)

    async def _wait_for_slot(self, entry: QueueEntry) -> None:
        granted, max_wait = entry.granted, entry.budget.max_wait
        try:
            async with asyncio.timeout(max_wait):
                await granted
        except TimeoutError:
            if self._was_granted(granted):  # in the very moment that the time ran out
                return
            text = f"no slot came free within {max_wait:.3f} s; try again later"
            raise Overloaded(text, self._retry_seconds(), "no_slot_in_time") from None
        except asyncio.CancelledError:
            self.cancelled["waiting"] += 1
            if self._was_granted(granted):
                self._release_slot()
            raise
        finally:
            if entry in self._queue:  # gave up, or `run_now` let it pass the others
                self._queue.remove(entry)
                heapq.heapify(self._queue)

    def _refuse_if_hopeless(self, newcomer: QueueEntry) -> None:
        """Raise Overloaded if the newcomer is not likely to get a slot in time, or would make another one too late."""
        if newcomer.budget.max_wait is None:
            return  # waits as long as it takes, behind nearly all others
        now, usual = time.monotonic(), 2 * self._mean_seconds
        ends = sorted(self._expected_end(job, usual, now) for job in self._running.values())
        ends += [now + usual] * (self.slots - len(ends))  # slots granted a moment ago
        queue = sorted(entry for entry in (*self._queue, newcomer) if not entry.granted.done())
        starts = expected_starts(ends[-self.slots :], (entry.budget for entry in queue), usual)
        start = starts[queue.index(newcomer)]
        if start > newcomer.budget.latest_start or any(
            begins > entry.budget.due
            for entry, begins in zip(queue, starts, strict=True)
            if entry > newcomer and entry.priority is Priority.NORMAL
        ):
            raise Overloaded(
                f"no slot is likely to come free in time: of {newcomer.budget.max_wait:.3f} s, "
                f"{max(0.0, start - newcomer.budget.arrived):.3f} s would pass in the queue; try again later",
                _clamped_retry(start - now),
                "no_slot_in_time",
            )

    @staticmethod
    def _expected_end(job: RunningJob, usual_seconds: float, now: float) -> float:
        if job.priority is Priority.PONDER:
            return now  # it gives up its slot
        return expected_end(job.budget, job.began, usual_seconds, now)

    def _stop_a_ponderer(self) -> None:
        for stop, job in self._running.items():
            if job.priority is Priority.PONDER and not stop.is_set():
                stop.set()
                return

    @staticmethod
    def _was_granted(granted: asyncio.Future[None]) -> bool:
        return granted.done() and not granted.cancelled() and granted.exception() is None

    def _release_slot(self) -> None:
        while self._queue and self._free >= 0:
            granted = heapq.heappop(self._queue).granted
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1

    def _retry_seconds(self) -> float:
        return _clamped_retry(self._mean_seconds * (self.waiting + 1) / self.slots)


def _clamped_retry(seconds: float) -> float:
    """A retry hint in seconds, neither too eager nor too far away."""
    return min(10.0, max(0.05, seconds))

"""The scheduler: runs jobs on a fixed number of slots; the others wait in a bounded queue.

Clients take turns: the slot goes to the client that has had the least slot time lately, and a job that has had its
slice is paused for a client that has had less. It keeps its thread and its memory, waits in the queue, and goes on
where it was. Among the jobs of one client, the most urgent goes first.
"""

import asyncio
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.engines.core.intrinsics import Stop
from plyd.servers.futures import mark_seen
from plyd.servers.search.slots.admission import expected_end, expected_starts
from plyd.servers.search.slots.fair_share import SLICE_SECONDS, FairShares
from plyd.servers.search.slots.job import Job, Priority, WaitBudget

T = TypeVar("T")
TICK_SECONDS = 0.01  # between looks at the slices while jobs wait
SHORT_SECONDS = 1.0  # a job with no more time than this is paused only for one that cannot wait for its end
LAST_SECONDS = 0.02  # a paused job gets its slot back this long before its time is over, so that it answers in time
FAR_AHEAD = 2.0  # a client that has had so many times as much as a newcomer's may be made to wait too long by it


class Scheduler:
    """Runs jobs in threads, at most `slots` at once; up to `queue_size` others wait or are paused."""

    def __init__(
        self,
        name: str,
        slots: int,
        queue_size: int,
        *,
        can_pause: bool = True,
        clock: Callable[[], float] = time.monotonic,  # not the loop's, which may be a millisecond behind
    ) -> None:
        self.slots = slots
        self.queue_size = queue_size
        self._pool = ThreadPoolExecutor(slots + queue_size, thread_name_prefix=name)  # threads start when needed
        self._can_pause = can_pause
        self._clock = clock
        self._free = slots
        self._queue: list[Job] = []  # those that wait for their first slot, and those that are paused
        self._order = itertools.count()
        self._begun: dict[Stop, Job] = {}  # those that have a thread: in a slot, or paused
        self._shares = FairShares(clock())
        self._mean_seconds = 0.1  # moving average of job times, to predict when a slot comes free
        self._timer: asyncio.TimerHandle | None = None
        self._is_draining = False
        self.cancelled = {"waiting": 0, "running": 0}  # jobs whose caller left, by what they were doing then
        self.pauses = 0  # slots that were given up to another client

    @property
    def running(self) -> int:
        """Number of jobs in their slots."""
        return sum(not job.is_paused for job in self._begun.values())

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a slot, the paused ones included."""
        return sum(job.is_waiting for job in self._queue)

    async def run(
        self,
        work: Callable[[float], T],
        stop: Stop,
        max_wait_seconds: float | None = None,
        priority: Priority = Priority.NORMAL,
        client: str = "",
        seconds: float | None = None,
    ) -> T:
        """What the work returns. It is called with the seconds it waited for its slot.

        Raises Overloaded at once if the queue is full or no slot is likely to come free in time, and after
        `max_wait_seconds` if none came free after all; `seconds` is the job's time limit if that is shorter. If the
        caller is cancelled while the job runs, `stop` is set, and the slot is free again as soon as the job's thread
        has seen that.
        """
        loop = asyncio.get_running_loop()
        budget = WaitBudget(self._clock(), max_wait_seconds, seconds)
        job = Job(next(self._order), stop, client, priority, budget, loop.create_future())
        await self._take_slot(job)
        if self._is_draining:  # since the slot was granted
            stop.set()
        job.began = job.slice_began = self._advance()
        future = job.future = loop.run_in_executor(self._pool, work, job.began - budget.arrived)
        self._begun[stop] = job
        future.add_done_callback(lambda done: self._end(job, done))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            self.cancelled["running"] += 1
            raise

    def run_now(self, stop: Stop) -> None:
        """Run a waiting job at once, beyond the slots. Its stop is set, so it returns without searching."""
        assert stop.is_set()
        for job in self._queue:
            if job.stop is stop and not job.granted.done():
                self._free -= 1
                job.granted.set_result(None)

    def drain(self) -> None:
        """Stop running jobs, refuse waiting ones and all that come later."""
        self._is_draining = True
        for stop in self._begun:
            stop.set()
        for job in self._queue:
            if not job.granted.done():
                job.granted.set_exception(ShuttingDown("the daemon is shutting down"))
        self._queue.clear()

    async def until_idle(self) -> None:
        """Wait until no job has a thread, not even one whose caller has left."""
        while self._begun:
            await asyncio.wait([job.future for job in self._begun.values() if job.future])

    def close(self) -> None:
        """End the threads; call it when no job runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    # --- Waiting for a slot ---

    async def _take_slot(self, job: Job) -> None:
        if self._is_draining:
            raise ShuttingDown("the daemon is shutting down")
        if self._free > 0:
            self._free -= 1
            job.granted.set_result(None)
            return
        self._make_place(job)
        if job.stop.is_set():  # was stopped before it could be queued, so `run_now` did not find it
            self._free -= 1
            job.granted.set_result(None)
            return
        self._advance()
        self._refuse_if_hopeless(job)
        self._stop_a_ponderer(job)
        self._queue.append(job)
        self._dispatch()
        await self._wait_for_slot(job)

    def _make_place(self, newcomer: Job) -> None:
        """See that the queue has a place: if it is full, the client with most jobs in it loses its last one.

        Raises Overloaded if that is the newcomer.
        """
        if self.waiting < self.queue_size:
            return
        text = f"all {self.slots} slots are taken and {self.queue_size} requests wait; try again later"
        refusal = Overloaded(text, self._retry_seconds(), "queue_full")
        new = [job for job in self._queue if not job.granted.done()]
        counts = Counter(job.client for job in new)
        [(client, count)] = counts.most_common(1) or [("", 0)]
        if count <= counts[newcomer.client] + 1:
            raise refusal
        last = max((job for job in new if job.client == client), key=self._shares.rank)
        last.granted.set_exception(refusal)

    async def _wait_for_slot(self, job: Job) -> None:
        granted, max_wait = job.granted, job.budget.max_wait
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
            if job in self._queue:  # gave up, lost its place, or `run_now` let it pass the others
                self._queue.remove(job)

    @staticmethod
    def _was_granted(granted: asyncio.Future[None]) -> bool:
        return granted.done() and not granted.cancelled() and granted.exception() is None

    def _refuse_if_hopeless(self, newcomer: Job) -> None:
        """Raise Overloaded if the newcomer is not likely to get a slot in time, or would make another one too late."""
        if newcomer.budget.max_wait is None:
            return  # waits as long as it takes, behind nearly all others
        now, usual = self._clock(), 2 * self._mean_seconds
        ends = sorted(self._slot_end(job, newcomer, usual, now) for job in self._in_slots())
        ends += [now + usual] * (self.slots - len(ends))  # slots granted a moment ago
        queue = [job for job in self._queue if job.is_waiting]
        starts = expected_starts(ends[-self.slots :], (*queue, newcomer), self._shares, usual)
        before = expected_starts(ends[-self.slots :], queue, self._shares, usual)
        if starts[newcomer] > newcomer.budget.latest_start or any(
            before[job] <= job.budget.latest_start < starts[job] and self._is_protected(job, newcomer) for job in queue
        ):
            wait = max(0.0, starts[newcomer] - newcomer.budget.arrived)
            raise Overloaded(
                f"no slot is likely to come free in time: of {newcomer.budget.max_wait:.3f} s, "
                f"{wait:.3f} s would pass in the queue; try again later",
                _clamped_retry(starts[newcomer] - now),
                "no_slot_in_time",
            )

    def _is_protected(self, job: Job, newcomer: Job) -> bool:
        """Whether a newcomer may not make a waiting job too late."""
        had, newcomer_had = self._shares.had(job.account), self._shares.had(newcomer.account)
        return (
            not job.is_paused and job.priority <= newcomer.priority and had <= FAR_AHEAD * newcomer_had + SLICE_SECONDS
        )

    def _slot_end(self, job: Job, newcomer: Job, usual_seconds: float, now: float) -> float:
        """When a newcomer may have the slot of a running job."""
        if job.stop.is_set() or job.priority is Priority.PONDER > newcomer.priority:
            return now
        end = expected_end(job.budget, job.began, usual_seconds, now)
        return min(end, max(now, self._yields_at(job, newcomer, now)))

    def _stop_a_ponderer(self, newcomer: Job) -> None:
        for job in self._in_slots():
            if job.priority is Priority.PONDER > newcomer.priority and not job.stop.is_set():
                job.stop.set()
                return

    def _retry_seconds(self) -> float:
        return _clamped_retry(self._mean_seconds * (self.waiting + 1) / self.slots)

    # --- Taking turns ---

    def _in_slots(self) -> Iterator[Job]:
        return (job for job in self._begun.values() if not job.is_paused)

    def _advance(self) -> float:
        """Charge the slot time used until now; what time it is."""
        now = self._clock()
        self._shares.advance(now, self._in_slots())
        return now

    def _dispatch(self) -> None:
        """Give slots to the jobs that come first: free ones, and those of jobs that have had their slice."""
        now = self._advance()
        for job in sorted((job for job in self._queue if job.is_waiting), key=self._shares.rank):
            if job.is_paused and job.budget.due - now < LAST_SECONDS:
                self._grant(job, now)  # beyond the slots: its time is over, so it only has to answer
            elif self._free > 0 or (self._free == 0 and self._pause_for(job, now)):
                self._grant(job, now)
            elif not self._can_pause:
                break
        if self._queue and self._can_pause and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._dispatch()

    def _grant(self, job: Job, now: float) -> None:
        self._queue.remove(job)
        self._free -= 1
        if job.is_paused:
            job.is_paused, job.slice_began = False, now
            job.stop.resume()
        else:
            job.granted.set_result(None)

    def _pause_for(self, newcomer: Job, now: float) -> bool:
        """Pause the job that comes last of those which have to give their slot to this one; whether there is one."""
        ready = [job for job in self._in_slots() if self._yields_at(job, newcomer, now) <= now]
        if not ready:
            return False
        last = max(ready, key=self._shares.rank)
        last.stop.pause()
        last.is_paused, last.seconds = True, last.seconds + now - last.slice_began
        self._queue.append(last)
        self._free += 1
        self.pauses += 1
        return True

    def _yields_at(self, job: Job, newcomer: Job, now: float) -> float:
        """From when on a running job has to give its slot to this one; infinity if never."""
        if not self._can_pause or job.stop.is_set() or job.priority is Priority.PONDER > newcomer.priority:
            return math.inf  # a ponderer is stopped instead
        if job.priority > newcomer.priority:
            return now
        end, time_limit = job.slice_began + SLICE_SECONDS, job.budget.max_wait
        is_short = time_limit is not None and time_limit <= SHORT_SECONDS
        if (
            job.priority < newcomer.priority
            or (is_short and job.budget.due <= newcomer.budget.latest_start)
            or not self._shares.is_ahead(job, newcomer, max(0.0, end - now))
        ):
            return math.inf
        return end

    def _end(self, job: Job, done: asyncio.Future[T]) -> None:
        """A job's thread has returned: its slot, if it has one, goes to the next."""
        now = self._advance()
        del self._begun[job.stop]
        if job.is_paused:
            if job in self._queue:
                self._queue.remove(job)
        else:
            job.seconds += now - job.slice_began
            if job.priority is Priority.NORMAL:  # the others end when they are told to
                self._mean_seconds += 0.1 * (job.seconds - self._mean_seconds)
            self._release_slot()
        mark_seen(done)

    def _release_slot(self) -> None:
        self._free += 1
        if self._queue:
            self._dispatch()


def _clamped_retry(seconds: float) -> float:
    """A retry hint in seconds, neither too eager nor too far away."""
    return min(10.0, max(0.05, seconds))

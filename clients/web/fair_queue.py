"""A fair queue for the searches of one daemon.

As many searches run at once as the daemon has slots. While somebody waits, a search that has run for a time slice gives
way and goes to the end of the queue; while nobody waits, it runs on. So fifty pages that analyse at once all make
progress, and a page that is alone has the whole daemon. A search that asks for a spare slot waits until nobody else
does.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

SLICE_SECONDS = 0.5


class TimeSlice:
    """The right to search now; `over` is set when the search has to give way."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.over = asyncio.Event()


Entry = tuple["asyncio.Future[TimeSlice]", Callable[[int], None]]


class FairQueue:
    """The running and the waiting searches of one daemon."""

    def __init__(self, slots: int = 1) -> None:
        self._slots = slots
        self._running: list[TimeSlice] = []  # oldest first
        self._waiting: deque[Entry] = deque()
        self._spare: deque[Entry] = deque()  # those that wait for a slot that nobody else wants
        self._timer: asyncio.TimerHandle | None = None

    @property
    def slots(self) -> int:
        """The number of searches that may run at once."""
        return self._slots

    def resize(self, slots: int) -> None:
        """Set the number of searches that may run at once."""
        self._slots = max(1, slots)
        self._start_next()

    @contextlib.asynccontextmanager
    async def time_slice(self, on_queue: Callable[[int], None], *, is_spare: bool = False) -> AsyncIterator[TimeSlice]:
        """A time slice, after waiting for it. `on_queue` gets our place whenever it changes: 1 is next, 0 is running.

        A search that need not wait gets no call of `on_queue`. One that `is_spare` waits behind all that are not, and
        never makes another one give way.
        """
        is_free = len(self._running) < self._slots and not self._waiting
        line = self._spare if is_spare else self._waiting
        time_slice = self._begin() if is_free else await self._wait(on_queue, line)
        try:
            yield time_slice
        finally:
            self._end(time_slice)

    def _begin(self) -> TimeSlice:
        time_slice = TimeSlice()
        self._running.append(time_slice)
        return time_slice

    def _end(self, time_slice: TimeSlice) -> None:
        self._running.remove(time_slice)
        self._start_next()

    async def _wait(self, on_queue: Callable[[int], None], line: "deque[Entry]") -> TimeSlice:
        ticket: asyncio.Future[TimeSlice] = asyncio.get_running_loop().create_future()
        entry = (ticket, on_queue)
        line.append(entry)
        on_queue(len(line))
        self._preempt()
        try:
            time_slice = await ticket
        except asyncio.CancelledError:
            if entry in line:
                line.remove(entry)
                self._start_next()
            else:  # the slice was granted in the same moment
                self._end(ticket.result())
            raise
        on_queue(0)
        return time_slice

    def _start_next(self) -> None:
        """Start waiting searches while slots are free."""
        for line in (self._waiting, self._spare):
            while line and len(self._running) < self._slots:
                ticket, _ = line[0]
                if ticket.cancelled():  # _wait is about to remove it
                    break
                line.popleft()
                ticket.set_result(self._begin())
        for place, (_, on_queue) in enumerate(self._waiting, 1):
            on_queue(place)
        self._preempt()

    def _preempt(self) -> None:
        """While somebody waits, end every slice that is used up, and set a timer for the next one."""
        if self._timer:
            self._timer.cancel()
        if not self._waiting:
            return
        for time_slice in self._running:
            if time_slice.over.is_set():
                continue
            left = time_slice.began + SLICE_SECONDS - time.monotonic()
            if left <= 0:
                time_slice.over.set()
            else:
                self._timer = asyncio.get_running_loop().call_later(left + 0.001, self._preempt)
                break

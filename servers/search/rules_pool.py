"""The rules pool: threads for questions about rules that would hold the event loop up, such as a long game's replay."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar

from plyd.engines.core.errors import BadCommand, Overloaded
from plyd.engines.core.intrinsics import Stop
from plyd.servers.futures import mark_seen
from plyd.servers.search.slots.turns import TurnQueue

T = TypeVar("T")
THREADS = 2  # rules are plain Python: more threads would only make the event loop wait longer for its turn
RETRY_SECONDS = 0.5

_stop: ContextVar[Stop | None] = ContextVar("stop", default=None)


class RulesPool:
    """Runs work in a few threads. Up to `max_waiting` others wait, and the parties that wait take turns."""

    def __init__(self, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rules")
        self._free = THREADS
        self._queue = TurnQueue()

    @property
    def waiting(self) -> int:
        """Callers that wait for a thread."""
        return len(self._queue)

    async def run(self, party: object, work: Callable[[], T]) -> T:
        """What the work returns; raises Overloaded if too much waits. If the caller leaves, `check_wanted` ends it."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(party)
        stop = Stop()
        context = contextvars.copy_context()
        context.run(_stop.set, stop)
        future = asyncio.get_running_loop().run_in_executor(self._pool, context.run, work)
        future.add_done_callback(self._done)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            raise

    def close(self) -> None:
        """End the threads once their work is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _wait(self, party: object) -> None:
        """Wait for a thread."""
        if self.waiting >= self.max_waiting:
            raise Overloaded(
                f"{self.waiting} questions about rules wait, the most allowed; try again later", RETRY_SECONDS, "rules"
            )
        waiter = self._queue.put(party)
        try:
            await waiter
        except asyncio.CancelledError:
            if not self._queue.remove(party, waiter) and not waiter.cancelled():
                self._release()  # its turn came as its caller left
            raise

    def _done(self, future: asyncio.Future[T]) -> None:
        self._release()
        mark_seen(future)

    def _release(self) -> None:
        """Give a free thread to the party whose turn it is."""
        if not self._queue.grant():
            self._free += 1


def check_wanted() -> None:
    """Raise BadCommand in a thread whose caller has left."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise BadCommand("the caller has left")

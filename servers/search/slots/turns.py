"""Turns: parties that wait for the same thing get it in turn, however many times each of them asks."""

import asyncio
import time

GAP_SECONDS = 0.015  # without a call, after which nothing can be waiting
FIRST_CALLS = 32  # without such a gap, after which it is found out whether they are a crowd
NEXT_CALLS, LAST_CALLS = 512, 4096  # until that is found out again, if they were none: twice as many each time
CROWD = 256  # calls that wait; fewer begin together as soon as no more are coming
PAUSE_SECONDS = 0.001  # in which gRPC hands over some twenty calls, if it has them
FEW_ARRIVALS = 3  # in a pause: no crowd
FEWEST, MOST = 2, 16  # calls that begin between two pauses
CALL_SECONDS = 0.00015  # to answer a short call


class TurnQueue:
    """Waiters of several parties; the parties take turns."""

    def __init__(self) -> None:
        self._queues: dict[object, dict[asyncio.Future[None], None]] = {}  # the first party has the next turn
        self._waiting = 0

    def __len__(self) -> int:
        """Number of waiters."""
        return self._waiting

    def put(self, party: object) -> asyncio.Future[None]:
        """A new waiter of a party: it is done when its turn has come."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(party, {})[waiter] = None
        self._waiting += 1
        return waiter

    def remove(self, party: object, waiter: asyncio.Future[None]) -> bool:
        """Forget a waiter that has left; whether it was still waiting, so that no turn was granted to it."""
        queue = self._queues.get(party, {})
        if waiter not in queue:
            return False
        del queue[waiter]
        self._waiting -= 1
        if not queue:
            del self._queues[party]
        return True

    def grant(self) -> bool:
        """Grant the next turn; its party's next one comes after all others. Whether anybody waited for it."""
        while self._queues:
            party = next(iter(self._queues))
            queue = self._queues.pop(party)
            waiter = next(iter(queue))
            del queue[waiter]
            self._waiting -= 1
            if queue:
                self._queues[party] = queue
            if not waiter.cancelled():  # else its task is about to see it
                waiter.set_result(None)
                return True
        return False


class CallTurns:
    """Lets calls begin: at once while they come one by one, and in turns by party while they come in crowds.

    gRPC hands calls over one by one, in the order in which they came, and does not tell how many more it has. To begin
    a call takes several times as long as to accept it. So that a call does not wait behind a crowd that came before it,
    the calls of a crowd are accepted first and begun in turns, few at a time while more keep coming.
    """

    def __init__(self) -> None:
        self._queue = TurnQueue()
        self._arrivals = 0
        self._until_probe = FIRST_CALLS  # calls without a gap
        self._next_calls = NEXT_CALLS
        self._last_arrival = 0.0
        self._beginning: asyncio.Task[None] | None = None

    def must_wait(self) -> bool:
        """Count a call that was accepted; whether it has to wait for its turn."""
        now = time.perf_counter()
        if now - self._last_arrival >= GAP_SECONDS:
            self._until_probe, self._next_calls = FIRST_CALLS, NEXT_CALLS
        self._arrivals, self._last_arrival = self._arrivals + 1, now
        self._until_probe -= 1
        return self._beginning is not None or self._until_probe <= 0

    async def wait(self, party: object) -> None:
        """Wait for the party's turn."""
        waiter = self._queue.put(party)
        if self._beginning is None:
            self._beginning = asyncio.ensure_future(self._begin_calls())
        try:
            await waiter
        except asyncio.CancelledError:
            self._queue.remove(party, waiter)
            raise

    async def _begin_calls(self) -> None:
        """Begin the calls that wait, until none does: few at a time while more are coming, then more and more."""
        count = FEWEST
        while (is_coming := await self._are_more_coming(count)) or len(self._queue) > CROWD:
            count = FEWEST if is_coming else min(2 * count, MOST)
            self._grant(count)
            await asyncio.sleep(count * CALL_SECONDS)
        self._grant(len(self._queue))
        self._until_probe, self._next_calls = self._next_calls, min(2 * self._next_calls, LAST_CALLS)
        self._beginning = None

    async def _are_more_coming(self, begun: int) -> bool:
        """Whether gRPC hands over more calls in either of two pauses than those which have begun made room for."""
        for _ in range(2):
            before = self._arrivals
            await asyncio.sleep(PAUSE_SECONDS)
            if self._arrivals - before > max(begun, FEW_ARRIVALS):
                return True
        return False

    def _grant(self, count: int) -> None:
        for _ in range(count):
            self._queue.grant()

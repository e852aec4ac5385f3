"""Turns: parties that wait for the same thing get it in turn, however many times each of them asks."""

import asyncio
import time

GAP_SECONDS = 0.005  # without a call, after which nothing can be waiting
FIRST_CALLS, NEXT_CALLS = 32, 256  # without such a gap, after which it is found out whether more have come
PAUSE_SECONDS = 0.001  # in which gRPC hands over some twenty calls, if it has them
FEWEST, MOST = 2, 32  # calls that begin between two pauses
CALL_SECONDS = 0.0002  # to answer a short call


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
        self._row = 0  # calls without a gap
        self._last_arrival = 0.0
        self._beginning: asyncio.Task[None] | None = None

    def must_wait(self) -> bool:
        """Count a call that was accepted; whether it has to wait for its turn."""
        now = time.perf_counter()
        self._row = self._row + 1 if now - self._last_arrival < GAP_SECONDS else 1
        self._arrivals, self._last_arrival = self._arrivals + 1, now
        return self._beginning is not None or self._row % NEXT_CALLS == FIRST_CALLS

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
        """Begin calls until none waits: more and more between two pauses, unless still more arrive."""
        count = FEWEST
        while self._queue:
            await asyncio.sleep(count * CALL_SECONDS)
            before = self._arrivals
            await asyncio.sleep(PAUSE_SECONDS)
            count = FEWEST if self._arrivals - before > count else min(2 * count, MOST)
            for _ in range(count):
                self._queue.grant()
        self._beginning = None

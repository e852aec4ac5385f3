"""Fair turns at a daemon: as many searches at once as it has slots, and nobody waits while another goes on for ever.

Who has searched for a slice gives way as soon as somebody waits, and goes to the end of the line; while nobody waits,
a search goes on undisturbed. So fifty pages that analyse at once all see theirs move, and one alone has it all.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

SLICE_SECONDS = 0.5


class Turn:
    """A search that runs; `over` is set when it is somebody else's turn."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.over = asyncio.Event()


class Turns:
    """The turns of one daemon."""

    def __init__(self, slots: int = 1) -> None:
        self._slots = slots
        self._running: list[Turn] = []  # the longest first
        self._waiting: deque[tuple[asyncio.Future[Turn], Callable[[int], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def resize(self, slots: int) -> None:
        """Have so many searches at once from now on."""
        self._slots = max(1, slots)
        self._call_next()

    @contextlib.asynccontextmanager
    async def turn(self, tell: Callable[[int], None]) -> AsyncIterator[Turn]:
        """A turn, once it is ours. `tell` hears how many are before us, whenever that changes; 0 is our turn."""
        is_free = len(self._running) < self._slots and not self._waiting
        turn = self._begin() if is_free else await self._wait(tell)
        try:
            yield turn
        finally:
            self._end(turn)

    def _begin(self) -> Turn:
        turn = Turn()
        self._running.append(turn)
        return turn

    def _end(self, turn: Turn) -> None:
        self._running.remove(turn)
        self._call_next()

    async def _wait(self, tell: Callable[[int], None]) -> Turn:
        ticket: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        place = (ticket, tell)
        self._waiting.append(place)
        tell(len(self._waiting))
        self._press()
        try:
            turn = await ticket
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
                self._call_next()
            else:  # it was our turn in this very moment
                self._end(ticket.result())
            raise
        tell(0)
        return turn

    def _call_next(self) -> None:
        """Let those who wait begin, as far as there is room."""
        while self._waiting and len(self._running) < self._slots:
            ticket, _ = self._waiting[0]
            if ticket.cancelled():  # it goes, and says so itself
                break
            self._waiting.popleft()
            ticket.set_result(self._begin())
        self._tell()
        self._press()

    def _tell(self) -> None:
        for ahead, (_, tell) in enumerate(self._waiting, 1):
            tell(ahead)

    def _press(self) -> None:
        """While somebody waits, end the turn of whoever has had a slice; look again when the next one has."""
        if self._timer:
            self._timer.cancel()
        if not self._waiting:
            return
        for turn in self._running:
            if turn.over.is_set():
                continue
            left = turn.began + SLICE_SECONDS - time.monotonic()
            if left <= 0:
                turn.over.set()
            else:
                self._timer = asyncio.get_running_loop().call_later(left + 0.001, self._press)
                break

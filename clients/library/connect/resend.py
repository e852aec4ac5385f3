"""Batches sent to a daemon and kept until they are answered, so that a new stream can send them again.

Used by `evaluate_batches` of the blocking and of the asyncio client.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from plyd.v1 import engine_pb2

WINDOW = 8  # batches sent and not yet answered


class SendWindow:
    """The batches that are not answered yet: some not sent, some in flight.

    After a failure they are sent one at a time until one is answered: a write that fails since the daemon has refused
    an earlier batch hides the reason (asyncio's "Internal error from Core").
    """

    def __init__(self) -> None:
        self.unsent: deque[engine_pb2.EvaluateRequest] = deque()
        self.in_flight: deque[engine_pb2.EvaluateRequest] = deque()
        self.is_closed = False
        self.stream = 0
        self._size = WINDOW

    @property
    def can_send(self) -> bool:
        """Whether there is a batch to send and room for it."""
        return bool(self.unsent) and len(self.in_flight) < self._size

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to send and no further batch will be added."""
        return self.is_closed and not self.unsent

    def begin(self) -> int:
        """Number of a new stream, which sends every unanswered batch again."""
        self.unsent.extendleft(reversed(self.in_flight))
        self.in_flight.clear()
        self._size = WINDOW if self.stream == 0 else 1
        self.stream += 1
        return self.stream

    def close(self) -> None:
        """Send nothing more, on any stream."""
        self.begin()
        self.unsent.clear()
        self.is_closed = True

    def answered(self) -> engine_pb2.EvaluateRequest:
        """The batch that the next answer belongs to."""
        self._size = WINDOW
        return self.in_flight.popleft()

    def send(self) -> engine_pb2.EvaluateRequest:
        """The next batch, now in flight."""
        self.in_flight.append(self.unsent.popleft())
        return self.in_flight[-1]


class BatchSender:
    """Feeds batches to one stream after another; a thread of its own reads them from their source."""

    def __init__(self, requests: Iterable[engine_pb2.EvaluateRequest]) -> None:
        self._window = SendWindow()
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        threading.Thread(target=self._fill, args=(requests,), daemon=True).start()

    def stream(self) -> Iterator[engine_pb2.EvaluateRequest]:
        """Requests for a new stream: the unanswered ones, then the rest as they arrive."""
        with self._changed:
            number = self._window.begin()
            self._changed.notify_all()
        return self._requests(number)

    def answered(self) -> engine_pb2.EvaluateRequest:
        """The batch that the next answer belongs to."""
        with self._changed:
            request = self._window.answered()
            self._changed.notify_all()
            return request

    def check(self) -> None:
        """Raise the exception that ended the source of batches, if there was one."""
        if self._failure:
            raise self._failure

    def close(self) -> None:
        """Send nothing more."""
        with self._changed:
            self._window.close()
            self._changed.notify_all()

    def _requests(self, number: int) -> Iterator[engine_pb2.EvaluateRequest]:
        window = self._window
        while True:
            with self._changed:
                self._changed.wait_for(lambda: window.stream != number or window.can_send or window.is_done)
                if window.stream != number or window.is_done:
                    return
                request = window.send()
                self._changed.notify_all()
            yield request

    def _fill(self, requests: Iterable[engine_pb2.EvaluateRequest]) -> None:
        window = self._window
        try:
            for request in requests:
                with self._changed:
                    self._changed.wait_for(lambda: window.is_closed or len(window.unsent) < WINDOW)
                    if window.is_closed:
                        return
                    window.unsent.append(request)
                    self._changed.notify_all()
        except BaseException as error:
            self._failure = error
        with self._changed:
            window.is_closed = True
            self._changed.notify_all()


class AsyncBatchSender:
    """Feeds batches to one stream after another."""

    def __init__(self) -> None:
        self._window = SendWindow()
        self._changed = asyncio.Event()

    async def add(self, request: engine_pb2.EvaluateRequest) -> None:
        """Add a batch, once there is room."""
        await self._until(lambda: len(self._window.unsent) < WINDOW)
        self._window.unsent.append(request)
        self._changed.set()

    def end(self) -> None:
        """Mark the last batch as added."""
        self._window.is_closed = True
        self._changed.set()

    def close(self) -> None:
        """Send nothing more."""
        self._window.close()
        self._changed.set()

    def answered(self) -> engine_pb2.EvaluateRequest:
        """The batch that the next answer belongs to."""
        self._changed.set()
        return self._window.answered()

    async def stream(self) -> AsyncIterator[engine_pb2.EvaluateRequest]:
        """Requests for a new stream: the unanswered ones, then the rest as they arrive."""
        window = self._window
        number = window.begin()
        while True:
            await self._until(lambda: window.stream != number or window.can_send or window.is_done)
            if window.stream != number or window.is_done:
                return
            self._changed.set()
            yield window.send()

    async def _until(self, condition: Any) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

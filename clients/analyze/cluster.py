"""Turns searched on a cluster. This process reads, counts and writes; each node has its own daemons."""

import asyncio
import contextlib
import itertools
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from plyd.clients.analyze.answer import Answer
from plyd.clients.analyze.engines import Engines
from plyd.clients.analyze.query import BadQuery, Query
from plyd.clients.analyze.work import AHEAD, Turn, WorkQueue
from plyd.cluster import Fleet

__all__ = ["AHEAD", "WORKER", "AnalyzeWorker", "ClusterQueue"]

WORKER = "plyd.clients.analyze.cluster:AnalyzeWorker"
POLL_SECONDS = 0.05


class ClusterQueue(WorkQueue):
    """A queue whose turns are searched by a fleet."""

    def __init__(self, engines: Engines, answer: Callable[[Answer], None], fleet: Fleet) -> None:
        super().__init__(engines, answer)
        self._fleet = fleet
        self._capacity = 1  # turns that workers take
        self._keys = itertools.count()
        self._new: deque[tuple[int, Query]] = deque()
        self._dropped: deque[int] = deque()
        self._futures: dict[int, asyncio.Future[Answer]] = {}

    def add(self, query: Query, skip: Set[int] = frozenset()) -> None:
        """Queue the turns of a query; raises BadQuery if it wants what a cluster cannot do."""
        if query.report_every is not None:
            raise BadQuery(
                "reportEvery is not possible with --cluster: nodes send final answers", "reportEvery", query.id
            )
        super().add(query, skip)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """The block in which turns are searched."""
        pump = asyncio.ensure_future(self._pump())
        try:
            yield
        finally:
            pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pump

    async def _pump(self) -> None:
        """Pass jobs to the fleet and answers back. Only here is the fleet used."""
        try:
            while True:
                while self._dropped:
                    self._fleet.drop(self._dropped.popleft())
                while self._new:
                    number, query = self._new.popleft()
                    if number in self._futures:  # not terminated in between
                        self._fleet.give(number, query)
                for key, answer in await asyncio.to_thread(self._fleet.answers, POLL_SECONDS):
                    future = self._futures.pop(int(str(key)), None)
                    if future and not future.done():  # not terminated just now
                        future.set_result(answer)
                self._capacity = max(1, self._fleet.unfinished + self._fleet.room())
                self._dispatch()
        except Exception as error:
            self._break(error)

    def _has_room(self, query: Query) -> bool:  # noqa: ARG002
        return self._running < self._capacity

    async def _search(self, turn: Turn) -> Answer:
        key = next(self._keys)
        self._futures[key] = asyncio.get_running_loop().create_future()
        self._new.append((key, replace(turn.query, turns=(turn.turn,))))
        try:
            return await self._futures[key]
        except asyncio.CancelledError:
            self._futures.pop(key, None)
            self._dropped.append(key)
            raise


class NodeQueue(WorkQueue):
    """The queue of a node, where each query is waited for on its own."""

    def __init__(
        self, engines: Engines, answer: Callable[[Answer], None], futures: dict[str, asyncio.Future[Answer]]
    ) -> None:
        super().__init__(engines, answer)
        self._futures = futures

    def _failed(self, turn: Turn, error: BaseException) -> None:
        self._futures.pop(turn.query.id).set_exception(error)


class AnalyzeWorker:
    """Searches turns on a node, with private daemons of its own that are restarted when they are lost."""

    def __init__(self, settings: Mapping[str, Any], cores: int) -> None:  # noqa: ARG002
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._keys = itertools.count()
        self._futures: dict[str, asyncio.Future[Answer]] = {}
        self._queue = asyncio.run_coroutine_threadsafe(self._open(settings["store"]), self._loop).result()

    async def _open(self, store: str | None) -> WorkQueue:
        return NodeQueue(Engines(None, store), self._answered, self._futures)

    def work(self, query: Query) -> Answer:
        """The final answer to the only turn of a query."""
        return asyncio.run_coroutine_threadsafe(self._answer(query), self._loop).result()

    async def _answer(self, query: Query) -> Answer:
        key = str(next(self._keys))  # ids of queries need not differ once they are answered
        self._futures[key] = self._loop.create_future()
        self._queue.add(replace(query, id=key))
        return await self._futures[key] | {"id": query.id}

    def _answered(self, answer: Answer) -> None:
        if answer.get("final"):
            self._futures.pop(answer["id"]).set_result(answer)

"""One conversation with an engine: its game, its searcher, and the searches it runs."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import MEMORY, read_options
from plyd.engines.core.search import Limits, Report, Searcher
from plyd.engines.core.time_control import Budget
from plyd.servers.access.quotas import Client, Share
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import Record
from plyd.servers.search.scheduler import Priority

LEAST_PATIENCE_SECONDS = 0.05  # a request waits this long for a slot however short its time
NEVER_STOPPED = Stop()


class Told(NamedTuple):
    """A report, and how long its search had waited for a slot."""

    report: Report
    waited_seconds: float


class Search(NamedTuple):
    """A search ready for its slot, and how long it may wait for one."""

    job: Callable[[float], Told]
    patience_seconds: float | None


class Session:
    """A game and the searcher that follows it."""

    def __init__(self, record: Record, options: Mapping[str, str], runtime: Runtime, client: Client) -> None:
        self.record = record
        self._runtime = runtime
        self._options = read_options(record.engine.card.options, options)
        self._client = client
        self._share = Share(runtime.memory, client.memory)
        self._asks_for_memory = MEMORY in options
        self._answers_at_once = record.engine.answers_at_once(self._options)
        self._searcher: Searcher | None = None  # made in the first search's slot: who waits holds no memory

    def close(self) -> None:
        """The conversation is over: what its searcher held is free."""
        self._share.give_back()
        self._searcher = None

    async def final(self, limits: Limits, deadline_seconds: float | None) -> Told:
        """The search's final report."""
        if self._answers_at_once:
            return self._look_up(limits)
        stop = Stop()
        search = self._prepare(limits, deadline_seconds, stop, lambda _: None)
        with self._client.searching():
            return await self._runtime.searches.run(search.job, stop, search.patience_seconds)

    async def reports(
        self,
        limits: Limits,
        deadline_seconds: float | None,
        stop: Stop | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> AsyncGenerator[Told, None]:
        """The search's reports as they come. A slow reader misses some in between, never the final one."""
        if self._answers_at_once:
            yield self._look_up(limits)
            return
        stop = stop or Stop()
        mailbox = Mailbox()
        search = self._prepare(limits, deadline_seconds, stop, mailbox.put)
        with self._client.searching():
            running = self._runtime.searches.run(search.job, stop, search.patience_seconds, priority)
            task = asyncio.ensure_future(running)
            task.add_done_callback(lambda _: mailbox.wake())
            try:
                while True:
                    told = await mailbox.take()
                    if task.done():
                        break
                    if told:
                        yield told
                yield task.result()
            finally:
                task.cancel()

    def _look_up(self, limits: Limits) -> Told:
        """The only report of a searcher that needs no time."""
        watch = self._runtime.observer.search(self.record.engine.card.game, None)
        searcher = self._searcher = self._searcher or self._make_searcher()
        [report] = watch(searcher.search(self.record.position, limits, NEVER_STOPPED), 0.0)
        return Told(report, 0.0)

    def _prepare(
        self, limits: Limits, deadline_seconds: float | None, stop: Stop, put: Callable[[Told], None]
    ) -> Search:
        """A search of the game as it stands now, ready for its slot; `put` gets the reports before the final one.

        All time counts from now: whatever the wait for a slot takes is lost to the search.
        """
        position = self.record.position
        most_seconds = self._client.allowance.move_seconds
        budget = Budget.start(limits, caller_seconds=deadline_seconds, most_seconds=most_seconds)
        watch = self._runtime.observer.search(self.record.engine.card.game, budget.seconds)

        def job(waited: float) -> Told:
            searcher = self._searcher = self._searcher or self._make_searcher()
            for report in watch(searcher.search(position, budget.left_of(limits), stop), waited):
                told = Told(report, waited)
                if report.final:
                    return told
                put(told)
            raise AssertionError("a search ended without a final report")

        return Search(job, None if budget.seconds is None else max(budget.seconds, LEAST_PATIENCE_SECONDS))

    def _make_searcher(self) -> Searcher:
        """A searcher with its share of the memory: what was asked for, or what is left of the default."""
        engine, megabytes = self.record.engine, None
        if option := engine.memory_option:
            wanted = int(self._options[MEMORY])
            least = wanted if self._asks_for_memory else int(option.minimum or 0)
            megabytes = self._share.take(wanted, least)
        return engine.searcher(self.record.variant, self._options, megabytes)


class Mailbox:
    """Holds the latest report a search thread has put, until the event loop takes it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._has_news = asyncio.Event()
        self._lock = threading.Lock()
        self._latest: Told | None = None

    def put(self, told: Told) -> None:
        """Leave a report, in place of one not yet taken. Called by the search's thread."""
        with self._lock:
            is_first, self._latest = self._latest is None, told
        if is_first:
            self._loop.call_soon_threadsafe(self.wake)

    def wake(self) -> None:
        """Wake whoever waits in `take`. Called by the event loop's thread."""
        self._has_news.set()

    async def take(self) -> Told | None:
        """The latest report not yet taken, or None if somebody only woke us."""
        await self._has_news.wait()
        self._has_news.clear()
        with self._lock:
            told, self._latest = self._latest, None
        return told

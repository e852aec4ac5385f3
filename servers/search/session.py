"""A session: one game of one client, the searcher that follows it, and the searches it runs."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import MEMORY, read_options
from plyd.engines.core.search import Limits, Report, Searcher
from plyd.engines.core.time_control import Budget
from plyd.servers.access.quotas import Client, MemoryGrant
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import GameRecord
from plyd.servers.search.known_reports import Question, question_of
from plyd.servers.search.scheduler import Priority

MIN_WAIT_SECONDS = 0.05  # a request waits this long for a slot however short its time
NEVER_STOPPED = Stop()


class TimedReport(NamedTuple):
    """A report, the time its search waited for a slot, and whether it was known without a search."""

    report: Report
    waited_seconds: float
    is_known: bool = False


class PreparedSearch(NamedTuple):
    """A search that is ready to run, and how long it may wait for a slot; None is forever."""

    job: Callable[[float], TimedReport]
    max_wait_seconds: float | None


class Session:
    """A game and the searcher that follows it."""

    def __init__(self, record: GameRecord, options: Mapping[str, str], runtime: Runtime, client: Client) -> None:
        self.record = record
        self._runtime = runtime
        self._options = read_options(record.engine.card.options, options)
        self._client = client
        self._memory = MemoryGrant(runtime.memory, client.memory)
        self._asks_for_memory = MEMORY in options
        self._answers_at_once = record.engine.answers_at_once(self._options)
        self._searcher: Searcher | None = None  # made in the first search's slot: a waiting session holds no memory

    def close(self) -> None:
        """End the session and give its memory back."""
        self._memory.release()
        trash, self._searcher = [self._searcher], None
        with contextlib.suppress(RuntimeError):  # no event loop runs here, so this is a thread already
            if not self._answers_at_once:
                asyncio.get_running_loop().run_in_executor(None, trash.clear)  # unmapping a tree takes milliseconds

    async def final(self, limits: Limits, deadline_seconds: float | None) -> TimedReport:
        """The search's final report."""
        if self._answers_at_once:
            return self._answer_at_once(limits)
        question = question_of(self.record, self._options, limits)
        if known := self._recall(question):
            return known
        stop = Stop()
        search = self._prepare(limits, deadline_seconds, stop, lambda _: None)
        with self._client.searching():
            timed = await self._runtime.searches.run(search.job, stop, search.max_wait_seconds)
        self._remember(question, timed.report)
        return timed

    async def reports(
        self,
        limits: Limits,
        deadline_seconds: float | None,
        stop: Stop | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> AsyncGenerator[TimedReport, None]:
        """The search's reports as they arrive. A slow reader may miss some, but never the final one."""
        if self._answers_at_once:
            yield self._answer_at_once(limits)
            return
        question = question_of(self.record, self._options, limits)
        if known := self._recall(question):
            yield known
            return
        stop = stop or Stop()
        latest = LatestReport()
        search = self._prepare(limits, deadline_seconds, stop, latest.put)
        with self._client.searching():
            running = self._runtime.searches.run(search.job, stop, search.max_wait_seconds, priority)
            task = asyncio.ensure_future(running)
            task.add_done_callback(lambda _: latest.wake())
            try:
                while True:
                    timed = await latest.take()
                    if task.done():
                        break
                    if timed:
                        yield timed
                self._remember(question, task.result().report)
                yield task.result()
            finally:
                task.cancel()

    def _recall(self, question: Question | None) -> TimedReport | None:
        """The known answer to a question. The searcher is left as it is: its tree serves the next search."""
        report = self._runtime.known_reports.get(question) if question else None
        if report is None:
            return None
        self._runtime.observer.metrics.known[self.record.engine.card.game] += 1
        return TimedReport(report, 0.0, is_known=True)

    def _remember(self, question: Question | None, report: Report) -> None:
        if question:
            self._runtime.known_reports.put(question, report)

    def _answer_at_once(self, limits: Limits) -> TimedReport:
        """The only report of a searcher that needs no time."""
        watch = self._runtime.observer.search(self.record.engine.card.game, None)
        searcher = self._searcher = self._searcher or self._make_searcher()
        [report] = watch(searcher.search(self.record.position, limits, NEVER_STOPPED), 0.0)
        return TimedReport(report, 0.0)

    def _prepare(
        self, limits: Limits, deadline_seconds: float | None, stop: Stop, put: Callable[[TimedReport], None]
    ) -> PreparedSearch:
        """A search of the current position, ready for its slot; `put` gets the reports before the final one.

        Time counts from now on: time spent waiting for a slot is lost to the search.
        """
        position = self.record.position
        most_seconds = self._client.quotas.move_seconds
        budget = Budget.start(limits, caller_seconds=deadline_seconds, most_seconds=most_seconds)
        watch = self._runtime.observer.search(self.record.engine.card.game, budget.seconds)

        def job(waited: float) -> TimedReport:
            searcher = self._searcher = self._searcher or self._make_searcher()
            for report in watch(searcher.search(position, budget.left_of(limits), stop), waited):
                timed = TimedReport(report, waited)
                if report.final:
                    return timed
                put(timed)
            raise AssertionError("a search ended without a final report")

        return PreparedSearch(job, None if budget.seconds is None else max(budget.seconds, MIN_WAIT_SECONDS))

    def _make_searcher(self) -> Searcher:
        """A searcher with its memory: the amount the caller asked for, or what is left of the default."""
        engine, megabytes = self.record.engine, None
        if option := engine.memory_option:
            wanted = int(self._options[MEMORY])
            least = wanted if self._asks_for_memory else int(option.minimum or 0)
            megabytes = self._memory.take(wanted, least)
        return engine.searcher(self.record.variant, self._options, megabytes)


class LatestReport:
    """Passes the latest report from the search's thread to the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._has_news = asyncio.Event()
        self._lock = threading.Lock()
        self._latest: TimedReport | None = None

    def put(self, timed: TimedReport) -> None:
        """Store a report; it replaces one that was not taken yet. Called by the search's thread."""
        with self._lock:
            is_first, self._latest = self._latest is None, timed
        if is_first:
            self._loop.call_soon_threadsafe(self.wake)

    def wake(self) -> None:
        """Wake the task that waits in `take`. Called by the event loop's thread."""
        self._has_news.set()

    async def take(self) -> TimedReport | None:
        """The latest report that was not taken yet; None after a bare `wake`."""
        await self._has_news.wait()
        self._has_news.clear()
        with self._lock:
            timed, self._latest = self._latest, None
        return timed

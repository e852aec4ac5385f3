"""A session: one game of one client, the searcher that follows it, and the searches it runs."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import NamedTuple, TypeVar

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import MEMORY, Option, read_options
from plyd.engines.core.search import FastPlayer, GameSearcher, Limits, Report, Searcher
from plyd.engines.core.time_control import Budget
from plyd.servers.access.memory import MemoryGrant
from plyd.servers.access.quotas import Client
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import KEPT_PLIES, GameRecord
from plyd.servers.search.known.question import Question, question_of
from plyd.servers.search.slots.job import Priority

T = TypeVar("T")
MIN_WAIT_SECONDS = 0.05  # a request waits this long for a slot however short its time
NEVER_STOPPED = Stop()


class TimedReport(NamedTuple):
    """A report, the time its search waited for a slot, whether the game lost its memory before the search, and whether
    the report was known without a search.
    """

    report: Report
    waited_seconds: float
    memory_lost: bool = False
    is_known: bool = False


class PreparedSearch(NamedTuple):
    """A search that is ready to run."""

    job: Callable[[float], TimedReport]
    seconds: float | None  # its time limit; None: no limit
    max_wait_seconds: float | None  # how long it may wait for a slot; None is forever
    is_endless: bool  # without any limit


class Session:
    """A game and the searcher that follows it."""

    def __init__(
        self,
        record: GameRecord,
        options: Mapping[str, str],
        runtime: Runtime,
        client: Client,
        party: str,
    ) -> None:
        self.record = record
        self._runtime = runtime
        self._options = read_options(record.engine.card.options, options)
        self._client = client
        self._party = party
        self._memory = MemoryGrant(runtime.memory, client.memory)  # made use of in a slot: who waits holds no memory
        self._asks_for_memory = MEMORY in options
        self._instant: Searcher | None = None  # answers what needs no slot

    async def prepare(self) -> None:
        """Wait until the engine has loaded and compiled what this session's searches need."""
        engine = self.record.engine
        await self._runtime.parts.until_ready(engine, engine.search_parts(self.record.variant, self._options))

    async def fast_player(self, limits: Limits, seed: int) -> FastPlayer | None:
        """What makes many moves of this game at once, ready to use; None if the engine has nothing such."""
        engine, variant = self.record.engine, self.record.variant
        player = engine.fast_player(variant, self._options, limits, seed)
        if player:
            await self._runtime.parts.until_ready(engine, engine.fast_parts(variant))
        return player

    async def in_slot(self, work: Callable[[], T], stop: Stop) -> T:
        """What some milliseconds of work return, in a slot that no search needs. `stop` may serve again afterwards."""
        with self._client.searching():
            run = self._runtime.searches.run
            done = await run(lambda _: work(), stop, None, Priority.BACKGROUND, client=self._party)
        stop.resume()  # it may have been paused as the work ended
        return done

    async def change(self, work: Callable[[], T]) -> T:
        """What a change of the record, or a question about it, returns; in a thread if that may take long."""
        record = self.record
        if record.rules.is_quick and (len(record.moves) <= KEPT_PLIES or not record.has_history):
            return work()
        return await self._runtime.rules.run(self._party, work)

    def close(self) -> None:
        """End the session and give its memory back."""
        trash = [self._memory.release()]
        with contextlib.suppress(RuntimeError):  # no event loop runs here, so this is a thread already
            if trash[0] is not None:
                asyncio.get_running_loop().run_in_executor(None, trash.clear)  # unmapping a tree takes milliseconds

    def answers_at_once(self, limits: Limits) -> bool:
        """Whether a search of the current position takes microseconds, so that it has a single report."""
        return self.record.engine.answers_at_once(self.record.position, limits, self._options)

    async def final(self, limits: Limits, deadline_seconds: float | None) -> TimedReport:
        """The search's final report."""
        if self.answers_at_once(limits):
            return self._answer_at_once(limits)
        question = question_of(self.record, self._options, limits)
        budget = self._budget(limits, deadline_seconds)
        if known := await self._recall(question, budget.seconds):
            return known
        stop = Stop()
        search = self._prepare(limits, budget, stop, lambda _: None)
        with self._client.searching():
            timed = await self._run(search, stop, Priority.NORMAL)
        self._remember(question, timed.report)
        return timed

    async def reports(
        self,
        limits: Limits,
        deadline_seconds: float | None,
        stop: Stop | None = None,
        priority: Priority = Priority.NORMAL,
        *,
        in_game: bool = False,
    ) -> AsyncGenerator[TimedReport, None]:
        """The search's reports as they arrive. A slow reader may miss some, but never the final one.

        In a game, only proven reports are known: a search of its own gives the next one its tree.
        """
        if self.answers_at_once(limits):
            yield self._answer_at_once(limits)
            return
        question = question_of(self.record, self._options, limits)
        budget = self._budget(limits, deadline_seconds)
        if known := await self._recall(question, None if in_game else budget.seconds):
            yield known
            return
        stop = stop or Stop()
        latest = LatestReport()
        search = self._prepare(limits, budget, stop, latest.put)
        with self._client.searching():
            if search.is_endless and priority is Priority.NORMAL:
                priority = Priority.BACKGROUND
            task = asyncio.ensure_future(self._run(search, stop, priority))
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

    async def _run(self, search: PreparedSearch, stop: Stop, priority: Priority) -> TimedReport:
        """The final report of a search, once it has had its slot."""
        return await self._runtime.searches.run(
            search.job, stop, search.max_wait_seconds, priority, client=self._party, seconds=search.seconds
        )

    async def _recall(self, question: Question | None, seconds: float | None) -> TimedReport | None:
        """The known answer to a question, for a caller who allows so much time (None: a proven one).

        The searcher is left as it is: its tree serves the next search.
        """
        report = await self._runtime.known_reports.find(question, seconds) if question else None
        if report is None:
            return None
        self._runtime.observer.metrics.known[self.record.engine.card.game] += 1
        return TimedReport(report, 0.0, is_known=True)

    def _remember(self, question: Question | None, report: Report) -> None:
        if question:
            self._runtime.known_reports.put(question, report)

    def _answer_at_once(self, limits: Limits) -> TimedReport:
        """The only report of a search that needs no time."""
        engine = self.record.engine
        watch = self._runtime.observer.search(engine.card.game, None)
        searcher = self._instant = self._instant or engine.searcher(self.record.variant, self._options, 0)
        [report] = watch(searcher.search(self.record.position, limits, NEVER_STOPPED), 0.0)
        return TimedReport(report, 0.0)

    def _budget(self, limits: Limits, deadline_seconds: float | None) -> Budget:
        """The time of a search. It counts from now on: time spent waiting for a slot is lost to the search."""
        most_seconds = self._client.quotas.move_seconds
        return Budget.start(limits, caller_seconds=deadline_seconds, most_seconds=most_seconds)

    def _prepare(
        self, limits: Limits, budget: Budget, stop: Stop, put: Callable[[TimedReport], None]
    ) -> PreparedSearch:
        """A search of the current position, ready for its slot; `put` gets the reports before the final one."""
        position = self.record.position
        watch = self._runtime.observer.search(self.record.engine.card.game, budget.seconds)

        def job(waited: float) -> TimedReport:
            searcher, memory_lost = self._ready_searcher()
            if isinstance(searcher, GameSearcher):
                searcher.follow(self.record.start, self.record.moves)
            try:
                for report in watch(searcher.search(position, budget.left_of(limits), stop), waited):
                    timed = TimedReport(report, waited, memory_lost)
                    if report.final:
                        return timed
                    put(timed)
            finally:
                if self.record.engine.memory_option:
                    self._memory.rest(searcher.touched_megabytes())
            raise AssertionError("a search ended without a final report")

        is_endless = budget.seconds is None and limits.max_nodes is None and limits.max_depth is None
        max_wait_seconds = None if budget.seconds is None else max(budget.seconds, MIN_WAIT_SECONDS)
        return PreparedSearch(job, budget.seconds, max_wait_seconds, is_endless)

    def _ready_searcher(self) -> tuple[Searcher, bool]:
        """The game's searcher with its memory charged, and whether it is new because the game lost its last one."""
        engine, grant = self.record.engine, self._memory
        if engine.memory_option is None:
            searcher = grant.searcher = grant.searcher or engine.searcher(self.record.variant, self._options, None)
            return searcher, False
        megabytes = grant.take(*self._wanted_memory(engine.memory_option))
        try:
            searcher = grant.searcher = grant.searcher or engine.searcher(self.record.variant, self._options, megabytes)
        except BaseException:
            grant.rest(0)
            raise
        return searcher, grant.has_lost()

    def _wanted_memory(self, option: Option) -> tuple[int, int]:
        """The megabytes a searcher should have, and the fewest: the same if the caller asked for an amount.

        Else it should have its share, so that all slots can be used: one share is left for those that take turns.
        """
        wanted, slots = int(self._options[MEMORY]), self._runtime.capacity.slots
        if self._asks_for_memory:
            return wanted, wanted
        least = int(option.minimum or 0)
        share = min(
            self._runtime.memory.share(slots + 1), self._client.memory.share(self._client.quotas.searches or slots + 1)
        )
        return min(wanted, max(least, share)), least


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

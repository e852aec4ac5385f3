"""The queue of turns to search. Each turn that is added ends in exactly one final answer, whatever happens."""

import asyncio
import functools
import heapq
import itertools
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Set
from contextlib import aclosing, asynccontextmanager, contextmanager

from plyd.clients.analyze.answer import Answer, error_answer, report_answer
from plyd.clients.analyze.engines import Engines
from plyd.clients.analyze.query import BadQuery, Query
from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.errors import Cancelled, InvalidRequest, Overloaded, PlydError, Unavailable
from plyd.clients.library.report import Report
from plyd.v1 import position_pb2, search_pb2

TRIES = 3  # of a turn whose daemon is lost during the search, or does not come back
AHEAD = 2  # searches for each slot, where waiting for one costs no search time: the next is there when one ends
MOST_EARLY = 0.05  # of its time limit: a timed search is asked for so much before a slot comes free, at most
LEAST_PAUSE, MOST_PAUSE = 0.02, 5.0  # seconds, before a daemon that had no free slot is asked again
MOST_WAITING = 100_000  # turns; then no further line is read until some are done
STEP = 64  # moves sent with a position, where many turns of one game are searched
MOST_MOVES = 4096  # moves that a daemon accepts with a position


class Positions:
    """The positions of a query's game by turn. A long game is sent in steps, from positions on its way."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._step = STEP if len(query.turns) > 1 else MOST_MOVES
        self._starts = [query.start]  # as text, every so many moves
        self._walking = asyncio.Lock()

    async def at(self, turn: int, client: AsyncEngineClient) -> tuple[position_pb2.Position, int]:
        """The position at a turn, and the turn at which its start is."""
        step = turn // self._step
        async with self._walking:
            while (known := len(self._starts) - 1) < step:
                with counted_from(known * self._step):
                    state = await client.inspect(self._from(known, (known + 1) * self._step))
                self._starts.append(state.text)
        return self._from(step, turn), step * self._step

    def _from(self, step: int, turn: int) -> position_pb2.Position:
        query = self._query
        moves = query.moves[step * self._step : turn]
        return position_pb2.Position(game=query.game, variant=query.variant, start=self._starts[step], moves=moves)


class Turn:
    """One turn of a query on its way to its final answer."""

    def __init__(self, query: Query, turn: int, positions: Positions) -> None:
        self.query = query
        self.turn = turn
        self.positions = positions
        self.is_over = False
        self.task: asyncio.Task[Answer] | None = None  # once it is being searched
        self.is_ending = False  # its time is nearly over
        self.last: Report | None = None  # of the search so far
        self._next_report = 0.0

    def is_report_due(self) -> bool:
        """Whether an answer is wanted now, during the search."""
        if self.query.report_every is None or (now := time.monotonic()) < self._next_report:
            return False
        self._next_report = now + self.query.report_every
        return True

    def begin_reports(self) -> None:
        """The search begins, and the time until its first answer with it."""
        if self.query.report_every is not None:
            self._next_report = time.monotonic() + self.query.report_every

    def answer(self, report: Report, *, final: bool) -> Answer:
        """The answer that a report gives."""
        return report_answer(self.query.id, self.turn, report, final=final)

    def cut_off(self) -> Answer:
        """The final answer of a turn that was terminated."""
        if self.last:
            return self.answer(self.last, final=True)
        return {"id": self.query.id, "turn": self.turn, "final": True, "noResults": True}


class WorkQueue:
    """Searches turns, the most urgent first, as many at once as the daemons have slots, or as many as `workers`."""

    def __init__(self, engines: Engines, answer: Callable[[Answer], None], workers: int | None = None) -> None:
        self._engines = engines
        self._answer = answer
        self._workers = workers
        self._heap: list[tuple[int, int, Turn]] = []
        self._order = itertools.count()
        self._by_id: dict[str, set[Turn]] = {}
        self._running = 0
        self._ending = 0  # of those that run
        self._overhead = 0.0  # mean seconds of a call beside its search: until a slot has its next search
        self._changed = asyncio.Event()
        self._fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.total = self.done = self.errors = 0

    def add(self, query: Query, skip: Set[int] = frozenset()) -> None:
        """Queue the turns of a query, except those to skip; raises BadQuery if its id is in use."""
        if query.id in self._by_id:
            raise BadQuery(f"id {query.id!r} is that of a query that is not finished", "id", query.id)
        positions = Positions(query)
        turns = [Turn(query, turn, positions) for turn in query.turns if turn not in skip]
        if turns:
            self._by_id[query.id] = set(turns)
        for turn in turns:
            heapq.heappush(self._heap, (-query.priority, next(self._order), turn))
        self.total += len(turns)
        self._dispatch()

    def terminate(self, query_id: str | None = None, turns: Set[int] | None = None, *, waiting: bool = False) -> None:
        """End these turns: of one query or of all, all turns or some, those that wait or all."""
        ids = list(self._by_id) if query_id is None else [query_id]
        for turn in [turn for one in ids for turn in self._by_id.get(one, ())]:
            if turns is not None and turn.turn not in turns:
                continue
            if turn.task is None:
                self._end(turn, turn.cut_off())
            elif not waiting:
                turn.task.cancel()  # its final answer comes when the task has ended

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """The block in which turns are searched."""
        yield

    async def room(self) -> None:
        """Wait until few enough turns wait."""
        await self._until(lambda: self.total - self.done < MOST_WAITING)

    async def idle(self) -> None:
        """Wait until every turn has its final answer."""
        await self._until(lambda: self.done == self.total)

    async def broken(self) -> None:
        """Never ends, unless nothing can be searched any more: then it raises why."""
        await asyncio.shield(self._fault)

    async def _until(self, claim: Callable[[], bool]) -> None:
        while True:
            if self._fault.done():
                self._fault.result()  # raises it
            if claim():
                return
            self._changed.clear()
            await self._changed.wait()

    def _dispatch(self) -> None:
        """Begin the turns for which there is room."""
        while self._heap:
            turn = self._heap[0][2]
            if not turn.is_over and not self._has_room(turn.query):
                return
            heapq.heappop(self._heap)
            if turn.is_over:  # terminated while it waited
                continue
            self._running += 1
            turn.task = asyncio.ensure_future(self._search(turn))
            turn.task.add_done_callback(functools.partial(self._searched, turn))

    def _has_room(self, query: Query) -> bool:
        """Whether a search of this query may begin.

        Time in a daemon's queue is lost to a timed search, so it is asked for only just before a slot comes free.
        """
        if self._workers is not None:
            return self._running < self._workers
        slots = self._engines.slots
        return self._running < AHEAD * slots and (not query.is_timed or self._running - self._ending < slots)

    def _expect_end(self, turn: Turn) -> None:
        """Make room for the next search shortly before the time of this one is over."""
        self._set_ending(turn, False)
        if (ms := turn.query.limits.move_time_ms) is not None:
            seconds = ms / 1000
            early = min(2 * self._overhead, MOST_EARLY * seconds)
            asyncio.get_running_loop().call_later(seconds - early, self._nearly_over, turn)

    def _nearly_over(self, turn: Turn) -> None:
        if not turn.is_over:
            self._set_ending(turn, True)
            self._dispatch()

    def _set_ending(self, turn: Turn, is_ending: bool) -> None:
        self._ending += is_ending - turn.is_ending
        turn.is_ending = is_ending

    def _searched(self, turn: Turn, task: "asyncio.Task[Answer]") -> None:
        self._running -= 1
        self._set_ending(turn, False)
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            self._end(turn, turn.cut_off())
        elif isinstance(error, PlydError):
            self._end(turn, error_answer(turn.query.id, error, turn.turn))
        elif error:
            self._failed(turn, error)
        else:
            self._end(turn, task.result())
        self._dispatch()

    def _failed(self, turn: Turn, error: BaseException) -> None:  # noqa: ARG002
        """A search has failed by a mistake of ours, or of the machine."""
        self._break(error)

    def _break(self, error: BaseException) -> None:
        """Nothing is searched any more: whoever waits for the queue raises the error."""
        if not self._fault.done():
            self._fault.set_exception(error)
        self._changed.set()

    def _end(self, turn: Turn, answer: Answer) -> None:
        """Give a turn its final answer."""
        turn.is_over = True
        turns = self._by_id[turn.query.id]
        turns.discard(turn)
        if not turns:
            del self._by_id[turn.query.id]
        self.done += 1
        self.errors += "error" in answer
        self._answer(answer)
        self._changed.set()

    async def _search(self, turn: Turn) -> Answer:
        """The final answer to a turn. Waits for a slot, and for a daemon that is away, and tries again."""
        tries = 0
        while True:
            client = await self._engines.client(turn.query.game)
            self._dispatch()  # the slots are known now
            try:
                return turn.answer(await self._attempt(turn, client), final=True)
            except Overloaded as busy:
                await asyncio.sleep(min(MOST_PAUSE, max(LEAST_PAUSE, busy.retry_seconds)))
            except (Unavailable, Cancelled) as lost:  # cancelled: another turn has found a private daemon dead
                tries += 1
                if tries == TRIES:
                    raise
                if isinstance(lost, Unavailable):
                    await self._engines.lost(client)

    async def _attempt(self, turn: Turn, client: AsyncEngineClient) -> Report:
        position, begun = await turn.positions.at(turn.turn, client)
        turn.begin_reports()
        self._expect_end(turn)
        began = time.monotonic()
        with counted_from(begun):
            async with aclosing(client.analyze(position, **turn.query.search_args())) as reports:
                async for report in reports:
                    if report.stop_reason == search_pb2.STOP_REASON_STOPPED:
                        raise Unavailable("the daemon shuts down")  # not our doing: search again
                    if report.final:
                        spent = (report.elapsed_us + report.waited_us) / 1e6
                        self._overhead += 0.1 * (max(0.0, time.monotonic() - began - spent) - self._overhead)
                        return report
                    turn.last = report
                    if turn.is_report_due():
                        self._answer(turn.answer(report, final=False))
        raise Unavailable("the daemon ended the search without a final report")


@contextmanager
def counted_from(begun: int) -> Iterator[None]:
    """Number the moves in error messages from the start of the game, where a position starts later."""
    try:
        yield
    except InvalidRequest as error:
        if begun:
            text = re.sub(r"^move (\d+):", lambda found: f"move {int(found[1]) + begun}:", str(error))
            error.args = (text,)
        raise


def finished(answers: Iterable[Answer]) -> dict[str, set[int]]:
    """The turns that answers of an earlier run have searched to the end, by query."""
    done: dict[str, set[int]] = {}
    for answer in answers:
        if answer.get("final") and "score" in answer and answer.get("stopReason") != "stopped":
            done.setdefault(answer["id"], set()).add(answer["turn"])
    return done

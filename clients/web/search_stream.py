"""The searches of one page: a Play stream that follows the game from move to move and shares the daemon's time."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from plyd.clients.library.aio import AsyncGame
from plyd.clients.library.errors import Cancelled, Overloaded, Unavailable
from plyd.clients.library.report import Report
from plyd.clients.library.requests import LimitArgs
from plyd.clients.web.daemons import DaemonLink
from plyd.clients.web.fair_queue import TimeSlice
from plyd.v1 import position_pb2, search_pb2

MIN_SECONDS = 0.01  # for a search that continues after it gave way
STOP_AGAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class PageQuery:
    """What a page asks of a search: a position, limits, and the number of lines of play."""

    position: position_pb2.Position
    seconds: float | None = None
    nodes: int | None = None
    depth: int | None = None
    remaining: float | None = None  # seconds on a clock
    increment: float = 0.0  # seconds that the clock gains after each move
    lines: int = 1
    use_store: bool = False  # whether what the daemon's store knows answers
    options: dict[str, str] = field(default_factory=dict)


class SearchStream:
    """Keeps one Play stream open and moves it along with the game, so that the engine's tree is reused."""

    def __init__(self, *, is_spare: bool = False) -> None:
        self._is_spare = is_spare  # its searches wait for slots that nobody else wants
        self._game: AsyncGame | None = None
        self._key: tuple[object, ...] = ()
        self._moves: list[str] = []

    @property
    def points(self) -> float:
        """Points of the game where the stream is; 0 if it is closed."""
        return self._game.state.points if self._game else 0.0

    def close(self) -> None:
        """Close the stream; a running search is cancelled."""
        if self._game:
            self._game.close()
        self._game = None

    async def search(
        self, link: DaemonLink, query: PageQuery, stopped: asyncio.Event, on_queue: Callable[[int], None]
    ) -> AsyncGenerator[Report, None]:
        """Reports, the last one final.

        The search gives way to other pages and continues later, and waits for a daemon that is down. Once `stopped` is
        set, it ends with the best move so far.
        """
        spent = 0.0
        while True:
            report = None
            try:
                async with link.queue.time_slice(on_queue, is_spare=self._is_spare) as time_slice:
                    began = time.monotonic()
                    reports = self._search_slice(link, query, spent, time_slice, stopped)
                    async with contextlib.aclosing(reports):
                        async for report in reports:
                            if not report.final:
                                yield report
                    spent += time.monotonic() - began
            except Cancelled:  # the stream is gone; a new one will do
                self.close()
                continue
            except Unavailable:
                self.close()
                if not await self._wait_for_daemon(link, stopped):
                    raise
                continue
            except Overloaded as error:
                if stopped.is_set():
                    raise
                await asyncio.sleep(error.retry_seconds or 1.0)
                continue
            assert report is not None
            was_interrupted = report.stop_reason == search_pb2.STOP_REASON_STOPPED and not stopped.is_set()
            is_spent = query.seconds is not None and spent >= query.seconds - MIN_SECONDS
            if is_spent or not was_interrupted:
                if was_interrupted:
                    report.message.stop_reason = search_pb2.STOP_REASON_TIME
                yield report
                return
            report.message.final = False  # it gave way, or the daemon shuts down: search on
            yield report

    async def _search_slice(
        self, link: DaemonLink, query: PageQuery, spent: float, time_slice: TimeSlice, stopped: asyncio.Event
    ) -> AsyncGenerator[Report, None]:
        """The reports of one time slice; the last one is final for the daemon."""
        game = await self._game_at(link, query)
        limits = LimitArgs(lines=query.lines, nodes=query.nodes, depth=query.depth)
        if query.seconds is not None:
            limits["seconds"] = max(MIN_SECONDS, query.seconds - spent)
        if query.remaining is not None:
            limits["remaining_seconds"] = max(MIN_SECONDS, query.remaining - spent)
            limits["increment_seconds"] = query.increment
        stopping = asyncio.ensure_future(self._stop_in_time(game, time_slice, stopped))
        try:
            use_store = query.use_store and not spent  # later, it would know the pieces of this very search
            async with contextlib.aclosing(game.go(use_store=use_store, **limits)) as reports:  # type: ignore[type-var]
                async for report in reports:
                    yield report
        finally:
            stopping.cancel()

    async def _stop_in_time(self, game: AsyncGame, time_slice: TimeSlice, stopped: asyncio.Event) -> None:
        """Stop the search when its time slice is over, or when the page asks for it."""
        waits = [asyncio.ensure_future(time_slice.over.wait()), asyncio.ensure_future(stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            while True:  # once is enough, unless the stop overtakes the command to search
                await asyncio.shield(game.stop())  # gRPC gives up a whole stream if one write on it is cancelled
                await asyncio.sleep(STOP_AGAIN_SECONDS)
        finally:
            for wait in waits:
                wait.cancel()

    async def _game_at(self, link: DaemonLink, query: PageQuery) -> AsyncGame:
        """The stream's game at the query's position: moved there from the last position if it is the same game."""
        position = query.position
        key = (link.address, position.game, position.variant, position.start, tuple(sorted(query.options.items())))
        moves = list(position.moves)
        if self._game is None or key != self._key:
            self.close()
            self._game = await link.client.play(position, options=query.options)
            self._key, self._moves = key, moves
            return self._game
        same = 0
        for ours, theirs in zip(self._moves, moves, strict=False):
            if ours != theirs:
                break
            same += 1
        if same < len(self._moves):
            await self._game.take_back(len(self._moves) - same)
            self._moves = self._moves[:same]
        if same < len(moves):
            await self._game.moves(*moves[same:])
            self._moves = moves
        return self._game

    async def _wait_for_daemon(self, link: DaemonLink, stopped: asyncio.Event) -> bool:
        """Wait until a daemon is up again; False if the page stopped the search meanwhile."""
        waits = [asyncio.ensure_future(stopped.wait()), asyncio.ensure_future(link.serving.wait())]
        try:
            await asyncio.sleep(0.2)  # the health watch notices a failure a little later than calls do
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return not stopped.is_set()
        finally:
            for wait in waits:
                wait.cancel()

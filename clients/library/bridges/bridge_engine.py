"""The engine behind a bridge: the connection to its daemon, and one stream that follows the manager's game."""

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from plyd.clients.library.aio import AsyncEngineClient, AsyncGame, cancelled_call
from plyd.clients.library.connect.locate import LEAVE_SECONDS, DaemonSource
from plyd.clients.library.errors import Cancelled, DaemonFault, Overloaded, PlydError, TimedOut, Unavailable
from plyd.clients.library.report import Report
from plyd.clients.library.requests import LimitArgs, Retry
from plyd.clients.library.state import State
from plyd.v1 import engine_pb2, position_pb2

ANSWER_SECONDS = 5.0  # timeout of Describe
CONNECT_SECONDS = 5.0  # retries of the first connection
WARM_UP_SECONDS = 0.05  # search before the first game, because a daemon's first search starts slowly
SETTLE_SECONDS = 0.05  # a late search may still end within this time before the next one starts
FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.02, 1.0  # between retries
TRANSIENT = (Unavailable, Overloaded, TimedOut, DaemonFault, Cancelled)  # errors worth a retry


class EnginePosition(NamedTuple):
    """A position in the engine's notation: a start, "" for the usual one, and the moves from there."""

    start: str
    moves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BridgeQuery:
    """Arguments of a search: position, variant, engine options, and limits other than a time for this move."""

    position: EnginePosition
    variant: str
    options: Mapping[str, str] = field(default_factory=dict)
    nodes: int | None = None
    depth: int | None = None
    remaining_seconds: float | None = None  # on the game clock
    increment_seconds: float = 0.0


class BridgeEngine:
    """Searches over one stream as long as it lasts, so that the engine keeps its tree between moves."""

    def __init__(self, place: DaemonSource, game: str) -> None:
        self.known: dict[str, engine_pb2.Option] = {}  # options of the engine
        self.variants: list[str] = []  # of the game, the default one first
        self.trouble = ""  # the last search's problem with its daemon
        self._place = place
        self._name = game
        self._client: AsyncEngineClient | None = None
        self._game: AsyncGame | None = None
        self._asked: BridgeQuery | None = None  # the query whose position the stream has now
        self._search: asyncio.Task[None] | None = None  # the last search, which may still run
        self._is_stopped = False

    async def ready(self, options: Mapping[str, str]) -> None:
        """Return when the engine is ready and has accepted the options; raise its error otherwise."""
        await self._settle()
        retry = Retry(CONNECT_SECONDS)
        while True:
            try:
                is_new = self._client is None
                game = await self._follow(BridgeQuery(EnginePosition("", ()), "", options))
                if is_new:
                    await game.best(seconds=WARM_UP_SECONDS)
                return
            except PlydError as error:
                self._drop_stream(error)
                await asyncio.sleep(retry.delay_after(error))

    async def state(self, query: BridgeQuery) -> State:
        """What the rules say about a query's position; raises PlydError if it is not valid."""
        await self._settle()
        try:
            return (await self._follow(query)).state
        except PlydError as error:
            self._drop_stream(error)
            raise

    async def search(self, query: BridgeQuery, end: float, late: float, on_report: Callable[[Report], None]) -> None:
        """Search until `end` by the loop's clock, infinity if no time ends it; `on_report` gets the reports.

        Retries while the daemon is unavailable or overloaded, and once after a fault. Raises TimeoutError at `late`.
        """
        await self._settle()
        self.trouble, self._is_stopped = "", False
        self._search = search = asyncio.ensure_future(self._search_with_retries(query, end, on_report))
        try:
            left = None if late == math.inf else late - asyncio.get_running_loop().time()
            done, _ = await asyncio.wait({search}, timeout=left)
        except asyncio.CancelledError:
            await self._cancel()
            raise
        if not done:
            await self.stop()  # it may still end, and its tree is kept for the next move
            raise TimeoutError
        search.result()

    async def _search_with_retries(self, query: BridgeQuery, end: float, on_report: Callable[[Report], None]) -> None:
        faults, delay = 0, FIRST_DELAY_SECONDS
        while True:
            try:
                game = await self._follow(query)
                left = 0.0 if self._is_stopped else max(end - asyncio.get_running_loop().time(), 0.0)
                thinking: LimitArgs = {"nodes": query.nodes, "depth": query.depth}
                if left < math.inf:
                    thinking["seconds"] = left
                if query.remaining_seconds is not None:
                    thinking["remaining_seconds"] = query.remaining_seconds
                    thinking["increment_seconds"] = query.increment_seconds
                async for report in game.go(**thinking):
                    on_report(report)
                return
            except PlydError as error:
                self._drop_stream(error)
                self.trouble = str(error)
                faults += isinstance(error, DaemonFault)
                if faults > 1 or not isinstance(error, TRANSIENT):
                    raise
                await asyncio.sleep(delay)
                delay = min(delay * 2, MAX_DELAY_SECONDS)

    async def _settle(self) -> None:
        """Wait briefly for a late search; cancel it, and close its stream, if it still runs."""
        if self._search and not self._search.done():
            await asyncio.wait({self._search}, timeout=SETTLE_SECONDS)
        await self._cancel()

    async def _cancel(self) -> None:
        """Cancel the running search, if there is one, and close its stream: gRPC ends a stream with its reader."""
        search, self._search = self._search, None
        if search and not search.done():
            search.cancel()
            await asyncio.wait({search})
            self._close_stream()
        elif search and not search.cancelled():
            search.exception()  # retrieved, so that asyncio does not log it

    async def stop(self) -> None:
        """Stop the running search; its final report still arrives."""
        self._is_stopped = True
        if self._game and self._asked:
            with contextlib.suppress(Cancelled), cancelled_call():  # concurrent writes end a stream; the search retries
                await self._game.stop()

    async def close(self) -> None:
        """Disconnect, and stop a private daemon."""
        await self._cancel()
        self._close_stream()
        if self._client:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS / 2):
                    await self._client.close()
        self._place.close()

    async def _follow(self, query: BridgeQuery) -> AsyncGame:
        """The stream at the query's position: by moves if it continues the same game, otherwise a new stream."""
        client = await self._connect()
        game, asked = self._game, self._asked
        self._asked = None  # unknown until all moves are sent
        if game and asked and is_continuation(asked, query):
            kept = common_moves(asked.position.moves, query.position.moves)
            if kept < len(asked.position.moves):
                await game.take_back(len(asked.position.moves) - kept)
            if kept < len(query.position.moves):
                await game.moves(*query.position.moves[kept:])
        else:
            self._close_stream()
            start, moves = query.position
            position = position_pb2.Position(game=self._name, variant=query.variant, start=start, moves=moves)
            self._game = game = await client.play(position, options=query.options)
        self._asked = query
        return game

    async def _connect(self) -> AsyncEngineClient:
        if self._client is None:
            client = AsyncEngineClient(await self._place.target(), self._name, retry_seconds=0.0)
            [info] = (await client.describe(ANSWER_SECONDS)).engines
            self.known = {option.name: option for option in info.options}
            self.variants = [variant.name for variant in info.variants]
            self._client = client
        return self._client

    def _drop_stream(self, error: PlydError) -> None:
        """Close a stream that failed, and disconnect if its daemon is unavailable."""
        self._close_stream()
        if isinstance(error, Unavailable):
            self._client = None
            self._place.lost()

    def _close_stream(self) -> None:
        if self._game:
            self._game.close()
        self._game = self._asked = None


def is_continuation(one: BridgeQuery, other: BridgeQuery) -> bool:
    """Whether two queries belong to the same game: same start, variant and options."""
    return (one.position.start, one.variant, one.options) == (other.position.start, other.variant, other.options)


def common_moves(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Number of moves that two games have in common from their start."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

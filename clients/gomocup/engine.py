"""The engine behind a Gomocup bridge: where its daemon is, and one game that follows the manager's."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from plyd.clients.gomocup.board import Setup
from plyd.clients.library.aio import AsyncEngineClient, AsyncGame, cancelled_call
from plyd.clients.library.errors import Cancelled, DaemonFault, Overloaded, PlydError, TimedOut, Unavailable
from plyd.clients.library.locate import LEAVE_SECONDS, DaemonSource
from plyd.clients.library.requests import LimitArgs, Position, Report, Retry
from plyd.v1 import engine_pb2

GAME = "gomoku"
ANSWER_SECONDS = 5.0  # for a daemon to say who it is
CONNECT_SECONDS = 5.0  # for a daemon somewhere else to be there at all
WARM_UP_SECONDS = 0.05  # of searching before the first game: a daemon's first search begins slowly
SETTLE_SECONDS = 0.05  # for a search that was late, when the next one wants to begin
FIRST_DELAY_SECONDS, MOST_DELAY_SECONDS = 0.02, 1.0  # before a daemon is asked again
PASSING = (Unavailable, Overloaded, TimedOut, DaemonFault, Cancelled)  # errors that may not come again


@dataclass(frozen=True, slots=True)
class Question:
    """What the engine is asked: a position, the rules, its options, and limits other than time."""

    setup: Setup
    variant: str
    options: Mapping[str, str] = field(default_factory=dict)
    nodes: int | None = None
    depth: int | None = None


class Brain:
    """Asks the engine, over one stream for as long as that lasts, so that it keeps what it found out."""

    def __init__(self, place: DaemonSource) -> None:
        self.known: dict[str, engine_pb2.Option] = {}  # options of the engine
        self.trouble = ""  # that the last search had with its daemon
        self._place = place
        self._client: AsyncEngineClient | None = None
        self._game: AsyncGame | None = None
        self._asked: Question | None = None  # what the stream's game stands at
        self._search: asyncio.Task[None] | None = None  # the last one, which may still run
        self._is_stopped = False

    async def ready(self, options: Mapping[str, str]) -> None:
        """Return once the engine is there and takes the options; raise what it says if not."""
        await self._settle()
        retry = Retry(CONNECT_SECONDS)
        while True:
            try:
                is_new = self._client is None
                game = await self._follow(Question(Setup("", ()), "", options))
                if is_new:
                    await game.best(seconds=WARM_UP_SECONDS)
                return
            except PlydError as error:
                self._drop(error)
                await asyncio.sleep(retry.delay_after(error))

    async def search(self, question: Question, end: float, late: float, told: Callable[[Report], None]) -> None:
        """Search until `end` by the loop's clock; `told` gets the reports, of which the last is final.

        A daemon that is away or overloaded is waited for, and one that fails asked once more; TimeoutError at `late`.
        """
        await self._settle()
        self.trouble, self._is_stopped = "", False
        self._search = search = asyncio.ensure_future(self._persist(question, end, told))
        try:
            done, _ = await asyncio.wait({search}, timeout=late - asyncio.get_running_loop().time())
        except asyncio.CancelledError:
            await self._give_up()
            raise
        if not done:
            await self.stop()  # it may still end well, and what it found out serves for the next move
            raise TimeoutError
        search.result()

    async def _persist(self, question: Question, end: float, told: Callable[[Report], None]) -> None:
        faults, delay = 0, FIRST_DELAY_SECONDS
        while True:
            try:
                game = await self._follow(question)
                left = 0.0 if self._is_stopped else max(end - asyncio.get_running_loop().time(), 0.0)
                thinking: LimitArgs = {"seconds": left, "nodes": question.nodes, "depth": question.depth}
                async for report in game.go(**thinking):
                    told(report)
                return
            except PlydError as error:
                self._drop(error)
                self.trouble = str(error)
                faults += isinstance(error, DaemonFault)
                if faults > 1 or not isinstance(error, PASSING):
                    raise
                await asyncio.sleep(delay)
                delay = min(delay * 2, MOST_DELAY_SECONDS)

    async def _settle(self) -> None:
        """See a search off that was late; if it does not end now either, its stream is given up."""
        if self._search and not self._search.done():
            await asyncio.wait({self._search}, timeout=SETTLE_SECONDS)
        await self._give_up()

    async def _give_up(self) -> None:
        """End the search that runs, if one does, and its stream with it: gRPC ends one whose reader is cancelled."""
        search, self._search = self._search, None
        if search and not search.done():
            search.cancel()
            await asyncio.wait({search})
            self._hang_up()
        elif search and not search.cancelled():
            search.exception()  # nobody else may have asked

    async def stop(self) -> None:
        """Ask the search that runs to end; its final report comes as ever."""
        self._is_stopped = True
        if self._game and self._asked:
            with (
                contextlib.suppress(Cancelled),
                cancelled_call(),
            ):  # two writes at once end a stream; search asks again
                await self._game.stop()

    async def close(self) -> None:
        """Hang up, and let a daemon of our own go."""
        await self._give_up()
        self._hang_up()
        if self._client:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS / 2):
                    await self._client.close()
        self._place.close()

    async def _follow(self, question: Question) -> AsyncGame:
        """The stream's game, brought to a position: by its moves if it is the same game, or else anew."""
        client = await self._connect()
        game, asked = self._game, self._asked
        self._asked = None  # nobody knows, until we are there
        if game and asked and is_same_game(asked, question):
            kept = common(asked.setup.moves, question.setup.moves)
            if kept < len(asked.setup.moves):
                await game.take_back(len(asked.setup.moves) - kept)
            if kept < len(question.setup.moves):
                await game.moves(*question.setup.moves[kept:])
        else:
            self._hang_up()
            start, moves = question.setup
            position = Position(game=GAME, variant=question.variant, start=start, moves=moves)
            self._game = game = await client.play(position, **question.options)
        self._asked = question
        return game

    async def _connect(self) -> AsyncEngineClient:
        if self._client is None:
            client = AsyncEngineClient(await self._place.target(), GAME, retry_seconds=0.0)
            [info] = (await client.describe(ANSWER_SECONDS)).engines
            self.known = {option.name: option for option in info.options}
            self._client = client
        return self._client

    def _drop(self, error: PlydError) -> None:
        """Forget a stream that failed, and its daemon with it if that is gone."""
        self._hang_up()
        if isinstance(error, Unavailable):
            self._client = None
            self._place.lost()

    def _hang_up(self) -> None:
        if self._game:
            self._game.close()
        self._game = self._asked = None


def is_same_game(one: Question, other: Question) -> bool:
    """Whether moves lead from one question to another."""
    return (one.setup.start, one.variant, one.options) == (other.setup.start, other.variant, other.options)


def common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many moves two games have in common."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))

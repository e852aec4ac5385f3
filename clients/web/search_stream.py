"""One tab's searches: a game that the engine follows from move to move, in turns with every other tab."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from plyd.clients.library.aio import AsyncGame
from plyd.clients.library.errors import Cancelled, Overloaded, Unavailable
from plyd.clients.library.requests import LimitArgs, Position, Report
from plyd.clients.web.daemons import Post
from plyd.clients.web.fair_queue import Turn
from plyd.v1 import search_pb2

LEAST_SECONDS = 0.01  # of a search that goes on after it gave way
STOP_AGAIN_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Question:
    """What a tab wants to know: a position, when to end, and how many lines of play."""

    position: Position
    seconds: float | None = None
    nodes: int | None = None
    depth: int | None = None
    lines: int = 1
    options: dict[str, str] = field(default_factory=dict)


class Thinker:
    """Keeps one Play stream open and has it follow the positions asked for, so that what was learned is kept."""

    def __init__(self) -> None:
        self._game: AsyncGame | None = None
        self._key: tuple[object, ...] = ()
        self._moves: list[str] = []

    def close(self) -> None:
        """Give the game up; a search that runs is cancelled."""
        if self._game:
            self._game.close()
        self._game = None

    async def think(
        self, post: Post, question: Question, stopped: asyncio.Event, tell_queue: Callable[[int], None]
    ) -> AsyncGenerator[Report, None]:
        """Reports, of which the last is final; gives way to others and goes on, and waits for a daemon that is away.

        Ends with the best so far once `stopped` is set.
        """
        spent = 0.0
        while True:
            report = None
            try:
                async with post.turns.turn(tell_queue) as turn:
                    began = time.monotonic()
                    async with contextlib.aclosing(self._search(post, question, spent, turn, stopped)) as reports:
                        async for report in reports:
                            if not report.final:
                                yield report
                    spent += time.monotonic() - began
            except Cancelled:  # the stream is no longer there, and another one serves as well
                self.close()
                continue
            except Unavailable:
                self.close()
                if not await self._back(post, stopped):
                    raise
                continue
            except Overloaded as error:
                if stopped.is_set():
                    raise
                await asyncio.sleep(error.retry_seconds or 1.0)
                continue
            assert report is not None
            was_cut = report.stop_reason == search_pb2.STOP_REASON_STOPPED and not stopped.is_set()
            is_spent = question.seconds is not None and spent >= question.seconds - LEAST_SECONDS
            if not was_cut or is_spent:  # it gave way, or the daemon goes
                yield report
                return
            report.final = False
            yield report

    async def _search(
        self, post: Post, question: Question, spent: float, turn: Turn, stopped: asyncio.Event
    ) -> AsyncGenerator[Report, None]:
        """One turn's reports; the last is final to the daemon."""
        game = await self._show(post, question)
        thinking = LimitArgs(lines=question.lines, nodes=question.nodes, depth=question.depth)
        if question.seconds is not None:
            thinking["seconds"] = max(LEAST_SECONDS, question.seconds - spent)
        ending = asyncio.ensure_future(self._end(game, turn, stopped))
        try:
            async with contextlib.aclosing(game.go(**thinking)) as reports:  # type: ignore[type-var]
                async for report in reports:
                    yield report
        finally:
            ending.cancel()

    async def _end(self, game: AsyncGame, turn: Turn, stopped: asyncio.Event) -> None:
        """Stop the search when it is somebody else's turn, or the tab has seen enough."""
        waits = [asyncio.ensure_future(turn.over.wait()), asyncio.ensure_future(stopped.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            while True:  # once is enough, unless it overtakes the command to search
                await asyncio.shield(game.stop())  # gRPC gives a whole stream up if one write on it is cancelled
                await asyncio.sleep(STOP_AGAIN_SECONDS)
        finally:
            for wait in waits:
                wait.cancel()

    async def _show(self, post: Post, question: Question) -> AsyncGame:
        """The game, at the position asked for: by a few moves from the last one, if it is the same game."""
        position = question.position
        key = (post.address, position.game, position.variant, position.start, tuple(sorted(question.options.items())))
        moves = list(position.moves)
        if self._game is None or key != self._key:
            self.close()
            self._game = await post.client.play(position, **question.options)
            self._key, self._moves = key, moves
            return self._game
        same = 0
        for mine, theirs in zip(self._moves, moves, strict=False):
            if mine != theirs:
                break
            same += 1
        if same < len(self._moves):
            await self._game.take_back(len(self._moves) - same)
            self._moves = self._moves[:same]
        if same < len(moves):
            await self._game.moves(*moves[same:])
            self._moves = moves
        return self._game

    async def _back(self, post: Post, stopped: asyncio.Event) -> bool:
        """Wait for a daemon that went away; False if the tab no longer wants to know."""
        waits = [asyncio.ensure_future(stopped.wait()), asyncio.ensure_future(post.serving.wait())]
        try:
            await asyncio.sleep(0.2)  # health notices a little later than calls do
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return not stopped.is_set()
        finally:
            for wait in waits:
                wait.cancel()

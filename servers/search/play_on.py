"""Moves that the engine makes by itself: one command of a game, many moves, told now and then.

Where the engine has a FastPlayer, it makes moves in pieces of a few milliseconds. Each piece needs a slot, and waits
for it behind the searches of all others. Elsewhere each move is a search like any other. Nothing is played while the
caller does not read.
"""

import asyncio
import random
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from plyd.engines.core.errors import Overloaded, ShuttingDown
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import FastPlayer, Limits, Report, StopReason
from plyd.servers.search.session import Session

PIECE_MOVES = 64  # that a FastPlayer makes in one piece; then the rulebook plays them again, in a millisecond or two
MOST_TOLD = 4096  # moves in one reply, before those of the piece that makes it full
MARGIN_SECONDS = 0.05  # before the caller's deadline, in which the last reply is sent


class Asked(NamedTuple):
    """What a caller asks for: moves of players, limits of each, a seed for chance, time between replies."""

    moves: int
    limits: Limits
    seed: int | None
    interval_seconds: float


class Played(NamedTuple):
    """The moves since the last reply, chance's included; how many were made in all, without chance's."""

    moves: list[str]
    made: int
    final: bool


async def play_on(
    session: Session, asked: Asked, caller_seconds: float | None, stop: Stop
) -> AsyncGenerator[Played, None]:
    """What is played, the last one final. An error ends it; what was played before the error is told first."""
    end = None if caller_seconds is None else time.monotonic() + caller_seconds - MARGIN_SECONDS
    maker = await _maker_of(session, asked, end, stop)
    moves: list[str] = []
    count, told, is_over = 0, time.monotonic(), False
    try:
        while not is_over and count < asked.moves and not stop.is_set() and (end is None or time.monotonic() < end):
            try:
                made, more = await maker.make(asked.moves - count)
            except Overloaded as error:
                if not count:
                    raise
                await _pause(error.retry_seconds, end, stop)
                continue
            is_over, count = not made, count + made
            moves += more
            if time.monotonic() >= told + asked.interval_seconds or len(moves) >= MOST_TOLD:
                yield Played(moves, count, final=False)
                moves, told = [], time.monotonic()
    except ShuttingDown:
        pass  # what was played is told as after a stop
    except Exception:
        if moves:
            yield Played(moves, count, final=False)
        raise
    yield Played(moves, count, final=True)


async def _maker_of(session: Session, asked: Asked, end: float | None, stop: Stop) -> "PieceMaker | SearchMaker":
    """What makes the moves."""
    seed = secrets.randbits(64) if asked.seed is None else asked.seed
    if player := await session.fast_player(asked.limits, seed):
        return PieceMaker(session, player, random.Random(seed), stop)
    return SearchMaker(session, asked.limits, random.Random(seed), end, stop)


async def _pause(seconds: float, end: float | None, stop: Stop) -> None:
    """Wait before the next try, but not longer than the caller does."""
    until = time.monotonic() + seconds
    until = until if end is None else min(until, end)
    while time.monotonic() < until and not stop.is_set():  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # the stop is a flag for threads


class PieceMaker:
    """Makes many moves at once."""

    def __init__(self, session: Session, player: FastPlayer, chance: random.Random, stop: Stop) -> None:
        self._session, self._player, self._chance, self._stop = session, player, chance, stop

    async def make(self, most: int) -> tuple[int, list[str]]:
        """Make at most so many moves; how many of players were made, 0 if there is none, and all with chance's."""
        made, seconds = await self._session.in_slot(lambda: self._timed_piece(min(most, PIECE_MOVES)), self._stop)
        await asyncio.sleep(seconds)  # rules are plain Python: others have half of its time
        return made

    def _timed_piece(self, most: int) -> tuple[tuple[int, list[str]], float]:
        began = time.thread_time()
        return self._piece(most), time.thread_time() - began

    def _piece(self, most: int) -> tuple[int, list[str]]:
        record = self._session.record
        first = record.play_chance(self._chance)
        if record.rules.to_move(record.position) is None:
            return 0, first
        count, played = self._player.play(record.position, most, self._stop)
        record.play(played)
        return count, first + played


class SearchMaker:
    """Makes moves one by one, each by a search."""

    def __init__(self, session: Session, limits: Limits, chance: random.Random, end: float | None, stop: Stop) -> None:
        self._session, self._limits, self._chance = session, limits, chance
        self._end, self._stop = end, stop

    async def make(self, most: int) -> tuple[int, list[str]]:  # noqa: ARG002  one is never too many
        """Make one move; 1, or 0 if there is none, and the move with chance's moves before and after it."""
        await asyncio.sleep(0)  # a search may take no time: others have their turn
        first = await self._session.change(lambda: self._session.record.play_chance(self._chance))
        report = await self._search()
        if report.move is None or (report.stop_reason is StopReason.STOPPED and self._stop.is_set()):
            return 0, first
        return 1, first + await self._session.change(lambda: self._play(report.move or ""))

    async def _search(self) -> Report:
        """The final report on the current position."""
        left = None if self._end is None else max(0.0, self._end - time.monotonic())
        async with aclosing(self._session.reports(self._limits, left, self._stop, in_game=True)) as reports:
            async for timed in reports:
                if timed.report.final:
                    self._stop.resume()  # it may have been paused as the search ended
                    return timed.report
        raise AssertionError("a search ended without a final report")

    def _play(self, move: str) -> list[str]:
        record = self._session.record
        record.play([move])
        return [move, *record.play_chance(self._chance)]

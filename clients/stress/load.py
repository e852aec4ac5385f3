"""Load from clients that make calls of every kind and check each answer, until a given time."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from plyd.clients.commands.bench import TIMED_OPTIONS
from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.errors import Cancelled, InvalidRequest, Overloaded, PlydError, Unavailable
from plyd.clients.stress.known import KnownValues
from plyd.clients.stress.tally import LoadTally

BATCH = 500  # positions
MAX_PLIES = 400  # of a game
MIN_PAUSE = 0.02


class LoadClient:
    """One client, which does tasks of every kind in random order."""

    def __init__(
        self,
        target: str,
        game: str,
        number: int,
        tally: LoadTally,
        margin: float,
        retry: float,
        known: KnownValues | None,
    ) -> None:
        self.client = AsyncEngineClient(target, game, retry_seconds=retry)
        self._game = game
        self._number = number
        self._tally = tally
        self._margin = margin
        self._may_break = retry > 0
        self._known = known
        self._random = random.Random(number)
        self._options = TIMED_OPTIONS.get(game, {})
        kinds = [self.timed, self.analysis, self.play, self.rules]
        self._kinds: list[Callable[[], Awaitable[None]]] = [*kinds, *([self.exact] * 3 + [self.batch] if known else [])]

    async def work(self, end: float) -> None:
        """Do tasks until the time `end`."""
        while time.monotonic() < end:
            task = self._random.choice(self._kinds)
            try:
                await task()
            except Overloaded as error:
                self._tally.rejected += 1
                await asyncio.sleep(max(MIN_PAUSE, error.retry_seconds))
            except (Unavailable, Cancelled) as error:
                if not self._may_break:
                    self._tally.failed(f"{task.__name__}: {error}")
                self._tally.interrupted += 1
                await asyncio.sleep(MIN_PAUSE)
            except PlydError as error:
                self._tally.failed(f"{task.__name__}: {type(error).__name__}: {error}")
                await asyncio.sleep(MIN_PAUSE)

    async def exact(self) -> None:
        """Search a solved position."""
        assert self._known is not None
        place = self._random.randrange(len(self._known.texts))
        text, value = self._known.texts[place], self._known.values[place]
        report = await self.client.search(text)
        if not report.final or report.score.expected_points != value:
            self._tally.add_wrong(f"Search of {text} returns {report.score.expected_points!r}, not {value!r}")
        self._done("exact")

    async def batch(self) -> None:
        """Evaluate many solved positions."""
        assert self._known is not None
        places = [self._random.randrange(len(self._known.texts)) for _ in range(BATCH)]
        values = (await self.client.evaluate([self._known.texts[place] for place in places])).values
        if list(values) != [self._known.values[place] for place in places]:
            self._tally.add_wrong(f"Evaluate of {BATCH} positions differs from their known values")
        self._done("batch")

    async def timed(self) -> None:
        """Search until a time limit."""
        state = await self.client.new_game(seed=self._random.randrange(1000))
        seconds = self._random.choice([0.02, 0.05, 0.1])
        began = time.monotonic()
        report = await self.client.search(state.position, seconds=seconds, options=self._options)
        self._tally.took(time.monotonic() - began, seconds, self._margin, "a timed Search")
        self._check_report(report, state)
        self._done("timed")

    async def analysis(self) -> None:
        """Analyze, read slowly; half of the analyses are cancelled in the middle."""
        state = await self.client.new_game(seed=self._random.randrange(1000))
        seconds, gives_up = self._random.choice([0.05, 0.1, 0.2]), self._random.random() < 0.5
        began, finals, report = time.monotonic(), 0, None
        async with aclosing(self.client.analyze(state.position, seconds=seconds, options=self._options)) as reports:
            async for report in reports:
                finals += report.final
                if gives_up and time.monotonic() - began > seconds / 2:
                    return self._done("analysis given up")
                if not report.final:
                    await asyncio.sleep(0.03)
        if finals != 1 or report is None or not report.final:
            self._tally.add_wrong(f"an analysis with {finals} final reports")
        self._tally.took(time.monotonic() - began, seconds + 0.03, self._margin, "an analysis")
        self._check_report(report, state)
        return self._done("analysis")

    async def play(self) -> None:
        """Play a whole game on one stream, with moves taken back and played again."""
        opening = await self.client.new_game(seed=self._random.randrange(2**32))
        async with contextlib.AsyncExitStack() as stack:
            game = await stack.enter_async_context(await self.client.play(opening.position))
            state = await self._state(game, opening)
            for ply in range(MAX_PLIES):
                if not state.legal_moves:
                    break
                move = await self._move(game, state)
                before, state = state, await game.moves(move)
                if ply % 7 == 3:
                    back = await game.take_back()
                    if back.text != before.text:
                        self._tally.add_wrong(f"{back.text} after a move was taken back, not {before.text}")
                    again = await game.moves(move)
                    if again.text != state.text:
                        self._tally.add_wrong(f"{again.text} when a move was made again, not {state.text}")
                    state = again
                self._done("move")
            else:
                return
        if state.outcome == 0:
            self._tally.add_wrong(f"no legal moves and no outcome at {state.text}")
        self._done("game")

    async def _state(self, game: Any, opening: Any) -> Any:
        if game.state.text != opening.text:
            self._tally.add_wrong(f"a game began at {game.state.text}, not at {opening.text}")
        return game.state

    async def _move(self, game: Any, state: Any) -> str:
        """The engine's move, or a random one where chance is to move."""
        if state.legal_moves[0].HasField("probability"):
            weights = [legal.probability for legal in state.legal_moves]
            return str(self._random.choices(state.legal_moves, weights)[0].move)
        report = None
        while report is None:
            began = time.monotonic()
            try:
                report = await game.best(seconds=0.02)
            except Overloaded:  # the stream stays open
                self._tally.rejected += 1
                await asyncio.sleep(MIN_PAUSE)
        self._tally.took(time.monotonic() - began, 0.02, self._margin, "a move in a game")
        self._check_report(report, state)
        return str(report.move) if report.move else str(state.legal_moves[0].move)

    async def rules(self) -> None:
        """Call the rules service, also with an illegal move."""
        seed = self._random.randrange(2**32)
        one, two = await self.client.new_game(seed=seed), await self.client.new_game(seed=seed)
        if one.text != two.text:
            self._tally.add_wrong(f"seed {seed} began at {one.text}, then at {two.text}")
        seen = await self.client.inspect(one.position)
        if seen.text != one.text:
            self._tally.add_wrong(f"{one.text} is {seen.text} to Inspect")
        with contextlib.suppress(InvalidRequest):
            await self.client.apply(one.position, "no such move")
            self._tally.add_wrong('"no such move" was legal')
        self._done("rules")

    def _check_report(self, report: Any, state: Any) -> None:
        legal = {legal.move for legal in state.legal_moves}
        if not report.final or (legal and report.move not in legal):
            self._tally.add_wrong(f"move {report.move!r} at {state.text}, final: {report.final}")

    def _done(self, kind: str) -> None:
        self._tally.answered(kind, self._number)


async def run_load(
    target: str,
    games: list[str],
    clients: int,
    tally: LoadTally,
    end: float,
    *,
    margin: float,
    retry: float,
    known: KnownValues,
) -> None:
    """Run clients until the time `end`; each retries for `retry` seconds when the daemon is unavailable."""
    load_clients = [
        LoadClient(target, game, number, tally, margin, retry, known if game == "2584-2x3" else None)
        for number in range(clients)
        for game in [games[number % len(games)]]
    ]
    try:
        await asyncio.gather(*(load_client.work(end) for load_client in load_clients))
    finally:
        for load_client in load_clients:
            await load_client.client.close()

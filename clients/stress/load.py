"""Clients of every kind, which ask for different things, check each answer, and go on until it is time to end."""

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
from plyd.clients.stress.known import Known
from plyd.clients.stress.tally import Tally

BATCH = 500  # positions
MOST_PLIES = 400  # of a game, and of the rules' memory of one
LEAST_PAUSE = 0.02


class Customer:
    """One client and its work: what `kinds_of` lists for its game, a piece at a time, in an order of its own."""

    def __init__(
        self, target: str, game: str, number: int, tally: Tally, margin: float, retry: float, known: Known | None
    ) -> None:
        self.client = AsyncEngineClient(target, game, retry_seconds=retry)
        self._game = game
        self._number = number
        self._tally = tally
        self._margin = margin
        self._may_break = retry > 0
        self._known = known
        self._chance = random.Random(number)
        self._options = TIMED_OPTIONS.get(game, {})
        kinds = [self.timed, self.analysis, self.play, self.rules]
        self._kinds: list[Callable[[], Awaitable[None]]] = [*kinds, *([self.exact] * 3 + [self.batch] if known else [])]

    async def work(self, end: float) -> None:
        """Do pieces of work until it is time to end."""
        while time.monotonic() < end:
            piece = self._chance.choice(self._kinds)
            try:
                await piece()
            except Overloaded as error:
                self._tally.sheds += 1
                await asyncio.sleep(max(LEAST_PAUSE, error.retry_seconds))
            except (Unavailable, Cancelled) as error:
                if not self._may_break:
                    self._tally.failed(f"{piece.__name__}: {error}")
                self._tally.interrupted += 1
                await asyncio.sleep(LEAST_PAUSE)
            except PlydError as error:
                self._tally.failed(f"{piece.__name__}: {type(error).__name__}: {error}")
                await asyncio.sleep(LEAST_PAUSE)

    async def exact(self) -> None:
        """A solved position by Search."""
        assert self._known is not None
        place = self._chance.randrange(len(self._known.texts))
        text, value = self._known.texts[place], self._known.values[place]
        report = await self.client.search(text)
        if not report.final or report.score.expected_points != value:
            self._tally.was_wrong(f"Search of {text} says {report.score.expected_points!r}, not {value!r}")
        self._done("exact")

    async def batch(self) -> None:
        """Many solved positions by Evaluate."""
        assert self._known is not None
        places = [self._chance.randrange(len(self._known.texts)) for _ in range(BATCH)]
        values = (await self.client.evaluate([self._known.texts[place] for place in places])).values
        if list(values) != [self._known.values[place] for place in places]:
            self._tally.was_wrong(f"Evaluate of {BATCH} positions differs from what they are worth")
        self._done("batch")

    async def timed(self) -> None:
        """A search that uses all the time it gets."""
        state = await self.client.new_game(seed=self._chance.randrange(1000))
        seconds = self._chance.choice([0.02, 0.05, 0.1])
        began = time.monotonic()
        report = await self.client.search(state.position, seconds=seconds, options=self._options)
        self._tally.took(time.monotonic() - began, seconds, self._margin, "a timed Search")
        self._check_report(report, state)
        self._done("timed")

    async def analysis(self) -> None:
        """An analysis that is read slowly, and as often given up in the middle as seen to its end."""
        state = await self.client.new_game(seed=self._chance.randrange(1000))
        seconds, gives_up = self._chance.choice([0.05, 0.1, 0.2]), self._chance.random() < 0.5
        began, finals, report = time.monotonic(), 0, None
        async with aclosing(self.client.analyze(state.position, seconds=seconds, options=self._options)) as reports:
            async for report in reports:
                finals += report.final
                if gives_up and time.monotonic() - began > seconds / 2:
                    return self._done("analysis given up")
                if not report.final:
                    await asyncio.sleep(0.03)
        if finals != 1 or report is None or not report.final:
            self._tally.was_wrong(f"an analysis with {finals} final reports")
        self._tally.took(time.monotonic() - began, seconds + 0.03, self._margin, "an analysis")
        self._check_report(report, state)
        return self._done("analysis")

    async def play(self) -> None:
        """A whole game on one stream, with moves taken back and made again."""
        opening = await self.client.new_game(seed=self._chance.randrange(2**32))
        async with contextlib.AsyncExitStack() as stack:
            game = await stack.enter_async_context(await self.client.play(opening.position))
            state = await self._state(game, opening)
            for ply in range(MOST_PLIES):
                if not state.legal_moves:
                    break
                move = await self._move(game, state)
                before, state = state, await game.moves(move)
                if ply % 7 == 3:
                    back = await game.take_back()
                    if back.text != before.text:
                        self._tally.was_wrong(f"{back.text} after a move was taken back, not {before.text}")
                    again = await game.moves(move)
                    if again.text != state.text:
                        self._tally.was_wrong(f"{again.text} when a move was made again, not {state.text}")
                    state = again
                self._done("move")
            else:
                return
        if state.outcome == 0:
            self._tally.was_wrong(f"no legal moves and no outcome at {state.text}")
        self._done("game")

    async def _state(self, game: Any, opening: Any) -> Any:
        if game.state.text != opening.text:
            self._tally.was_wrong(f"a game began at {game.state.text}, not at {opening.text}")
        return game.state

    async def _move(self, game: Any, state: Any) -> str:
        """What the engine plays, or, where chance is to move, what chance does."""
        if state.legal_moves[0].HasField("probability"):
            weights = [legal.probability for legal in state.legal_moves]
            return str(self._chance.choices(state.legal_moves, weights)[0].move)
        report = None
        while report is None:
            began = time.monotonic()
            try:
                report = await game.best(seconds=0.02)
            except Overloaded:  # the game goes on
                self._tally.sheds += 1
                await asyncio.sleep(LEAST_PAUSE)
        self._tally.took(time.monotonic() - began, 0.02, self._margin, "a move in a game")
        self._check_report(report, state)
        return str(report.move) if report.move else str(state.legal_moves[0].move)

    async def rules(self) -> None:
        """The rules, and what they refuse."""
        seed = self._chance.randrange(2**32)
        one, two = await self.client.new_game(seed=seed), await self.client.new_game(seed=seed)
        if one.text != two.text:
            self._tally.was_wrong(f"seed {seed} began at {one.text}, then at {two.text}")
        seen = await self.client.inspect(one.position)
        if seen.text != one.text:
            self._tally.was_wrong(f"{one.text} is {seen.text} to Inspect")
        with contextlib.suppress(InvalidRequest):
            await self.client.apply(one.position, "no such move")
            self._tally.was_wrong('"no such move" was legal')
        self._done("rules")

    def _check_report(self, report: Any, state: Any) -> None:
        legal = {legal.move for legal in state.legal_moves}
        if not report.final or (legal and report.move not in legal):
            self._tally.was_wrong(f"move {report.move!r} at {state.text}, final: {report.final}")

    def _done(self, kind: str) -> None:
        self._tally.answered(kind, self._number)


async def run_load(
    target: str, games: list[str], clients: int, tally: Tally, end: float, *, margin: float, retry: float, known: Known
) -> None:
    """Have so many clients at work until it is time to end; `retry` above 0 is how long each waits for a daemon."""
    customers = [
        Customer(target, game, number, tally, margin, retry, known if game == "2584-2x3" else None)
        for number in range(clients)
        for game in [games[number % len(games)]]
    ]
    try:
        await asyncio.gather(*(customer.work(end) for customer in customers))
    finally:
        for customer in customers:
            await customer.client.close()

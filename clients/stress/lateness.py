"""`plyd stress lateness`: how long after their time limit the answers of searches arrive."""

import asyncio
import gc
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from plyd.clients.stress.verdict import Figure

GAMES = "2584-2x3,connect4,gomoku"
GOALS = {1: (5, None), 16: (25, 60)}  # callers: p99 and maximum in milliseconds
OPENING_PLIES = 4
POSITIONS = 40


@click.command(short_help="How long after their time limit answers arrive.")
@click.option("--games", default=GAMES, show_default=True, metavar="GAME,...", help="Games, one daemon for each.")
@click.option("--callers", default="1,16", show_default=True, metavar="N,...", help="Numbers of concurrent callers.")
@click.option("--move-time", type=click.IntRange(1), default=100, show_default=True, metavar="MS", help="Time limit.")
@click.option(
    "--seconds", type=click.FloatRange(1, 36000), default=30.0, show_default=True, help="Duration of a measurement."
)
@click.option("--connect", default="", metavar="ADDRESS", help="Daemon to measure.  [default: start one for each game]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def lateness(games: str, callers: str, as_json: bool, connect: str, **options: Any) -> None:
    """Search positions with a time limit, one search after the other for each caller, and measure when answers arrive.

    An answer is late by its arrival minus the moment of the call minus the time limit. A part of that is spent in the
    daemon's search; the rest is the way of request and answer, and the delay of this program, which shares the cores.
    Searches that end before their limit and rejected ones are not counted.

    \b
    plyd stress lateness
    plyd stress lateness --games connect4 --callers 16 --seconds 120
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import ProgressLine, serving
    from plyd.clients.stress.interrupt import run_until_stopped
    from plyd.clients.stress.verdict import print_verdict

    try:
        counts = [int(text) for text in callers.split(",")]
    except ValueError:
        raise click.UsageError("--callers needs whole numbers, separated by commas") from None
    figures: list[Figure] = []
    with Console(stderr=True).status("starting") as status:
        try:
            for game in games.split(","):
                with serving(game, connect=connect, options=("--log-level", "warning")) as daemon:
                    for count in counts:
                        run = LatenessRun(daemon.target, game, count, ProgressLine(status), **options)
                        run_until_stopped(run.run())
                        figures += run.figures()
        except PlydError as error:
            raise click.ClickException(str(error)) from None
    print_verdict(figures, as_json=as_json)


@dataclass
class LatenessRun:
    """One measurement; all times in seconds."""

    target: str
    game: str
    callers: int
    progress: Any
    move_time: int
    seconds: float
    late: list[float] = field(default_factory=list)
    late_in_search: list[float] = field(default_factory=list)
    early: int = 0
    rejected: int = 0
    measurement_delay: float = 0.0
    """The maximum delay of this program's own event loop."""

    async def run(self) -> None:
        """Let all callers search until the time is over."""
        from plyd.clients.library.aio import AsyncEngineClient

        watch = asyncio.ensure_future(self._measure_delay())
        async with AsyncEngineClient(self.target, self.game, retry_seconds=0.0) as client:
            positions = [await opening(client, seed) for seed in range(POSITIONS)]
            await client.search(positions[0], seconds=0.2)
            gc.collect()
            gc.freeze()  # a collection of everything imported here would look like a late answer
            end = time.monotonic() + self.seconds
            chances = map(random.Random, range(self.callers))
            await asyncio.gather(*(self._search_on(client, positions, chance, end) for chance in chances))
        gc.unfreeze()
        watch.cancel()

    async def _search_on(self, client: Any, positions: list[Any], chance: random.Random, end: float) -> None:
        """One caller: search after search."""
        from plyd.clients.commands.bench import TIMED_OPTIONS
        from plyd.clients.library.errors import Overloaded

        limit, options = self.move_time / 1000, TIMED_OPTIONS.get(self.game, {})
        await asyncio.sleep(chance.random() * limit)  # callers do not start together
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                report = await client.search(chance.choice(positions), seconds=limit, options=options)
            except Overloaded as error:
                self.rejected += 1
                await asyncio.sleep(error.retry_seconds or limit)
                continue
            took = time.monotonic() - began
            inside = (report.elapsed_us + report.waited_us) / 1e6
            if inside < limit / 2:
                self.early += 1
                continue
            self.late.append(took - limit)
            self.late_in_search.append(inside - limit)
            self.progress.say(
                f"{self.game}, {self.callers} callers: {end - time.monotonic():.0f} s to go, {len(self.late)} answers, "
                f"the latest {1000 * max(self.late):.0f} ms late"
            )

    async def _measure_delay(self) -> None:
        while True:
            due = time.monotonic() + 0.005
            await asyncio.sleep(0.005)
            self.measurement_delay = max(self.measurement_delay, time.monotonic() - due)

    def figures(self) -> Iterator[Figure]:
        """The figures of the measurement."""
        from plyd.clients.commands.bench import figure, percentile

        who = f"{self.callers} callers" if self.callers > 1 else "1 caller"
        p99, most = GOALS.get(self.callers, (None, None))
        yield figure(self.game, f"{who}: answers", len(self.late), "", at_least=1)
        yield figure(self.game, f"{who}: ended before their limit", self.early, "")
        yield figure(self.game, f"{who}: rejected", self.rejected, "")
        if self.late:
            times, inside = ([1000 * value for value in values] for values in (self.late, self.late_in_search))
            yield figure(self.game, f"{who}: late, p50", percentile(times, 50), "ms")
            yield figure(self.game, f"{who}: late, p99", percentile(times, 99), "ms", at_most=p99)
            yield figure(self.game, f"{who}: late, maximum", max(times), "ms", at_most=most)
            yield figure(self.game, f"{who}: late in the search itself, p50", percentile(inside, 50), "ms")
            yield figure(self.game, f"{who}: late in the search itself, p99", percentile(inside, 99), "ms")
            yield figure(self.game, f"{who}: late in the search itself, maximum", max(inside), "ms")
        delay = 1000 * self.measurement_delay
        yield figure(self.game, f"{who}: delay of the measurement itself, maximum", delay, "ms")


async def opening(client: Any, seed: int) -> Any:
    """A position some random moves after the start of a game."""
    chance = random.Random(seed)
    state = await client.new_game(seed=seed)
    for _ in range(OPENING_PLIES):
        after = await client.apply(
            state.position, chance.choice(state.legal_moves).move, with_chance=True, seed=chance.randrange(2**32)
        )
        if not after.legal_moves:
            break
        state = after
    return state.position

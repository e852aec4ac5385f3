"""`plyd stress overload`: more searches than slots can do; are those let in answered in time, the others told soon?"""

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import click

GAME = "2584-2x3"
SHED_MS = 50  # within which whoever is refused has to know
SETTLE_SECONDS = 5.0  # for the last answers to come


@click.command(short_help="Too many searches: those let in answered in time, the others told soon.")
@click.option("--factor", type=click.FloatRange(0.1, 100), default=4.0, show_default=True, help="Times the capacity.")
@click.option("--seconds", type=click.FloatRange(1, 36000), default=60.0, show_default=True)
@click.option("--move-time", default="100", show_default=True, metavar="MS,...", help="Limits of the searches, mixed.")
@click.option("--margin", type=click.IntRange(1), default=50, show_default=True, metavar="MS", help="Beyond a limit.")
@click.option("--slots", type=click.IntRange(1, 1024), help="Of the daemon.  [default: number of cores]")
@click.option("--game", default=GAME, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Other moments of arrival.")
@click.option("--connect", default="", metavar="ADDRESS", help="Use this daemon.  [default: one of our own]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def overload(game: str, connect: str, as_json: bool, **options: Any) -> None:
    """Ask for several times as many searches as a daemon has slots for, at random moments, whether it answers or not.

    A slot does one search of 100 ms in 100 ms: ten a second. Each search that is let in has to be answered within its
    limit, counted from when it was asked for, plus the margin; whoever is refused has to know within 50 ms.

    \b
    plyd stress overload --factor 4
    plyd stress overload --factor 4 --move-time 20,100,500 --seconds 300
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import Progress, serving
    from plyd.clients.stress.verdict import tell

    try:
        limits = [int(text) / 1000 for text in options.pop("move_time").split(",")]
    except ValueError:
        raise click.UsageError("--move-time is milliseconds, whole numbers with commas between them") from None
    slots = options.pop("slots")
    settings = ("--log-level", "warning", *(("--slots", str(slots)) if slots else ()))
    with Console(stderr=True).status("starting") as status:
        try:
            with serving(game, connect=connect, options=settings) as daemon:
                storm = Storm(daemon.target, game, limits, Progress(status), **options)
                asyncio.run(storm.blow())
        except PlydError as error:
            raise click.ClickException(str(error)) from None
    tell(storm.figures(), as_json=as_json, notes=storm.notes[:20])


@dataclass
class Storm:
    """One run: calls that begin at random moments, and what became of them, in seconds."""

    target: str
    game: str
    limits: list[float]
    progress: Any
    factor: float
    seconds: float
    margin: int
    seed: int
    asked: int = 0
    late: int = 0
    errors: int = 0
    overshoots: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    sheds: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    own_delay: float = 0.0
    """The most by which this program itself was late to notice something: no time here is more exact than that."""

    async def blow(self) -> None:
        """Ask for searches at random moments, on average `factor` times as many as the slots can do."""
        from plyd.clients.library.aio import AsyncEngineClient

        chance = random.Random(self.seed)
        under_way: set[asyncio.Task[None]] = set()
        watch = asyncio.ensure_future(self._watch_ourselves())
        async with AsyncEngineClient(self.target, self.game, retry_seconds=0.0) as client:
            slots = (await client.describe()).daemon.slots
            positions = [(await client.new_game(seed=seed)).position for seed in range(50)]
            await client.search(positions[0], seconds=0.2)
            gap = sum(self.limits) / len(self.limits) / slots / self.factor
            began = due = time.monotonic()
            while due < began + self.seconds:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                search = self._ask(client, chance.choice(positions), chance.choice(self.limits))
                task = asyncio.ensure_future(search)
                under_way.add(task)
                task.add_done_callback(under_way.discard)
                due += chance.expovariate(1 / gap)
                self.progress.say(
                    f"{began + self.seconds - due:.0f} s to go: {self.asked} asked, {len(self.overshoots)} answered, "
                    f"{self.late} late, {len(self.sheds)} refused, {self.errors} errors"
                )
            if under_way:
                await asyncio.wait(under_way, timeout=max(self.limits) + SETTLE_SECONDS)
        watch.cancel()

    async def _watch_ourselves(self) -> None:
        while True:
            due = time.monotonic() + 0.005
            await asyncio.sleep(0.005)
            self.own_delay = max(self.own_delay, time.monotonic() - due)

    async def _ask(self, client: Any, position: Any, limit: float) -> None:
        from plyd.clients.commands.bench import TIMED_OPTIONS
        from plyd.clients.library.errors import Overloaded, PlydError

        self.asked += 1
        began = time.monotonic()
        try:
            report = await client.search(position, seconds=limit, options=TIMED_OPTIONS.get(self.game, {}))
        except Overloaded as error:
            self.sheds.append(time.monotonic() - began)
            if self.sheds[-1] * 1000 > SHED_MS:
                self.notes.append(f"refused after {self.sheds[-1]:.3f} s of {limit:.3f} s: {error}")
            return
        except PlydError as error:
            self.errors += 1
            self.notes.append(f"error: {error}")
            return
        took = time.monotonic() - began
        self.overshoots.append(took - limit)
        self.shares.append(report.elapsed_us / 1e6 / limit)
        if took > limit + self.margin / 1000:
            self.late += 1
            inside = f"{report.waited_us / 1000:.0f} ms in the queue and {report.elapsed_us / 1000:.0f} ms of search"
            self.notes.append(f"late: {took:.3f} s of {limit:.3f} s, of which {inside}")

    def figures(self) -> list[dict[str, Any]]:
        """What was found."""
        from plyd.clients.commands.bench import figure, percentile

        answered, refused, late = len(self.overshoots), len(self.sheds), self.late
        lost = self.asked - answered - refused - self.errors
        found = [
            figure(self.game, "searches asked for", self.asked / self.seconds, "a second"),
            figure(self.game, "answered", answered / self.seconds, "a second", at_least=1e-3),
            figure(self.game, "refused", refused / self.seconds, "a second"),
            figure(self.game, "errors, and calls without an end", self.errors + lost, "", at_most=0),
            figure(self.game, "delay of the measurement itself, most", 1000 * self.own_delay, "ms"),
        ]
        if answered:
            times, shares = [1000 * late for late in self.overshoots], [100 * share for share in self.shares]
            found += [
                figure(
                    self.game, f"answered within limit + {self.margin} ms", 100 * (1 - late / answered), "%", None, 100
                ),
                figure(self.game, "answer after its limit, p99", percentile(times, 99), "ms"),
                figure(self.game, "answer after its limit, most", max(times), "ms"),
                figure(self.game, "time left for the search, p50", percentile(shares, 50), "%"),
                figure(self.game, "time left for the search, p5", percentile(shares, 5), "%"),
            ]
        if refused:
            times = [1000 * shed for shed in self.sheds]
            found += [
                figure(self.game, "refused after, p50", percentile(times, 50), "ms"),
                figure(self.game, "refused after, p99", percentile(times, 99), "ms"),
                figure(self.game, "refused after, most", max(times), "ms", at_most=SHED_MS),
            ]
        return found

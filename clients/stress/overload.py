"""`plyd stress overload`: sends more searches than the slots can do, and checks answer and rejection times."""

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import click

GAME = "2584-2x3"
MAX_REJECT_MS = 50  # an excess search must be rejected within this time
SETTLE_SECONDS = 5.0  # for the last answers


@click.command(short_help="Overload: accepted searches must be answered in time, the others rejected quickly.")
@click.option(
    "--factor", type=click.FloatRange(0.1, 100), default=4.0, show_default=True, help="Load as a multiple of capacity."
)
@click.option("--seconds", type=click.FloatRange(1, 36000), default=60.0, show_default=True, help="Duration.")
@click.option(
    "--move-time", default="100", show_default=True, metavar="MS,...", help="Time limits, chosen at random per search."
)
@click.option(
    "--margin",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    metavar="MS",
    help="An answer may exceed its limit by this much.",
)
@click.option("--slots", type=click.IntRange(1, 1024), help="Slots of the daemon.  [default: number of cores]")
@click.option("--game", default=GAME, show_default=True, help="Game of the daemon.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the arrival times.")
@click.option("--connect", default="", metavar="ADDRESS", help="Daemon to load.  [default: start one]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def overload(game: str, connect: str, as_json: bool, **options: Any) -> None:
    """Send more searches than a daemon has slots for, at random times, without waiting for answers.

    The capacity of a slot is ten searches of 100 ms per second. Each accepted search must be answered within its time
    limit plus the margin, measured from the call. Each other search must be rejected within 50 ms.

    \b
    plyd stress overload --factor 4
    plyd stress overload --factor 4 --move-time 20,100,500 --seconds 300
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import ProgressLine, serving
    from plyd.clients.stress.interrupt import run_until_stopped
    from plyd.clients.stress.verdict import print_verdict

    try:
        limits = [int(text) / 1000 for text in options.pop("move_time").split(",")]
    except ValueError:
        raise click.UsageError("--move-time needs whole milliseconds, separated by commas") from None
    slots = options.pop("slots")
    settings = ("--log-level", "warning", *(("--slots", str(slots)) if slots else ()))
    with Console(stderr=True).status("starting") as status:
        try:
            with serving(game, connect=connect, options=settings) as daemon:
                run = OverloadRun(daemon.target, game, limits, ProgressLine(status), **options)
                run_until_stopped(run.run())
        except PlydError as error:
            raise click.ClickException(str(error)) from None
    print_verdict(run.figures(), as_json=as_json, notes=run.notes[:20])


@dataclass
class OverloadRun:
    """One run: calls at random times, and their results in seconds."""

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
    rejected: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    measurement_delay: float = 0.0
    """The maximum delay of this program's own event loop, which limits the precision of all times here."""

    async def run(self) -> None:
        """Send searches at random times, on average `factor` times the capacity of the slots."""
        from plyd.clients.library.aio import AsyncEngineClient

        chance = random.Random(self.seed)
        running: set[asyncio.Task[None]] = set()
        watch = asyncio.ensure_future(self._measure_delay())
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
                running.add(task)
                task.add_done_callback(running.discard)
                due += chance.expovariate(1 / gap)
                self.progress.say(
                    f"{began + self.seconds - due:.0f} s to go: {self.asked} asked, {len(self.overshoots)} answered, "
                    f"{self.late} late, {len(self.rejected)} rejected, {self.errors} errors"
                )
            if running:
                await asyncio.wait(running, timeout=max(self.limits) + SETTLE_SECONDS)
        watch.cancel()

    async def _measure_delay(self) -> None:
        while True:
            due = time.monotonic() + 0.005
            await asyncio.sleep(0.005)
            self.measurement_delay = max(self.measurement_delay, time.monotonic() - due)

    async def _ask(self, client: Any, position: Any, limit: float) -> None:
        from plyd.clients.commands.bench import TIMED_OPTIONS
        from plyd.clients.library.errors import Overloaded, PlydError

        self.asked += 1
        began = time.monotonic()
        try:
            report = await client.search(position, seconds=limit, options=TIMED_OPTIONS.get(self.game, {}))
        except Overloaded as error:
            self.rejected.append(time.monotonic() - began)
            if self.rejected[-1] * 1000 > MAX_REJECT_MS:
                self.notes.append(f"rejected after {self.rejected[-1]:.3f} s of {limit:.3f} s: {error}")
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
        """The figures of the run."""
        from plyd.clients.commands.bench import figure, percentile

        answered, rejected, late = len(self.overshoots), len(self.rejected), self.late
        lost = self.asked - answered - rejected - self.errors
        found = [
            figure(self.game, "searches sent", self.asked / self.seconds, "a second"),
            figure(self.game, "answered", answered / self.seconds, "a second", at_least=1e-3),
            figure(self.game, "rejected", rejected / self.seconds, "a second"),
            figure(self.game, "errors and unfinished calls", self.errors + lost, "", at_most=0),
            figure(self.game, "delay of the measurement itself, maximum", 1000 * self.measurement_delay, "ms"),
        ]
        if answered:
            times, shares = [1000 * late for late in self.overshoots], [100 * share for share in self.shares]
            found += [
                figure(
                    self.game, f"answered within limit + {self.margin} ms", 100 * (1 - late / answered), "%", None, 100
                ),
                figure(self.game, "answer after its limit, p99", percentile(times, 99), "ms"),
                figure(self.game, "answer after its limit, maximum", max(times), "ms"),
                figure(self.game, "time left for the search, p50", percentile(shares, 50), "%"),
                figure(self.game, "time left for the search, p5", percentile(shares, 5), "%"),
            ]
        if rejected:
            times = [1000 * seconds for seconds in self.rejected]
            found += [
                figure(self.game, "rejected after, p50", percentile(times, 50), "ms"),
                figure(self.game, "rejected after, p99", percentile(times, 99), "ms"),
                figure(self.game, "rejected after, maximum", max(times), "ms", at_most=MAX_REJECT_MS),
            ]
        return found

"""`plyd stress soak`: mixed load at capacity for a long time; checks every answer, its time, and the memory."""

import asyncio
import contextlib
import csv
import importlib.util
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

WARM_UP_SECONDS = 300.0
MAX_GROWTH = 2.0  # percent
POSITIONS = 500

Sample = tuple[float, int, int]  # seconds since the start, resident bytes, answers so far


@click.command(short_help="Mixed load at capacity: correct answers in time, constant memory.")
@click.option("--minutes", type=click.FloatRange(0.05, 1440), default=60.0, show_default=True, help="Duration.")
@click.option("--games", default="2584-2x3", show_default=True, metavar="GAME,...", help="Games of the daemon.")
@click.option("--clients", type=click.IntRange(1, 256), default=12, show_default=True, help="Concurrent clients.")
@click.option(
    "--margin",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    metavar="MS",
    help="An answer may exceed its limit by this much.",
)
@click.option(
    "--every", default=10.0, show_default=True, type=click.FloatRange(0.1), help="Seconds between memory samples."
)
@click.option(
    "--csv", "csv_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the memory samples to this file."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="PNG", help="Plot memory and rate; needs matplotlib.")
@click.option(
    "--connect", default="", metavar="ADDRESS", help="Daemon to load, without memory samples.  [default: start one]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def soak(minutes: float, games: str, as_json: bool, **options: Any) -> None:
    """Keep a daemon at capacity with searches, analyses, whole games, batches and rules calls, and check every answer.

    Values of 2584 on 2x3 are compared bit for bit with known values; in other games, moves must be legal. Ctrl-C or
    SIGTERM stops early and prints the figures so far.

    \b
    plyd stress soak --minutes 60 --csv soak.csv --plot soak.png
    plyd stress soak --minutes 10 --games 2584-2x3,connect4
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import ProgressLine, serving
    from plyd.clients.stress.interrupt import run_until_stopped
    from plyd.clients.stress.known import WrongValues
    from plyd.clients.stress.verdict import print_verdict

    played = games.split(",")
    if "2584-2x3" not in played:
        raise click.UsageError("--games must include 2584-2x3, whose values the answers are compared with")
    if options["plot"] and importlib.util.find_spec("matplotlib") is None:
        raise click.ClickException("--plot needs matplotlib: pip install 'plyd[plot]'")
    with Console(stderr=True).status("starting") as status:
        try:
            with serving(*played, connect=options["connect"], options=("--log-level", "warning")) as daemon:
                run = SoakRun(daemon, played, ProgressLine(status), **options)
                with contextlib.suppress(KeyboardInterrupt):
                    run_until_stopped(run.go(minutes * 60))
                figures, notes = run.figures(), run.tally.examples
        except (PlydError, WrongValues) as error:
            raise click.ClickException(str(error)) from None
    if options["plot"]:
        draw(run.samples, options["plot"])
    print_verdict(figures, as_json=as_json, notes=notes)


class SoakRun:
    """One soak run: its load, its memory samples and its figures."""

    def __init__(
        self, daemon: Any, games: list[str], progress: Any, *, clients: int, margin: int, every: float, **options: Any
    ) -> None:
        from plyd.clients.stress.tally import LoadTally

        self.tally = LoadTally()
        self.samples: list[Sample] = []
        self.crashes = 0
        self._daemon = daemon
        self._games = games
        self._progress = progress
        self._clients = clients
        self._margin = margin / 1000
        self._every = every
        self._csv: Path | None = options["csv_file"]
        self._began = time.monotonic()

    async def go(self, seconds: float) -> None:
        """Run the load for some seconds, or until the daemon dies."""
        from plyd.clients.stress.known import known_values
        from plyd.clients.stress.load import run_load

        known = await known_values(self._daemon.target, POSITIONS)
        self._began = time.monotonic()
        end = self._began + seconds
        load = asyncio.ensure_future(
            run_load(
                self._daemon.target, self._games, self._clients, self.tally, end,
                margin=self._margin, retry=0.0, known=known,
            )
        )  # fmt: skip
        watch = asyncio.ensure_future(self._watch(end))
        try:
            await asyncio.wait({load, watch}, return_when=asyncio.FIRST_COMPLETED)
            if load.done():
                load.result()
        finally:
            load.cancel()
            watch.cancel()
            await asyncio.gather(load, watch, return_exceptions=True)

    async def _watch(self, end: float) -> None:
        """Sample memory and show progress; return if the daemon dies."""
        with contextlib.ExitStack() as stack:
            write = None
            if self._csv:
                file = stack.enter_context(self._csv.open("w", newline=""))
                write = csv.writer(file)
                write.writerow(["seconds", "resident_bytes", "answers"])
            due = time.monotonic()
            while True:
                if self._daemon.has_died:
                    self.crashes += 1
                    return
                if time.monotonic() >= due:
                    due += self._every
                    resident, answers = self._daemon.resident_bytes() or 0, sum(self.tally.answers.values())
                    self.samples.append((time.monotonic() - self._began, resident, answers))
                    if write:
                        write.writerow([f"{self.samples[-1][0]:.1f}", resident, answers])
                        file.flush()
                self._report(end)
                await asyncio.sleep(0.2)

    def _report(self, end: float) -> None:
        tally = self.tally
        spent, answers = time.monotonic() - self._began, sum(tally.answers.values())
        memory = f"{self.samples[-1][1] / 2**20:.1f} MiB" if self.samples else ""
        self._progress.say(
            f"{max(0, end - time.monotonic()):.0f} s to go: {answers / max(spent, 1e-9):.0f} answers/s, {memory}; "
            f"{tally.rejected} rejected, {tally.wrong} wrong, {tally.late} late, {tally.errors} errors"
        )

    def figures(self) -> list[dict[str, Any]]:
        """The figures of the run."""
        from plyd.clients.commands.bench import figure, percentile

        tally, game = self.tally, "+".join(self._games)
        seconds = max(1e-9, time.monotonic() - self._began)
        found = [figure(game, f"answers: {kind}", count, "") for kind, count in sorted(tally.answers.items())]
        found += [
            figure(game, "minutes", seconds / 60, "min"),
            figure(game, "answers", sum(tally.answers.values()) / seconds, "a second", at_least=1),
            figure(game, "rejected, no slot in time", tally.rejected, ""),
            figure(game, "wrong answers", tally.wrong, "", at_most=0),
            figure(game, "crashes", self.crashes, "", at_most=0),
            figure(game, "errors", tally.errors, "", at_most=0),
        ]
        if tally.overshoots:
            times = [1000 * late for late in tally.overshoots]
            found += [
                figure(game, f"{name} after a time limit", value, "ms")
                for name, value in (
                    ("p50", percentile(times, 50)),
                    ("p99", percentile(times, 99)),
                    ("maximum", max(times)),
                )
            ]
        found += [figure(game, f"answers later than {1000 * self._margin:g} ms", tally.late, "", at_most=0)]
        grown = growth(self.samples)
        if grown is not None:
            found += [
                figure(game, "memory at the end", self.samples[-1][1] / 2**20, "MiB"),
                figure(game, "memory growth after warm-up", grown, "%", at_most=MAX_GROWTH),
            ]
        return found


def growth(samples: Sequence[Sample]) -> float | None:
    """Growth of memory in percent, from after the warm-up to the end; both are means of five minutes or a quarter."""
    samples = [sample for sample in samples if sample[1]]
    if len(samples) < 4:
        return None
    last = samples[-1][0]
    span = min(WARM_UP_SECONDS, last / 4)
    early = [resident for seconds, resident, _ in samples if span <= seconds <= 2 * span]
    late = [resident for seconds, resident, _ in samples if seconds >= last - span]
    if not early or not late:
        return None
    return 100 * (sum(late) / len(late) / (sum(early) / len(early)) - 1)


def draw(samples: Sequence[Sample], path: Path) -> None:
    """Plot memory and rate over time."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    minutes = [seconds / 60 for seconds, _, _ in samples]
    rates = [(after[2] - before[2]) / (after[0] - before[0]) for before, after in itertools.pairwise(samples)]
    figure, (memory, rate) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 6))
    memory.plot(minutes, [resident / 2**20 for _, resident, _ in samples])
    memory.set_ylabel("resident memory, MiB")
    memory.set_ylim(bottom=0)
    rate.plot(minutes[1:], rates)
    rate.set_ylabel("answers a second")
    rate.set_ylim(bottom=0)
    rate.set_xlabel("minutes")
    figure.savefig(path, dpi=120, bbox_inches="tight")

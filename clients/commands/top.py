"""`plyd top`: what daemons are doing, live in the terminal."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import click

from plyd.clients.commands.scrape import Figures, Reading, figures, scrape

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

T = TypeVar("T")

WIDTH = 250  # more than a table needs
COLOURS = {"ready": "green", "not ready": "yellow", "away": "red"}
LEAST_WANTED = ("games", "up", "memory", "sheds/s", "cpu", "p50")  # the first goes first where there is little room


@click.command(short_help="What daemons are doing, live.")
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@click.option(
    "--interval", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds between readings."
)
@click.option("--once", is_flag=True, help="Print one table, of one interval, and end.")
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each reading: a list of daemons.")
def top(addresses: tuple[str, ...], interval: float, once: bool, as_json: bool) -> None:
    """Show what daemons are doing. ADDRESS... (HOST:PORT) are those of their metrics. Default: those of `plyd up`.

    The first column is the address that clients connect to. Rates and latencies are those of the last interval;
    latencies do not include the streams Play and Evaluate. A daemon that does not answer is asked again each time.
    Ctrl-C ends it. With --once, the exit status is 1 if no daemon answered.

    \b
    plyd top
    plyd top 127.0.0.1:25860 127.0.0.1:25864 --interval 5
    plyd top --once --json | jq '.[] | {games, requests_per_second}'
    """
    from plyd.clients.library.channel import parse_endpoint
    from plyd.clients.library.connect.up_addresses import metrics_addresses
    from plyd.clients.library.errors import BadEndpoint

    try:
        watched = [str(parse_endpoint(address, insecure=True)) for address in addresses]
    except BadEndpoint as error:
        raise click.ClickException(str(error)) from None
    readings = watch(watched or metrics_addresses(), interval)
    next(readings)  # rates need two
    try:
        if once:
            daemons = next(readings)
            click.echo(line(daemons) if as_json else text(daemons))
            sys.exit(0 if any(daemon.state != "away" for daemon in daemons) else 1)
        if as_json or not sys.stdout.isatty():
            for daemons in readings:
                click.echo(line(daemons) if as_json else text(daemons))
        else:
            _live(readings)
    except KeyboardInterrupt:
        sys.exit(0)


def watch(addresses: Sequence[str], interval: float) -> Iterator[list[Figures]]:
    """The figures of the daemons at these addresses, at once and then after each interval, without end."""
    before: dict[str, Reading] = {}
    due = time.monotonic()
    with ThreadPoolExecutor(len(addresses)) as pool:
        while True:
            answers = list(pool.map(_ask, addresses))
            yield [_figures(address, now, before.get(address)) for address, now in zip(addresses, answers, strict=True)]
            before = {a: now for a, now in zip(addresses, answers, strict=True) if isinstance(now, Reading)}
            due = max(due + interval, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def _ask(address: str) -> Reading | str:
    """A reading of a daemon, or why there is none."""
    try:
        return scrape(address)
    except Exception as error:  # whatever answers there may be anything
        reason = getattr(error, "reason", error)
        return str(getattr(reason, "strerror", None) or reason or type(error).__name__)


def _figures(address: str, now: Reading | str, before: Reading | None) -> Figures:
    if isinstance(now, str):
        return Figures(address, "away", problem=now)
    return figures(address, now, before)


def _live(readings: Iterator[list[Figures]]) -> None:
    """Draw each reading in place of the one before."""
    from rich.live import Live

    with Live(auto_refresh=False, screen=True) as screen:
        for daemons in readings:
            screen.update(fitting(daemons, screen.console), refresh=True)


def line(daemons: Sequence[Figures]) -> str:
    """A reading as one line of JSON."""
    return json.dumps([daemon.as_json() for daemon in daemons])


def text(daemons: Sequence[Figures]) -> str:
    """A reading as a table in plain text, as wide as it needs to be."""
    from rich.console import Console

    console = Console(width=WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(table(daemons))
    return "\n".join(row.rstrip() for row in capture.get().splitlines())


def fitting(daemons: Sequence[Figures], console: "Console") -> "Table":
    """The table with as many columns as the console has room for."""
    endless = console.options.update(width=WIDTH)
    for hidden in range(len(LEAST_WANTED)):
        drawn = table(daemons, LEAST_WANTED[:hidden])
        if console.measure(drawn, options=endless).maximum <= console.width:
            return drawn
    return table(daemons, LEAST_WANTED)


def table(daemons: Sequence[Figures], hidden: Sequence[str] = ()) -> "Table":
    """A reading as a table: a row for each daemon, its columns but for the hidden ones."""
    from rich import box
    from rich.table import Column, Table
    from rich.text import Text

    shown = [name for name in CELLS if name not in hidden]
    columns = [Column(name, justify="right", no_wrap=True) for name in shown]
    drawn = Table("daemon", "game", "state", *columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for daemon in daemons:
        state = Text(daemon.problem or daemon.state, style=COLOURS[daemon.state])
        drawn.add_row(_name(daemon), " ".join(daemon.games), state, *(CELLS[name](daemon) for name in shown))
    return drawn


def _name(daemon: Figures) -> str:
    """The address that clients connect to; that of the metrics if it is not known."""
    return daemon.serving[0] if daemon.serving else f"{daemon.address} (metrics)"


def _shown(value: T | None, show: Callable[[T], str]) -> str:
    return "" if value is None else show(value)


def short(number: float) -> str:
    """A number in a few characters: 0.25, 12.3, 4567, 1.2M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if unit == 'k' else size):.1f}{unit}"
    return f"{number:.0f}" if number >= 100 or number == 0 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def span(seconds: float) -> str:
    """A time in a few characters: 340 us, 5.2 ms, 1.3 s, 12 m, 3.4 h, 2.1 d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


CELLS: dict[str, Callable[[Figures], str]] = {
    "up": lambda it: _shown(it.uptime_seconds, span),
    "req/s": lambda it: _shown(it.requests_per_second, short),
    "p50": lambda it: _shown(it.p50_seconds, span),
    "p99": lambda it: _shown(it.p99_seconds, span),
    "slots": lambda it: f"{it.running}/{it.slots}" if it.slots else "",
    "queue": lambda it: _shown(it.waiting, str),
    "games": lambda it: _shown(it.sessions, str),
    "sheds/s": lambda it: _shown(it.sheds_per_second, short),
    "nodes/s": lambda it: _shown(it.nodes_per_second, short),
    "memory": lambda it: _shown(it.memory_bytes, lambda size: f"{size / 1e6:.0f} MB"),
    "cpu": lambda it: _shown(it.cpu_cores, lambda cores: f"{100 * cores:.0f}%"),
}

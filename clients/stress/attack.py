"""`plyd stress attack`: attacks on a private daemon, and what an honest caller beside each of them sees."""

import json
import sys
from typing import Any

import click


def _names(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    from plyd.clients.stress.attacks.catalogue import ATTACKS

    for name in given:
        if name not in ATTACKS:
            raise click.BadParameter(f"{name!r} is not an attack; attacks are {', '.join(ATTACKS)}")
    return given or tuple(ATTACKS)


@click.command(short_help="Attack a private daemon: an honest caller must notice nothing.")
@click.argument("names", nargs=-1, metavar="[NAME]...", callback=_names)
@click.option("--list", "lists", is_flag=True, help="Print the attacks and what each sends, and run none.")
@click.option(
    "--seconds", type=click.FloatRange(0.1, 60), default=4.0, show_default=True, help="Time that each attack has."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def attack(names: tuple[str, ...], lists: bool, seconds: float, as_json: bool) -> None:
    """Attack a daemon in each of several ways, or in those of NAME..., while an honest caller uses it.

    Each attack gets a new daemon on a free port of this machine; a daemon that runs already cannot be attacked. The
    honest caller makes 50 small calls a second on a connection of its own. None of them may fail, and 99% of them must
    be answered within 50 ms. CPU is the daemon's processor time without what the honest caller costs.

    \b
    plyd stress attack
    plyd stress attack rapid-reset crowd --seconds 10
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.attacks.catalogue import ATTACKS
    from plyd.clients.stress.attacks.run import run_attack
    from plyd.clients.stress.attacks.scene import opened_scene

    if lists:
        for name in names:
            click.echo(f"{name:18}{ATTACKS[name].__doc__}")
        return
    results = []
    with Console(stderr=True).status("starting") as status:
        for number, name in enumerate(names, 1):
            status.update(f"{name} ({number} of {len(names)})")
            try:
                with opened_scene(seconds) as scene:
                    results.append(run_attack(ATTACKS[name](), scene))
            except PlydError as error:
                raise click.ClickException(f"{name}: {error}") from None
            if as_json:
                print(json.dumps(results[-1].figures()), flush=True)
    if not as_json:
        Console(width=max(150, Console(stderr=True).width)).print(table(results))
    delay = max(result.honest.delay_ms for result in results)
    print(f"the measurement itself was up to {delay:.0f} ms late", file=sys.stderr)
    for result in results:
        for failure in result.failures():
            print(f"{result.name}: {failure}", file=sys.stderr)
    sys.exit(1 if any(result.failures() for result in results) else 0)


def table(results: list[Any]) -> Any:
    """The results as a table for people."""
    from rich import box
    from rich.table import Column, Table

    numbers = ("calls", "errors", "p50 ms", "p99 ms", "max ms", "MB before", "peak", "after", "CPU s")
    columns = [Column(name, justify="right") for name in numbers]
    shown = Table("attack", "sent", "heard", *columns, "holds", box=box.SIMPLE)
    for result in results:
        shown.add_row(
            result.name,
            counts(result.sent),
            counts(result.heard),
            str(result.honest.calls),
            str(result.honest.errors.total()),
            *(f"{result.honest_ms(percent):.1f}" for percent in (50, 99, 100)),
            *(f"{size:.0f}" for size in result.memory_mb),
            f"{result.cpu_seconds:.1f}",
            "no" if result.failures() else "yes",
        )
    return shown


def counts(found: dict[str, int]) -> str:
    """Counts in words: 3 Inspect, 2 OK."""
    return ", ".join(f"{count:,} {what}" for what, count in found.items() if count)

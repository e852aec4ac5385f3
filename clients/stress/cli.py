"""The commands of `plyd stress`."""

from collections.abc import Mapping
from typing import ClassVar

import click

from plyd.clients.cli import LazyGroup
from plyd.clients.stress.interrupt import stop_on_sigterm


class StressGroup(LazyGroup):
    """The commands, each loaded when it is used."""

    places: ClassVar[Mapping[str, str]] = {
        "rate": "plyd.clients.stress.rate:rate",
        "game": "plyd.clients.stress.game:game",
        "soak": "plyd.clients.stress.soak:soak",
        "overload": "plyd.clients.stress.overload:overload",
        "lateness": "plyd.clients.stress.lateness:lateness",
        "kill": "plyd.clients.stress.kill:kill",
        "attack": "plyd.clients.stress.attack:attack",
    }


@click.group(cls=StressGroup, short_help="Load, overload, kill and attack daemons, and check their guarantees.")
@click.pass_context
def stress(context: click.Context) -> None:
    """Load, overload, kill and attack daemons, and check that they keep their guarantees.

    Each command starts its own daemons on this machine and stops them at the end. It shows progress on stderr and
    prints figures with their required values on stdout. The exit status is 1 if a requirement is not met.
    docs/reliability.md has results.

    \b
    plyd stress rate
    plyd stress game
    plyd stress soak --minutes 60
    plyd stress overload --factor 4
    plyd stress lateness
    plyd stress kill --minutes 10 --every 20
    plyd stress attack
    """
    stop_on_sigterm(context)

"""The commands of `plyd stress`."""

import signal
from collections.abc import Mapping
from typing import ClassVar

import click

from plyd.clients.cli import LazyGroup


class StressGroup(LazyGroup):
    """Its commands, each loaded when it is used."""

    places: ClassVar[Mapping[str, str]] = {
        "rate": "plyd.clients.stress.rate:rate",
        "soak": "plyd.clients.stress.soak:soak",
        "overload": "plyd.clients.stress.overload:overload",
        "kill": "plyd.clients.stress.kill:kill",
    }


@click.group(cls=StressGroup, short_help="Put daemons under load and kill them; is every promise kept?")
def stress() -> None:
    """Put daemons under load, too much of it, and kill them: is every promise kept?

    Each command starts daemons of its own on this machine and ends them, talks on stderr, prints figures on stdout
    beside what they have to reach, and ends with status 1 if one of them does not. docs/reliability.md has results.

    \b
    plyd stress rate
    plyd stress soak --minutes 60
    plyd stress overload --factor 4
    plyd stress kill --minutes 10 --every 20
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: no daemon is left behind

"""The options of a command that can run on a cluster, and the fleet that they ask for."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from plyd.cluster.backend import WorkerSpec
from plyd.cluster.fleet import Fleet, FleetError

LOCAL = "local"
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Which cluster, and what of it."""

    address: str
    workers: int | None = None
    worker_cores: int | None = None

    @property
    def needs(self) -> str:
        """What a node must have for a worker."""
        return f"{self.worker_cores} cores" if self.worker_cores else "a core"


def cluster_options(unit: str, *, with_workers: bool = True) -> Callable[[Command], Command]:
    """A click decorator that adds --cluster, --workers and --worker-cores; `unit` is "node" or "core"."""
    default = "the node's cores, one worker a node" if unit == "node" else "1"
    options = [
        click.option(
            "--cluster",
            is_flag=False,
            flag_value=LOCAL,
            metavar="[ADDRESS]",
            help="Run on the Ray cluster whose head is at HOST:PORT; without an address, on a new one on this machine.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1),
            metavar="N",
            help="With --cluster: most workers.  [default: as many as fit]",
        ),
        click.option(
            "--worker-cores",
            type=click.IntRange(1),
            metavar="C",
            help=f"With --cluster: cores of a worker.  [default: {default}]",
        ),
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options if with_workers else [options[0], options[2]]):
            command = option(command)
        return command

    return decorate


def cluster_settings(options: dict[str, Any]) -> ClusterSettings | None:
    """Take the options of `cluster_options` out of a command's options; None without --cluster."""
    address, workers = options.pop("cluster"), options.pop("workers")
    cores = options.pop("worker_cores")
    if address is None:
        if workers is not None or cores is not None:
            raise click.UsageError("--workers and --worker-cores need --cluster")
        return None
    return ClusterSettings(address, workers, cores)


@contextlib.contextmanager
def open_fleet(settings: ClusterSettings, spec: WorkerSpec) -> Iterator[Fleet]:
    """A fleet on a cluster, while the block runs; its errors are shown to the user."""
    set_ray_up(settings.address)
    try:
        from plyd.cluster.actors import Actors, connect
    except ImportError as error:
        raise click.ClickException(f"--cluster needs {error.name}: pip install 'plyd[cluster]'") from None
    try:
        connect(settings.address)
        if settings.worker_cores is not None:
            spec = replace(spec, cores=settings.worker_cores)
        with Fleet(Actors(spec), max_workers=settings.workers, needs=settings.needs, note=say) as fleet:
            yield fleet
    except FleetError as error:
        raise click.ClickException(str(error)) from None


def set_ray_up(address: str) -> None:
    """Settings that Ray reads when it is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no figures go to its makers
    if address != LOCAL:
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")  # of a first call to the head, instead of 20
    if address == LOCAL and "RAY_AUTH_MODE" not in os.environ:  # others on this machine cannot run code in it
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def say(text: str) -> None:
    """A note for the user."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)

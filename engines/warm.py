"""`plyd warm`: compile now what the first start of each engine would compile."""

import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import click

from plyd.engines import registry
from plyd.engines.core.cores import usable_cores
from plyd.engines.core.errors import UnknownGame


@click.command(short_help="Compile every engine's kernels, once.")
@click.argument("games", nargs=-1)
def warm(games: tuple[str, ...]) -> None:
    """Compile the kernels of GAMES, or of every game, and keep them, so that their daemons are ready in seconds.

    A daemon's first start does the same; this is for when nobody should wait for that: after an installation, in an
    image. As many games are compiled side by side as there are cores. What is compiled already costs a start only.

    \b
    plyd warm
    plyd warm gomoku connect4
    """
    try:
        registry.check(games)
    except UnknownGame as error:
        raise click.BadParameter(str(error), param_hint="GAMES") from None
    asked = games or tuple(registry.ENGINES)
    with ProcessPoolExecutor(usable_cores(), get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(seconds_to_warm, game) for game in dict.fromkeys(asked)]):
            click.echo("{}: ready after {:.1f} s".format(*done.result()), err=True)


def seconds_to_warm(game: str) -> tuple[str, float]:
    """Have an engine run each of its kernels once; the game, and how long it took."""
    began = time.monotonic()
    registry.load(game).warm_up()
    return game, time.monotonic() - began

"""The command `plyd warm`: compile the kernels that the first start of each engine would compile."""

import signal
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import click

from plyd.engines import registry
from plyd.engines.core.cores import usable_cores
from plyd.engines.core.errors import EngineError, UnknownGame


@click.command(short_help="Compile every engine's kernels, once.")
@click.argument("games", nargs=-1)
def warm(games: tuple[str, ...]) -> None:
    """Compile the kernels of GAMES and cache them, so that their daemons start in seconds. Default: all games.

    The first start of a daemon does the same. Use this command to avoid that wait: after an installation, before a
    tournament, or in a container image. One game per core is compiled at a time. Kernels that are in the cache are not
    compiled again.

    \b
    plyd warm
    plyd warm gomoku connect4
    """
    try:
        registry.check(games)
    except UnknownGame as error:
        raise click.BadParameter(str(error), param_hint="GAMES") from None
    asked = games or tuple(reversed(registry.games()))  # slowest to compile first
    die = (signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker without a traceback
    with ProcessPoolExecutor(usable_cores(), get_context("spawn"), signal.signal, die, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(seconds_to_warm, game) for game in dict.fromkeys(asked)]):
            try:
                game, seconds = done.result()
            except EngineError as error:
                raise click.ClickException(str(error)) from None
            except BrokenProcessPool:
                raise click.ClickException("a process that compiled was killed; is there enough memory?") from None
            click.echo(f"{game} is ready after {seconds:.1f} s", err=True)


def seconds_to_warm(game: str) -> tuple[str, float]:
    """Run each kernel of an engine once; returns the game and the seconds it took."""
    began = time.monotonic()
    registry.load(game).warm_up()
    return game, time.monotonic() - began

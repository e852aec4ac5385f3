"""`plyd train 2048` and `plyd train 2584`: train an n-tuple network by playing."""

import os
import shlex
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.engines.tiles.games import tile_game

if TYPE_CHECKING:
    from plyd.engines.tiles.train.trainer import Trainer

CAPS = {"2048": {"classic": 15}, "2584": {"classic": 23, "hard": 21}}
RATES = {"tc": 1.0, "td": 0.1, "lab": 0.1}
TRACES = {"tc": 0.5, "td": 0.5, "lab": 0.0}


@click.command()
@click.option("--variant", default="classic", show_default=True, help="classic; for 2584 also hard (75% 1, 25% 3).")
@click.option(
    "--network",
    default="4x6",
    show_default=True,
    help="lab, lab-extra, 4x6, 6x6, 8x6, or patterns of your own: '012345 0145'; cells are hexadecimal, row by row.",
)
@click.option(
    "--cap", type=click.IntRange(4, 31), help="2584: larger indices share this one's weights.  [default: 21, 23]"
)
@click.option(
    "--method",
    type=click.Choice(list(RATES)),
    default="tc",
    show_default=True,
    help="Temporal coherence or plain TD, both on after-states; lab: TD(0) on before-states, with expected drops.",
)
@click.option("--rate", type=click.FloatRange(0, 10), help="Step size alpha.  [default: 1 for tc, 0.1 for td and lab]")
@click.option("--trace", type=click.FloatRange(0, 1), help="Lambda.  [default: 0.5; 0, which is TD(0), for lab]")
@click.option("--every", type=click.IntRange(0), default=0, help="Learn every so many moves, not when a game is over.")
@click.option("--optimism", type=float, default=0.0, help="What every board is worth at first; much makes curious.")
@click.option(
    "--restart", type=click.IntRange(0), default=0, help="Begin games of so many moves again at their middle."
)
@click.option("--goal", type=click.IntRange(0, 31), default=0, help="Index of a tile that wins, and ends, a game.")
@click.option("--bonus", type=float, default=0.0, help="What winning is worth, in points.")
@click.option("--games", type=click.IntRange(1), help="Stop after so many games in all.  [default: go on]")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), help="Stop after so many minutes.  [default: go on]"
)
@click.option("--threads", type=click.IntRange(1, 256), default=os.cpu_count() or 1, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder.  [default: runs/GAME-VARIANT-NETWORK]")
@click.option("--save-every", type=click.FloatRange(0), default=10.0, show_default=True, help="Minutes.")
@click.option("--plot", is_flag=True, help="Draw the learning curve to curve.png in the run's folder.")
def train_tiles(game: str, variant: str, network: str, **settings: Any) -> None:
    """Train a network to play a tile game by playing it, on all cores, until told to stop.

    Prints the lab's statistics for every 1000 games. Ctrl-C saves and stops; the same command goes on from there, and
    after a crash from the last checkpoint. The method may change from one time to the next, the network may not.

    \b
    plyd train 2048 --network lab --method lab --games 10000        as the lab's program learns
    plyd train 2048 --network 8x6 --restart 1500 --plot             towards the player that ships
    plyd train 2584 --variant hard --minutes 30
    plyd models pack runs/2048-classic-8x6 mine.plyd                then: plyd play 2048 --model mine.plyd
    """
    from plyd.engines.core.errors import EngineError
    from plyd.engines.tiles.train.trainer import Plan, Trainer
    from plyd.models.errors import BadWeights

    method = settings["method"]
    name = network if network.isprintable() and " " not in network and "/" not in network else "own"
    folder = settings["out"] or Path("runs") / f"{game}-{variant}-{name}"
    try:
        played = tile_game(game, variant)
        cap = CAPS[game][variant] if settings["cap"] is None or game == "2048" else settings["cap"]
        rate = RATES[method] if settings["rate"] is None else settings["rate"]
        trace = TRACES[method] if settings["trace"] is None else settings["trace"]
        kept = {name: settings[name] for name in ("every", "optimism", "restart", "goal", "bonus", "seed")}
        plan = Plan(game, variant, network, cap, method, rate, trace, **kept)
        trainer = Trainer(played, plan, folder, settings["threads"])
        resumed = trainer.resume()
        start = f"goes on from game {trainer.progress.games}" if resumed else "begins"
        print(f"{folder}: {start}, {trainer.weights.size / 1e6:.1f}M weights, {plan.method}", file=sys.stderr)
        run(trainer, settings)
    except (EngineError, BadWeights) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename or folder}") from None
    except MemoryError:
        raise click.ClickException(f"network {network} needs more memory than there is; try a smaller --cap") from None


def trainer_of(game: str) -> click.Command:
    """The command for one of the tile games."""
    assert train_tiles.callback
    callback = partial(train_tiles.callback, game)
    short = f"Train a network for {game}."
    return click.Command(game, callback=callback, params=train_tiles.params, help=train_tiles.help, short_help=short)


def run(trainer: "Trainer", settings: dict[str, Any]) -> None:
    """Train until a limit or a signal; print, save, draw."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    command = shlex.join(["plyd", *sys.argv[1:]])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: trainer.stop())
    talk = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    began = saved = time.monotonic()
    games, moves = trainer.progress.games, trainer.progress.moves
    trainer.begin(command)
    with Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as bar:
        task = bar.add_task("training", total=None)
        for line in trainer.blocks(settings["games"]):
            now = time.monotonic()
            pace = (trainer.progress.moves - moves) / max(now - began, 1e-9)
            bar.update(task, description=f"{trainer.progress.games} games, {pace / 1e6:.2f}M moves/s")
            if line:
                print(block(line), flush=True)
                if now - saved > 60 * settings["save_every"]:
                    trainer.save()
                    saved = time.monotonic()
            if settings["minutes"] and now - began > 60 * settings["minutes"]:
                trainer.stop()
    trainer.save()
    if settings["plot"]:
        from plyd.engines.tiles.train.curve import draw

        print(f"learning curve: {draw(trainer.folder)}", file=sys.stderr)
    print(
        f"{trainer.folder}: saved after {trainer.progress.games} games (+{trainer.progress.games - games})",
        file=sys.stderr,
    )


def block(line: dict[str, Any]) -> str:
    """The lab's block of statistics."""
    head = f"{line['games']}\tavg = {line['average']:.0f}, max = {line['maximum']}, {line['pace']:.0f} moves/s"
    shares = list(line["reached"].items())
    ended = [share - (shares[i + 1][1] if i + 1 < len(shares) else 0.0) for i, (_, share) in enumerate(shares)]
    rows = [f"\t{tile}\t{share:.1%}\t({end:.1%})" for (tile, share), end in zip(shares, ended, strict=True)]
    return "\n".join([head, *rows])

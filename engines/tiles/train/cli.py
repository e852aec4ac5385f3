"""`plyd train 2048` and `plyd train 2584`: train an n-tuple network by playing."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plyd.cluster.options import cluster_options, cluster_settings
from plyd.engines.core.training_run import TrainingRun, readable_errors, run_options
from plyd.engines.tiles.games import tile_game

if TYPE_CHECKING:
    from plyd.engines.tiles.game import TileGame

CAPS = {"2048": {"classic": 15}, "2584": {"classic": 23, "hard": 21}}
RATES = {"tc": 1.0, "td": 0.1, "lab": 0.1}
STAGE_RATE = 0.2  # times the rate of the first stage: a stage that begins with copies needs small steps
TRACES = {"tc": 0.5, "td": 0.5, "lab": 0.0}


@click.command()
@click.option("--variant", default="classic", show_default=True, help="classic; for 2584 also hard (75% 1, 25% 3).")
@click.option(
    "--network",
    default="4x6",
    show_default=True,
    help="lab, lab-extra, 4x6, 6x6, 8x6, or your own patterns: '012345 0145' (cells in hexadecimal, row by row).",
)
@click.option(
    "--cap",
    type=click.IntRange(4, 31),
    help="2584 only: tiles above this index share its weights.  [default: 23 for classic, 21 for hard]",
)
@click.option(
    "--method",
    type=click.Choice(list(RATES)),
    default="tc",
    show_default=True,
    help="tc: temporal coherence. td: plain TD. Both learn after-states. lab: TD(0) on before-states, with the mean "
    "over all drops.",
)
@click.option("--rate", type=click.FloatRange(0, 10), help="Step size alpha.  [default: 1 for tc, 0.1 for td and lab]")
@click.option("--trace", type=click.FloatRange(0, 1), help="Lambda.  [default: 0.5 for tc and td, 0 for lab]")
@click.option(
    "--every",
    type=click.IntRange(0),
    default=0,
    help="Learn after this many moves.  [default: 0, at the end of each game]",
)
@click.option(
    "--optimism",
    type=float,
    default=0.0,
    help="Initial value of every board, in points. A high value favours exploration.  [default: 0]",
)
@click.option(
    "--restart",
    type=click.IntRange(0),
    default=0,
    help="Play games of at least this many moves again from the middle.  [default: 0, never]",
)
@click.option(
    "--stage",
    "stages",
    multiple=True,
    metavar="TILES",
    help="A stage begins with these tiles, for example 16384 or 16384+8192: boards from then on have weights of their "
    "own, which begin as copies. May be repeated, the latest stage last.  [default: one stage]",
)
@click.option(
    "--downgrade",
    is_flag=True,
    help="2048 only: later stages look at boards with all tiles above the largest missing one halved.",
)
@click.option(
    "--stage-rate",
    type=click.FloatRange(0, 10),
    help="Step size in stages after the first.  [default: 0.2 times --rate]",
)
@click.option(
    "--pool",
    type=click.IntRange(0, 1000),
    default=0,
    help="After each game, play so many from boards on which earlier games entered each later stage.  [default: 0]",
)
@click.option(
    "--goal",
    type=click.IntRange(0, 31),
    default=0,
    help="Index of a tile that wins and ends the game.  [default: 0, none]",
)
@click.option("--bonus", type=float, default=0.0, help="Value of a win, in points.  [default: 0]")
@click.option(
    "--evil", is_flag=True, help="Learn against an environment that drops each tile on the worst cell; not with lab."
)
@click.option("--games", type=click.IntRange(1), help="Stop after this many games in total.  [default: no limit]")
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=os.cpu_count() or 1,
    help="Threads that play and learn.  [default: number of cores]",
)
@click.option(
    "--depth", type=click.IntRange(1, 4), default=1, help="With --cluster: depth of the players' search.  [default: 1]"
)
@cluster_options("node")
@run_options("runs/GAME-VARIANT-NETWORK", save_every=10.0)
def train_tiles(game: str, variant: str, network: str, **settings: Any) -> None:
    """Train an n-tuple network by playing, until a limit is reached or Ctrl-C.

    Prints statistics after every 1000 games. Ctrl-C saves and stops. The same command resumes the run, after a crash
    from the last checkpoint. Options may change when a run is resumed, except game, variant, network and cap;
    stages may be added after those that a run has.

    \b
    plyd train 2048 --network lab --method lab --games 10000        learn like the lab's program
    plyd train 2048 --network 8x6 --restart 1500 --plot             the recipe of the shipped network
    plyd train 2584 --variant hard --minutes 30
    plyd train 2048 --network 8x6 --depth 2 --cluster head:6379     nodes play with search, this process learns
    plyd models pack runs/2048-classic-8x6 mine.plyd                then: plyd play 2048 --model mine.plyd
    """
    from plyd.engines.tiles.train.trainer import TilePlan, TileTrainer

    cluster, method = cluster_settings(settings), settings["method"]
    if settings["depth"] > 1 and not cluster:
        raise click.UsageError("--depth needs --cluster")
    if settings["evil"] and method == "lab":
        raise click.UsageError("--evil is for tc and td; lab learns the mean over random drops")
    if settings["downgrade"] and (game != "2048" or not settings["stages"]):
        raise click.UsageError("--downgrade is for 2048, with --stage")
    name = network if network.isprintable() and " " not in network and "/" not in network else "own"
    folder = settings["out"] or Path("runs") / f"{game}-{variant}-{name}"
    with readable_errors(folder):
        played = tile_game(game, variant)
        cap = CAPS[game][variant] if settings["cap"] is None or game == "2048" else settings["cap"]
        rate = RATES[method] if settings["rate"] is None else settings["rate"]
        trace = TRACES[method] if settings["trace"] is None else settings["trace"]
        same = ("every", "optimism", "restart", "goal", "bonus", "evil", "downgrade", "pool", "seed")
        others = {name: settings[name] for name in same}
        others["stages"] = tuple(stage_of(text, played) for text in settings["stages"])
        others["stage_rate"] = STAGE_RATE * rate if settings["stage_rate"] is None else settings["stage_rate"]
        plan = TilePlan(game, variant, network, cap, method, rate, trace, **others)
        if cluster:
            from plyd.engines.tiles.train.cluster import ClusterTileTrainer

            trainer: TileTrainer = ClusterTileTrainer(played, plan, cluster, settings["depth"])
        else:
            trainer = TileTrainer(played, plan, settings["threads"])
        with TrainingRun(folder, trainer) as run:
            run.resume()
            run.train(settings["games"], settings["minutes"], settings["save_every"])
            if settings["plot"]:
                run.plot()


def stage_of(text: str, game: "TileGame") -> tuple[int, ...]:
    """The indices of tiles in a text such as 16384+8192, the largest first."""
    indices = {str(game.rules.tile(index)): index for index in range(1, game.rules.max_index + 1)}
    unknown = [word for word in text.split("+") if word not in indices]
    if unknown:
        raise click.BadParameter(
            f"{text!r:.60}: {game.name} has no tile {unknown[0]!r:.20}; write tiles as in 16384+8192",
            param_hint="--stage",
        )
    return tuple(sorted((indices[word] for word in text.split("+")), reverse=True))


def train_command(game: str) -> click.Command:
    """The command for one of the tile games."""
    assert train_tiles.callback
    callback = partial(train_tiles.callback, game)
    short = f"Train a network for {game}."
    return click.Command(game, callback=callback, params=train_tiles.params, help=train_tiles.help, short_help=short)

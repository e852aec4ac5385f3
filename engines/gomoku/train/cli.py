"""`plyd train gomoku`: train the policy-value network on games of other players and by self-play."""

import os
from pathlib import Path
from typing import Any

import click

from plyd.cluster.options import cluster_options, cluster_settings
from plyd.engines.core.training_run import TrainingRun, readable_errors, run_options
from plyd.models.policy_value import START


@click.command(short_help="Train Gomoku's network by self-play.")
@click.option("--blocks", type=click.IntRange(1, 40), default=3, show_default=True, help="Residual blocks.")
@click.option("--channels", type=click.IntRange(4, 512), default=32, show_default=True, help="Channels of each block.")
@click.option(
    "--from",
    "begin_with",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A packed network of the same shape to start with.  [default: random weights]",
)
@click.option(
    "--bootstrap",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="Games of another player to learn from first, one per line as JSON: a file, or a folder of *.jsonl. May be "
    "given several times.",
)
@click.option(
    "--bootstrap-steps", type=click.IntRange(0), default=2000, show_default=True, help="Steps on these games."
)
@click.option(
    "--bootstrap-share",
    type=click.FloatRange(0, 1),
    default=0.25,
    show_default=True,
    help="Share of batches from these games during self-play.",
)
@click.option(
    "--walks",
    "simulations",
    type=click.IntRange(2),
    default=400,
    show_default=True,
    help="Simulations of a full search. The policy is learned from full searches only.",
)
@click.option(
    "--quick-walks",
    "quick_simulations",
    type=click.IntRange(2),
    default=80,
    show_default=True,
    help="Simulations of the other searches.",
)
@click.option(
    "--full-share", type=click.FloatRange(0, 1), default=0.25, show_default=True, help="Share of full searches."
)
@click.option(
    "--hot-plies",
    type=click.IntRange(0),
    default=12,
    show_default=True,
    help="Moves after the opening that are drawn in proportion to their visits.",
)
@click.option(
    "--opening-plies",
    type=click.IntRange(0),
    default=6,
    show_default=True,
    help="Maximum number of random moves at the start of a game.",
)
@click.option(
    "--sizes",
    default="15 15 15 15 15 15 15 13 17 20",
    show_default=True,
    help="Board sizes. Each game draws one of them.",
)
@click.option("--batch", type=click.IntRange(2), default=256, show_default=True, help="Positions of a step.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=0.02, show_default=True, help="Step size.")
@click.option("--decay", type=click.FloatRange(0), default=1e-4, show_default=True, help="Weight decay (L2).")
@click.option(
    "--memory", type=click.IntRange(1), default=200_000, show_default=True, help="Positions in the replay buffer."
)
@click.option(
    "--reuse",
    type=click.FloatRange(0, min_open=True),
    default=4.0,
    show_default=True,
    help="How often a position is learned from, on average.",
)
@click.option(
    "--generation",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Steps until the workers play with the new network.",
)
@click.option(
    "--rate-every", type=click.IntRange(1), default=5, show_default=True, help="Generations between two ratings."
)
@click.option("--rate-games", type=click.IntRange(2), default=20, show_default=True, help="Games of a rating.")
@click.option("--steps", type=click.IntRange(1), help="Stop after this many steps in total.  [default: no limit]")
@click.option(
    "--processes",
    type=click.IntRange(1, 256),
    default=os.cpu_count() or 1,
    help="Worker processes that play, without --cluster.  [default: number of cores]",
)
@cluster_options("core")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Threads that learn.")
@click.option(
    "--learners",
    type=click.IntRange(0, 256),
    default=0,
    help="Workers that compute gradients of parts of each batch, instead of the threads.  [default: 0]",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    help="Where this process computes gradients.  [default: cuda if there is a GPU, else cpu]",
)
@click.option(
    "--ship",
    type=click.Path(path_type=Path, dir_okay=False),
    help="At the end, also write the network to this file, and its manifest beside it.",
)
@run_options("runs/gomoku-BLOCKSxCHANNELS", save_every=5.0)
def gomoku(blocks: int, channels: int, **settings: Any) -> None:
    """Train the network of Gomoku's MCTS by self-play, until a limit is reached or Ctrl-C.

    Prints a line for every generation. Ctrl-C saves and stops. The same command resumes the run, after a crash from
    the last checkpoint. The network of every generation is ready for play in the folder of the run: nets/*.plyd.

    \b
    plyd train gomoku --minutes 60 --plot
    plyd train gomoku --bootstrap games.jsonl --bootstrap-steps 5000
    plyd train gomoku --from models/weights/gomoku-freestyle.plyd --rate 0.01
    plyd train gomoku --cluster head:6379 --threads 4
    plyd serve gomoku --model runs/gomoku-3x32/nets/005000.plyd
    """
    try:
        import onnx  # noqa: F401
        import torch
    except ImportError as error:
        raise click.ClickException(f"training needs {error.name}: pip install 'plyd[train]'") from None
    from plyd.engines.gomoku.train.self_play import SelfPlayParams
    from plyd.engines.gomoku.train.trainer import GomokuPlan, GomokuTrainer

    device = settings["device"] or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise click.BadParameter("'cuda', but torch finds no GPU; allowed here is cpu", param_hint="--device")
    cluster = cluster_settings(settings)
    sizes = sizes_of(settings["sizes"])
    style_names = ("simulations", "quick_simulations", "full_share", "hot_plies", "opening_plies")
    style = SelfPlayParams(**{name: settings[name] for name in style_names}, sizes=sizes)
    names = ("batch", "rate", "decay", "memory", "reuse", "generation", "rate_every", "rate_games", "seed")
    others = {name: settings[name] for name in (*names, "bootstrap_steps", "bootstrap_share")}
    folder = settings["out"] or Path("runs") / f"gomoku-{blocks}x{channels}"
    with readable_errors(folder):
        plan = GomokuPlan(blocks, channels, **others, style=style)
        counts = settings["processes"], settings["threads"]
        trainer = GomokuTrainer(plan, folder, *counts, cluster, settings["learners"], device)
        trainer.bootstrap(list(settings["bootstrap"]))
        with TrainingRun(folder, trainer) as run:
            first = settings["begin_with"] or folder / START
            if not run.resume() and first.exists():
                trainer.import_network(first)
            run.train(settings["steps"], settings["minutes"], settings["save_every"])
            if settings["ship"]:
                trainer.ship(settings["ship"], run.manifest["commands"])
            if settings["plot"]:
                run.plot()


def sizes_of(text: str) -> tuple[int, ...]:
    """The board sizes that a text lists."""
    from plyd.engines.gomoku.rules import LARGEST, SMALLEST

    words = text.split()
    if not words or not all(word.isdecimal() and SMALLEST <= int(word) <= LARGEST for word in words):
        raise click.BadParameter(f"{text!r}; sizes are {SMALLEST} to {LARGEST}, as in '15 15 13'", param_hint="--sizes")
    return tuple(int(word) for word in words)

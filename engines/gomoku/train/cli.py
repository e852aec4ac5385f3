"""`plyd train gomoku`: teach the policy-value network by games of others and by self-play."""

import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plyd.engines.gomoku.train.trainer import Trainer


@click.command(short_help="Train Gomoku's network by self-play.")
@click.option("--blocks", type=click.IntRange(1, 40), default=3, show_default=True, help="Of the residual tower.")
@click.option("--channels", type=click.IntRange(4, 512), default=32, show_default=True)
@click.option(
    "--from",
    "begin_with",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A network for play to begin with, of the same shape.  [default: chance]",
)
@click.option(
    "--bootstrap",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="Games of another player to learn from first, one a line of JSON: a file, or a folder of *.jsonl.",
)
@click.option("--bootstrap-steps", type=click.IntRange(0), default=2000, show_default=True, help="On such games.")
@click.option(
    "--bootstrap-share", type=click.FloatRange(0, 1), default=0.25, show_default=True, help="Of batches, later on."
)
@click.option("--walks", type=click.IntRange(2), default=400, show_default=True, help="Of a search that is learned.")
@click.option("--quick-walks", type=click.IntRange(2), default=80, show_default=True, help="Of the others.")
@click.option("--full-share", type=click.FloatRange(0, 1), default=0.25, show_default=True, help="Of learned searches.")
@click.option("--hot-plies", type=click.IntRange(0), default=12, show_default=True, help="Moves drawn by visits.")
@click.option("--opening-plies", type=click.IntRange(0), default=6, show_default=True, help="Moves by chance, at most.")
@click.option("--sizes", default="15 15 15 15 15 15 15 13 17 20", show_default=True, help="Boards, drawn from these.")
@click.option("--batch", type=click.IntRange(2), default=256, show_default=True)
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=0.02, show_default=True, help="Step size.")
@click.option("--decay", type=click.FloatRange(0), default=1e-4, show_default=True, help="L2.")
@click.option("--memory", type=click.IntRange(1), default=200_000, show_default=True, help="Positions remembered.")
@click.option("--reuse", type=click.FloatRange(0, min_open=True), default=4.0, show_default=True, help="Of a position.")
@click.option("--generation", type=click.IntRange(1), default=100, show_default=True, help="Steps to the next network.")
@click.option("--rate-every", type=click.IntRange(1), default=5, show_default=True, help="Generations to a rating.")
@click.option("--rate-games", type=click.IntRange(2), default=20, show_default=True, help="Games of a rating.")
@click.option("--steps", type=click.IntRange(1), help="Stop after so many steps in all.  [default: go on]")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), help="Stop after so many minutes.  [default: go on]"
)
@click.option("--processes", type=click.IntRange(1, 256), default=os.cpu_count() or 1, show_default=True, help="Play.")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Learn.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The run's folder.  [default: runs/gomoku-BLOCKSxCHANNELS]"
)
@click.option("--save-every", type=click.FloatRange(0), default=5.0, show_default=True, help="Minutes.")
@click.option(
    "--ship",
    type=click.Path(path_type=Path, dir_okay=False),
    help="At the end, also write the network to this file, and its manifest beside it.",
)
@click.option("--plot", is_flag=True, help="Draw losses and ratings to curve.png in the run's folder.")
def gomoku(blocks: int, channels: int, **settings: Any) -> None:
    """Train the network that leads Gomoku's MCTS, by games of others and by self-play, until told to stop.

    Prints a line for every generation. Ctrl-C saves and stops; the same command goes on from there, and after a crash
    from the last checkpoint. Every generation's network is ready for play in the run's folder: nets/*.plyd.

    \b
    plyd train gomoku --minutes 60 --plot
    plyd train gomoku --bootstrap games.jsonl --bootstrap-steps 5000
    plyd train gomoku --from models/weights/gomoku-freestyle.plyd --rate 0.01
    plyd serve gomoku --model runs/gomoku-3x32/nets/005000.plyd
    """
    try:
        import onnx  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise click.ClickException(f"training needs {error.name}: pip install 'plyd[train]'") from None
    from plyd.engines.core.errors import EngineError
    from plyd.engines.gomoku.train.self_play import Style
    from plyd.engines.gomoku.train.trainer import Plan, Trainer
    from plyd.models.errors import BadWeights

    sizes = sizes_of(settings["sizes"])
    style_names = ("walks", "quick_walks", "full_share", "hot_plies", "opening_plies")
    style = Style(**{name: settings[name] for name in style_names}, sizes=sizes)
    names = ("batch", "rate", "decay", "memory", "reuse", "generation", "rate_every", "rate_games", "seed")
    kept = {name: settings[name] for name in (*names, "bootstrap_steps", "bootstrap_share")}
    plan = Plan(blocks, channels, **kept, style=style)
    folder = settings["out"] or Path("runs") / f"gomoku-{blocks}x{channels}"
    try:
        trainer = Trainer(plan, folder, settings["processes"], settings["threads"])
        trainer.bootstrap(list(settings["bootstrap"]))
        resumed = trainer.resume()
        if settings["begin_with"] and not resumed:
            trainer.adopt(settings["begin_with"])
        start = f"goes on from step {trainer.progress.steps}" if resumed else "begins"
        weights = sum(parameter.numel() for parameter in trainer.network.parameters())
        others = f"{len(trainer.teachers.games)} games of others, {trainer.teachers.positions} positions"
        print(f"{folder}: {start}, {weights} weights; {others}", file=sys.stderr)
        run(trainer, settings)
    except (EngineError, BadWeights) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.strerror}: {error.filename or folder}") from None


def sizes_of(text: str) -> tuple[int, ...]:
    """Sizes of boards, from a text that lists them."""
    from plyd.engines.gomoku.rules import LARGEST, SMALLEST

    words = text.split()
    if not words or not all(word.isdecimal() and SMALLEST <= int(word) <= LARGEST for word in words):
        raise click.BadParameter(f"{text!r}; sizes are {SMALLEST} to {LARGEST}, as in '15 15 13'", param_hint="--sizes")
    return tuple(int(word) for word in words)


def run(trainer: "Trainer", settings: dict[str, Any]) -> None:
    """Train until a limit or a signal; print, save, draw."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from plyd.engines.tiles.train.trainer import revision

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: trainer.stop())
    talk = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    began = saved = time.monotonic()
    trainer.begin(shlex.join(["plyd", *sys.argv[1:]]), revision())
    with Progress(*columns, console=talk, transient=True, disable=not talk.is_terminal) as bar:
        task = bar.add_task("training", total=None)
        for line in trainer.generations():
            now = time.monotonic()
            progress = trainer.progress
            bar.update(task, description=f"{progress.steps} steps, {progress.games} games, {progress.walks} walks")
            if line:
                print(told(line), flush=True)
            if now - saved > 60 * settings["save_every"]:
                trainer.save()
                saved = time.monotonic()
            is_late = settings["minutes"] and now - began > 60 * settings["minutes"]
            if is_late or (settings["steps"] and progress.steps >= settings["steps"]):
                trainer.stop()
    trainer.save()
    if settings["ship"]:
        trainer.ship(settings["ship"])
    if settings["plot"]:
        from plyd.engines.gomoku.train.curve import draw

        print(f"curves: {draw(trainer.folder)}", file=sys.stderr)
    print(f"{trainer.folder}: saved after {trainer.progress.steps} steps", file=sys.stderr)


def told(line: dict[str, Any]) -> str:
    """A generation in one line."""
    elo = "" if line["elo"] is None else f", Elo {line['elo']:+.0f}"
    learned = f"policy {line['policy_loss']:.3f}, value {line['value_loss']:.3f}"
    return f"{line['steps']}\t{line['phase']}: {learned}, {line['games']} games{elo}, {line['seconds'] / 60:.1f} min"

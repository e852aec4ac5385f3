"""`python -m plyd.engines.gomoku.fit.network_fit GAMES...`: trains the pattern network of NegaScout's evaluation.

The numbers of a combination, and its weight, are the sums of the numbers of its four classes and a term of its own,
which is regularised: a combination that hardly ever occurs gets the numbers of its classes. Adam learns them from
positions of games (samples.py), by cross-entropy. One game in ten is held out.
"""

import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import cos, pi
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.errors import EngineError
from plyd.engines.core.training_run import LogLine, TrainingRun, readable_errors, run_options
from plyd.engines.gomoku.board import network
from plyd.engines.gomoku.board.evaluation import SCALE
from plyd.engines.gomoku.board.network import HIDDEN, SUM_SCALE, UNITS, W1_SCALE, W2_SCALE, PatternNetwork
from plyd.engines.gomoku.board.patterns import CLASSES, COMBINATIONS, combinations
from plyd.engines.gomoku.fit.gradients import SUM_DIVISOR, Parameters, add_gradients, values
from plyd.engines.gomoku.fit.records import read_records
from plyd.engines.gomoku.fit.samples import OPEN_POINT, Positions, positions_of
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, whole_in, write_file, write_manifest

CHECKPOINT_KIND = "pattern-network checkpoint"
NETWORK = "network.plyd"  # in the folder of the run
BLOCK = 500  # steps
WARM_UP = 100  # steps
MOMENTUM, VARIANCE = 0.9, 0.99  # decay of Adam's means
FINAL_RATE = 0.02  # share of the rate at the end
TABLES = ("value", "own", "other")  # fields of Parameters with a row for each combination
WIDTHS = {"value": 2, "own": UNITS, "other": UNITS}

Learned = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class FitPlan:
    """The settings of a training."""

    steps: int = 6000
    batch: int = 512
    rate: float = 0.004
    decay: float = 1e-5
    score_share: float = 0.7
    seed: int = 1


def class_counts() -> NDArray[np.float32]:
    """How often each class is in each combination; none in the last row, which is for points with a stone."""
    counts = np.zeros((COMBINATIONS + 1, CLASSES), np.float32)
    for index, four in enumerate(combinations()):
        np.add.at(counts[index], list(four), 1)
    return counts


def first_numbers(seed: int) -> Learned:
    """What learning begins with: small random numbers by class, and an output of 0."""
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {f"{name}_by_class": (CLASSES, width) for name, width in WIDTHS.items()}
    shapes |= {f"{name}_single": (COMBINATIONS + 1, width) for name, width in WIDTHS.items()}
    shapes |= {"w1": (2 * UNITS, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN,), "b2": (1,)}
    learned = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    for name, spread in (("own_by_class", 0.1), ("other_by_class", 0.1), ("w1", 0.2)):
        learned[name][:] = rng.normal(scale=spread, size=shapes[name])
    return learned


def numbers_of(start: PatternNetwork) -> Learned:
    """What learning begins with to go on from a network: the numbers of classes that fit it best, and what remains."""
    value = start.value.reshape(-1, 2)
    tables = {"value": np.stack([value[:, 1], -value[:, 0]], axis=1) / SCALE}
    tables |= {"own": start.points[:, :UNITS] / SUM_SCALE, "other": start.points[:, UNITS:] / SUM_SCALE}
    counts, learned = class_counts(), {}
    for name, table in tables.items():
        by_class = np.linalg.lstsq(counts, table, rcond=None)[0]
        learned[f"{name}_by_class"], learned[f"{name}_single"] = by_class, table - counts @ by_class
    learned |= {"w1": start.w1 * (SUM_DIVISOR / W1_SCALE), "b1": start.b1 / (SUM_SCALE * W1_SCALE)}
    learned |= {"w2": start.w2 / W2_SCALE, "b2": start.b2 / (SUM_SCALE * W2_SCALE)}
    return {name: array.astype(np.float32) for name, array in learned.items()}


class NetworkTrainer:
    """Learns from positions; a Trainer of `training_run`. It begins with the numbers of `start`, if there is one."""

    unit = "steps"

    def __init__(self, positions: Positions, plan: FitPlan, games: int, start: PatternNetwork | None = None) -> None:
        self.positions, self.plan, self.games = positions, plan, games
        self.learned, self.count = numbers_of(start) if start else first_numbers(plan.seed), 0
        self.means, self.squares = ({name: np.zeros_like(a) for name, a in self.learned.items()} for _ in range(2))
        self._counts = class_counts()
        self._train, self._held = (np.flatnonzero(positions.is_held == held) for held in (False, True))
        if not self._train.size or not self._held.size:
            raise EngineError(f"{len(positions.targets)} positions of {games} games are too few to learn from")

    def parameters(self) -> Parameters:
        """The tables by combination, and the head."""
        tables = []
        for name in TABLES:
            table = self._counts @ self.learned[f"{name}_by_class"] + self.learned[f"{name}_single"]
            table -= table[OPEN_POINT]
            table[COMBINATIONS] = 0
            tables.append(table)
        return Parameters(*tables, *(self.learned[name] for name in ("w1", "b1", "w2", "b2")))

    def train(self, stop: threading.Event, max_count: int | None) -> Iterator[LogLine | None]:
        """Learn until stopped, or until the plan's steps are done."""
        recent: list[float] = []
        most = min(max_count or self.plan.steps, self.plan.steps)
        while self.count < most and not stop.is_set():
            recent.append(self._step())
            if self.count % BLOCK == 0 or self.count == most:
                yield {"steps": self.count, "loss": float(np.mean(recent)), "held_out": self.held_out()}
                recent = []
            else:
                yield None

    def _step(self) -> float:
        """One step of Adam; the batch's loss."""
        plan, at = self.plan, self.positions
        which = np.random.default_rng([plan.seed, self.count]).choice(self._train, plan.batch)
        p = self.parameters()
        found = Parameters(*(np.zeros_like(array) for array in p))
        loss = add_gradients(p, found, at.pairs, at.starts, at.targets, which) / plan.batch
        self.count += 1
        share = 0.5 + 0.5 * cos(pi * self.count / plan.steps)
        rate = plan.rate * (FINAL_RATE + (1 - FINAL_RATE) * share) * min(1, self.count / WARM_UP)
        for name, gradient in self._of_learned(found).items():
            mean, square = self.means[name], self.squares[name]
            mean += (1 - MOMENTUM) * (gradient - mean)
            square += (1 - VARIANCE) * (gradient**2 - square)
            root = np.sqrt(square / (1 - VARIANCE**self.count)) + 1e-8
            self.learned[name] -= np.float32(rate / (1 - MOMENTUM**self.count)) * mean / root
        return loss

    def _of_learned(self, found: Parameters) -> Learned:
        """The gradients of what is learned, by those of the tables and the head."""
        gradients = {name: getattr(found, name) / self.plan.batch for name in found._fields}
        for name in TABLES:
            table = gradients.pop(name)
            table[COMBINATIONS] = 0
            table[OPEN_POINT] -= table.sum(axis=0)
            gradients[f"{name}_by_class"] = self._counts.T @ table
            gradients[f"{name}_single"] = table + self.plan.decay * self.learned[f"{name}_single"]
        return gradients

    def held_out(self) -> float:
        """The loss on positions of games that were held out."""
        at, found = self.positions, values(self.parameters(), self.positions.pairs, self.positions.starts, self._held)
        return cross_entropy(found, at.targets[self._held])

    def network(self) -> PatternNetwork:
        """The network for play."""
        return quantised(self.parameters())

    def save(self, path: Path) -> None:
        """Write a checkpoint, and the network for play beside it."""
        arrays = {"learned." + name: array for name, array in self.learned.items()}
        arrays |= {"means." + name: array for name, array in self.means.items()}
        arrays |= {"squares." + name: array for name, array in self.squares.items()}
        write_file(path, {"game": "gomoku", "kind": CHECKPOINT_KIND, "steps": self.count}, arrays)
        network.save(self.network(), path.with_name(NETWORK), self.facts())

    def load(self, path: Path) -> None:
        """Load a checkpoint; raises BadWeights if it is of something else."""
        header, arrays, _ = read_file(path)
        try:
            if header.get("kind") != CHECKPOINT_KIND:
                raise ValueError(f"it is a {header.get('kind')}")
            self.count = whole_in(header, "steps", 10**9)
            for prefix, into in (("learned", self.learned), ("means", self.means), ("squares", self.squares)):
                for name, array in into.items():
                    found = arrays[f"{prefix}.{name}"]
                    if found.shape != array.shape or found.dtype != array.dtype:
                        raise ValueError(f"{prefix}.{name} is of another shape")
                    array[...] = found
        except (ValueError, KeyError) as error:
            raise BadWeights(f"{path} is no checkpoint of this network: {error}") from None

    def plan_facts(self) -> dict[str, Any]:
        """The settings."""
        return asdict(self.plan)

    def facts(self) -> dict[str, Any]:
        """What was learned from."""
        text = f"{UNITS} numbers per combination, {HIDDEN} hidden"
        positions = {"positions": len(self._train), "held_out_positions": len(self._held)}
        return {"network": text, "games": self.games, **positions, "steps": self.count}

    def describe(self) -> str:
        """A short description of the network."""
        return f"{UNITS} x 2 -> {HIDDEN} -> 1, {len(self._train)} positions of {self.games} games"

    def status(self) -> str:
        """How far it is."""
        return f"step {self.count} of {self.plan.steps}"

    def text_of(self, line: LogLine) -> str:
        """A line of the log as text."""
        return f"{line['steps']:6d} steps   loss {line['loss']:.4f}   held out {line['held_out']:.4f}"

    def draw(self, figure: Any, lines: list[LogLine]) -> None:
        """Draw the losses."""
        axes = figure.subplots()
        for name in ("loss", "held_out"):
            axes.plot([line["steps"] for line in lines], [line[name] for line in lines], label=name.replace("_", " "))
        axes.set_xlabel("steps")
        axes.set_ylabel("cross-entropy")
        axes.legend()


def cross_entropy(found: NDArray[Any], targets: NDArray[Any]) -> float:
    """The mean cross-entropy between values and probabilities."""
    return float(np.mean(np.maximum(found, 0) - found * targets + np.log1p(np.exp(-np.abs(found)))))


def quantised(p: Parameters) -> PatternNetwork:
    """The parameters as integers."""
    points = np.concatenate([p.own, p.other], axis=1) * SUM_SCALE
    value = np.stack([-p.value[:, 1], p.value[:, 0]], axis=1) * SCALE  # not to move, to move
    return PatternNetwork(
        _whole(points),
        _whole(p.w1 * (W1_SCALE / SUM_DIVISOR)),
        np.rint(p.b1 * (SUM_SCALE * W1_SCALE)).astype(np.int32),
        _whole(p.w2 * W2_SCALE),
        np.rint(p.b2 * (SUM_SCALE * W2_SCALE)).astype(np.int32),
        _whole(value.reshape(-1)),
    )


def _whole(array: NDArray[Any]) -> NDArray[np.int16]:
    whole: NDArray[np.int16] = np.clip(np.rint(array), -(2**15) + 1, 2**15 - 1).astype(np.int16)
    return whole


@click.command()
@click.argument("games", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--steps", type=click.IntRange(1), default=6000, show_default=True, help="Steps of the whole training.")
@click.option("--batch", type=click.IntRange(1), default=512, show_default=True, help="Positions of a step.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=0.004, show_default=True, help="Step size.")
@click.option(
    "--decay", type=click.FloatRange(0), default=1e-5, show_default=True, help="L2 of a combination's own numbers."
)
@click.option(
    "--score-share",
    type=click.FloatRange(0, 1),
    default=0.7,
    show_default=True,
    help="Share of the search's score in a target; the rest is the game's result.",
)
@click.option(
    "--from", "start", type=click.Path(path_type=Path, dir_okay=False), help="Network to begin with, for new runs."
)
@click.option(
    "--ship",
    type=click.Path(path_type=Path, dir_okay=False),
    help="At the end, also write the network to this file, and its manifest beside it.",
)
@run_options("runs/gomoku-patterns", save_every=1.0)
def main(games: tuple[Path, ...], **settings: Any) -> None:
    """Train the pattern network on GAMES, files of `pattern_games`; the same command resumes after Ctrl-C."""
    folder = settings["out"] or Path("runs/gomoku-patterns")
    with readable_errors(folder):
        plan = FitPlan(**{name: settings[name] for name in ("steps", "batch", "rate", "decay", "score_share", "seed")})
        records = [record for path in games for record in read_records(path)]
        start = network.load(settings["start"]) if settings["start"] else None
        trainer = NetworkTrainer(positions_of(records, plan.score_share), plan, len(records), start)
        with TrainingRun(folder, trainer) as run:
            run.resume()
            run.train(None, settings["minutes"], settings["save_every"])
            if settings["ship"]:
                trained = trainer.facts() | {"commands": run.manifest["commands"]}
                sha256 = network.save(trainer.network(), settings["ship"], {})
                write_manifest(settings["ship"], {"sha256": sha256, "trained": trained, "scores": []})
            if settings["plot"]:
                run.plot()


if __name__ == "__main__":
    main()

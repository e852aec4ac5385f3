"""Training by self-play: worker processes play, a replay buffer keeps their games, a network learns, matches rate it.

`engines/core/training_run.py` explains a run and its folder. A checkpoint holds the weights, their average, the
momentum, the replay buffer, the ratings and the states of the random generators. A line of the log is one generation:
losses, games, rating. In addition to the files of every run, the folder has

    nets/000120.plyd  the network for play after that many steps: the latest ones and those that were rated
    start.plyd        the network that the run starts with, if `plyd models import` made the folder
"""

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plyd.cluster.options import ClusterSettings
from plyd.engines.core.training_run import LogLine
from plyd.engines.gomoku.train import curve
from plyd.engines.gomoku.train.export import export
from plyd.engines.gomoku.train.gradients import GradientFleet, gradient_spec
from plyd.engines.gomoku.train.learner import DeviceGradients, Learner
from plyd.engines.gomoku.train.players import Players, open_players, open_workers
from plyd.engines.gomoku.train.replay import ReplayBuffer, games_of_arrays, read_games
from plyd.engines.gomoku.train.self_play import SELF_PLAY, SelfPlayParams, match_job, self_play_job
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file, write_manifest
from plyd.models.policy_value import CHECKPOINT_KIND, NETS

CPU = "cpu"
POLL_SECONDS = 0.05
OLD_NAMES = {"walks": "simulations", "adopted": "started_from"}  # in checkpoints of 2026


@dataclass(frozen=True, slots=True)
class GomokuPlan:
    """What to train, and how."""

    blocks: int = 3
    channels: int = 32
    batch: int = 256
    rate: float = 0.02
    """Step size."""
    momentum: float = 0.9
    decay: float = 1e-4
    """L2: this share of each weight is added to its gradient."""
    average: float = 0.998
    """Share of the averaged weights that a step keeps."""
    memory: int = 200_000
    """Positions of self-play in the replay buffer."""
    reuse: float = 4.0
    """How often each position of self-play is learned from, on average."""
    bootstrap_steps: int = 2000
    """Steps on games of other players, before self-play."""
    bootstrap_share: float = 0.25
    """Share of batches from games of other players, during self-play."""
    generation: int = 100
    """Steps until the workers get the new network."""
    rate_every: int = 5
    """Generations between two ratings. A network is rated by a match against the one that was rated before."""
    rate_games: int = 20
    rate_simulations: int = 64
    """Simulations per move in the matches."""
    seed: int = 1
    style: SelfPlayParams = field(default_factory=SelfPlayParams)


@dataclass(slots=True)
class GomokuProgress:
    """Progress of a run. A checkpoint has these fields by name; some had OLD_NAMES."""

    steps: int = 0
    bootstrapped: int = 0
    """Steps on games of other players, before self-play."""
    games: int = 0
    """Games of self-play."""
    positions: int = 0
    """Positions of self-play."""
    simulations: int = 0
    """Simulations of self-play."""
    seconds: float = 0.0
    jobs: int = 0
    """Jobs given to workers: the next one's seed."""
    ratings: list[dict[str, Any]] = field(default_factory=list)
    """Step, Elo relative to the first network, and the score against the one before."""
    started_from: str = ""
    """SHA-256 of the network that the run started with; empty if with random weights."""


class GomokuTrainer:
    """The network, the replay buffer and the progress of a run. A `Trainer` of `training_run`."""

    unit = "steps"

    def __init__(
        self,
        plan: GomokuPlan,
        folder: Path,
        processes: int,
        threads: int = 1,
        cluster: ClusterSettings | None = None,
        learners: int = 0,
        device: str = CPU,
    ) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(plan.seed)
        self.plan, self.folder = plan, folder
        self._processes, self._cluster, self._learners = processes, cluster, learners
        self.learner = Learner(plan.blocks, plan.channels, plan.rate, plan.momentum, plan.decay, plan.average)
        if device != CPU:
            self.learner.gradients = DeviceGradients(plan.blocks, plan.channels, device)
        self.memory, self.teachers = ReplayBuffer(plan.memory), ReplayBuffer(1 << 40)
        self.progress = GomokuProgress()
        self.rng = np.random.default_rng(plan.seed)
        self._sources: list[Path] = []
        self._bytes_read: dict[Path, int] = {}  # of each file of games
        self._rated: Path | None = None
        self._being_rated: Path | None = None  # kept until all its matches are played
        self._matches: list[tuple[Path, Path]] = []  # of the current rating, not yet given to workers
        self._scores: list[int] = []
        self._sums = np.zeros(3)  # policy and value losses, and steps, since the last generation

    @property
    def count(self) -> int:
        """Steps so far."""
        return self.progress.steps

    def import_network(self, path: Path) -> None:
        """Starts with a network for play instead of random weights."""
        self.progress.started_from = self.learner.import_network(path)

    def bootstrap(self, paths: list[Path]) -> None:
        """Reads games of other players: files, or all *.jsonl of a folder. Games added later are read too."""
        self._sources = paths
        self._read_new_games()

    def _read_new_games(self) -> None:
        files = [file for path in self._sources for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
        for file in files:
            if file.stat().st_size > self._bytes_read.get(file, 0):
                games, self._bytes_read[file] = read_games(file, self._bytes_read.get(file, 0))
                self.teachers.add(games)

    def train(self, stop: threading.Event, max_count: int | None = None) -> Iterator[LogLine | None]:
        """Trains; yields the log's line for each generation, and None in between."""
        (self.folder / NETS).mkdir(parents=True, exist_ok=True)
        began, before = time.monotonic(), self.progress.seconds

        def is_over() -> bool:
            self.progress.seconds = before + time.monotonic() - began
            return stop.is_set() or (max_count is not None and self.progress.steps >= max_count)

        while not is_over() and self.teachers.games and self.progress.bootstrapped < self.plan.bootstrap_steps:
            self._step(self.teachers)
            self.progress.bootstrapped += 1
            is_due = self.progress.steps % self.plan.generation == 0
            if is_due:
                self._publish()
            yield self._generation() if is_due else None
        if is_over():
            return
        with self._gradients(), open_players(self._processes, self._cluster) as players:
            path = self._publish()
            self._rated = self._rated or path
            self._matches, self._being_rated = [], None
            while not is_over():
                self._exchange(players, path)
                if not self._may_step():
                    time.sleep(POLL_SECONDS)
                    yield None
                    continue
                from_others = self.teachers.games and self.rng.random() < self.plan.bootstrap_share
                self._step(self.teachers if from_others else self.memory)
                is_due = self.progress.steps % self.plan.generation == 0
                if is_due:
                    path = self._publish()
                    self._begin_rating(path)
                yield self._generation() if is_due else None

    @contextlib.contextmanager
    def _gradients(self) -> Iterator[None]:
        """While the block runs, workers compute gradients if that is wanted."""
        if not self._learners:
            yield
            return
        with open_workers(gradient_spec(self.plan.blocks, self.plan.channels), self._learners, self._cluster) as fleet:
            alone = self.learner.gradients
            self.learner.gradients = GradientFleet(fleet, alone)
            try:
                yield
            finally:
                self.learner.gradients = alone

    def _exchange(self, players: Players, path: Path) -> None:
        """Collects the games that were played, and gives new jobs to idle players."""
        for answer in players.answers():
            self._take(answer)
        for _ in range(players.room()):
            players.give(self.progress.jobs, *self._job(path))

    def _may_step(self) -> bool:
        """Whether there are enough self-play positions for another step, by the plan's `reuse` of positions."""
        seen = (self.progress.steps - self.progress.bootstrapped) * self.plan.batch
        if self.teachers.games:
            seen = int(seen * (1 - self.plan.bootstrap_share))
        return self.progress.positions * self.plan.reuse > seen + self.plan.batch

    def _step(self, memory: ReplayBuffer) -> None:
        """Learns from one batch."""
        self.progress.steps += 1
        steps = None if self.progress.started_from else self.progress.steps
        self._sums += (*self.learner.learn(memory.sample(self.plan.batch, self.rng), steps), 1)

    def _publish(self) -> Path:
        """Writes the network for play, and deletes old ones that were not rated."""
        path = self._net(self.progress.steps)
        export(self.learner.average, path, f"gomoku-{self.folder.name}-{self.progress.steps}", self.facts())
        kept = {path, self._rated, self._being_rated, *(self._net(rating["steps"]) for rating in self.progress.ratings)}
        for old in sorted((self.folder / NETS).glob("*.plyd"))[:-4]:
            if old not in kept:
                old.unlink()
        return path

    def ship(self, file: Path, commands: list[dict[str, Any]]) -> None:
        """Writes the network for play to a file, and its manifest beside it."""
        trained = self.facts() | {"commands": commands}
        sha256 = export(self.learner.average, file, file.stem, trained)
        write_manifest(file, {"sha256": sha256, "trained": trained, "scores": []})

    def _net(self, steps: int) -> Path:
        return self.folder / NETS / f"{steps:06d}.plyd"

    def _begin_rating(self, path: Path) -> None:
        """Every few generations, starts a match of the new network against the one that was rated last."""
        if self._being_rated or (self.progress.steps // self.plan.generation) % self.plan.rate_every or not self._rated:
            return
        if not self.progress.ratings:
            steps = int(self._rated.stem)
            self.progress.ratings.append({"steps": steps, "elo": 0.0, "games": 0, "score": 0.5})
        self._scores, self._being_rated = [], path
        self._matches = [(path, self._rated)] * (self.plan.rate_games // 2)

    def _job(self, path: Path) -> tuple[dict[str, Any], list[Path]]:
        """The next job, and the files of its networks."""
        self.progress.jobs += 1
        seed = self.plan.seed * 1_000_003 + self.progress.jobs
        if not self._matches:
            return self_play_job(path.stem, self.plan.style, seed), [path]
        new, old = self._matches.pop()
        size, simulations = self.plan.style.sizes[0], self.plan.rate_simulations
        return match_job((new.stem, old.stem), size, simulations, seed), [new, old]

    def _take(self, answer: dict[str, Any]) -> None:
        """Processes a worker's answer."""
        if answer["kind"] == SELF_PLAY:
            games = games_of_arrays(answer["games"])
            self.memory.add(games)
            self.progress.games += len(games)
            self.progress.positions += sum(len(game.plies()) for game in games)
            self.progress.simulations += answer["simulations"]
            return
        self._scores += answer["results"]
        if len(self._scores) >= self.plan.rate_games // 2 * 2:
            new, old = answer["networks"]
            score = 0.5 + 0.5 * float(np.mean(self._scores))
            elo = self.progress.ratings[-1]["elo"] + elo_difference(score, len(self._scores))
            facts = {"steps": int(new), "against": int(old), "elo": round(elo, 1), "score": round(score, 3)}
            self.progress.ratings.append(facts | {"games": len(self._scores)})
            self._rated, self._being_rated, self._scores = self._net(int(new)), None, []

    def _generation(self) -> LogLine:
        """The log's line of a generation. Also reads new games of other players."""
        self._read_new_games()
        policy, value, steps = self._sums
        self._sums = np.zeros(3)
        return {
            "steps": self.progress.steps,
            "phase": "others" if self.progress.bootstrapped == self.progress.steps else "self-play",
            "policy_loss": round(policy / steps, 4),
            "value_loss": round(value / steps, 4),
            "others": self.teachers.positions,
            "games": self.progress.games,
            "positions": self.progress.positions,
            "remembered": self.memory.positions,
            "seconds": round(self.progress.seconds),
            "elo": self.progress.ratings[-1]["elo"] if self.progress.ratings else None,
        }

    def plan_facts(self) -> dict[str, Any]:
        """The plan, for the manifest's entry of this command."""
        return {"plan": asdict(self.plan)}

    def facts(self) -> dict[str, Any]:
        """How the network was trained: for the manifest, and for the networks' files."""
        progress = asdict(self.progress) | {"seconds": round(self.progress.seconds)}
        del progress["jobs"]
        bootstrap = {"games": len(self.teachers.games), "positions": self.teachers.positions}
        network = f"{self.plan.blocks}x{self.plan.channels}"
        return {"game": "gomoku", "network": network, **progress, "bootstrap": bootstrap, "plan": asdict(self.plan)}

    def describe(self) -> str:
        """The network's size, and the games of other players."""
        weights = sum(parameter.numel() for parameter in self.learner.network.parameters())
        return f"{weights} weights; {len(self.teachers.games)} games of others, {self.teachers.positions} positions"

    def status(self) -> str:
        """Steps, games and simulations."""
        return f"{self.progress.steps} steps, {self.progress.games} games, {self.progress.simulations} simulations"

    def text_of(self, line: LogLine) -> str:
        """A generation in one line."""
        elo = "" if line["elo"] is None else f", Elo {line['elo']:+.0f}"
        learned = f"policy {line['policy_loss']:.3f}, value {line['value_loss']:.3f}"
        minutes = line["seconds"] / 60
        return f"{line['steps']}\t{line['phase']}: {learned}, {line['games']} games{elo}, {minutes:.1f} min"

    def draw(self, figure: Any, lines: list[LogLine]) -> None:
        """Draws losses and ratings."""
        curve.draw(figure, lines, self.progress.ratings)

    def load(self, path: Path) -> None:
        """Loads a checkpoint."""
        header, arrays, _ = read_file(path)
        if header.get("kind") != CHECKPOINT_KIND:
            raise BadWeights(f"{path} is a {header.get('kind')}, not a {CHECKPOINT_KIND}")
        found, mine = f"{header.get('blocks')}x{header.get('channels')}", f"{self.plan.blocks}x{self.plan.channels}"
        if found != mine:
            raise BadWeights(f"{path} has a network of {found}, not {mine}; choose another folder")
        try:
            self.learner.restore(arrays)
            self.memory.restore({name: arrays[f"memory/{name}"] for name in self.memory.arrays()})
            self.progress = GomokuProgress(
                **{OLD_NAMES.get(name, name): fact for name, fact in header["progress"].items()}
            )
            self.rng.bit_generator.state = header["chance"]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise BadWeights(f"{path} is not what a checkpoint should be: {type(error).__name__} {reason}") from None
        if self.progress.ratings and self._net(self.progress.ratings[-1]["steps"]).exists():
            self._rated = self._net(self.progress.ratings[-1]["steps"])

    def save(self, path: Path) -> None:
        """Writes a checkpoint."""
        arrays = self.learner.arrays() | {f"memory/{name}": array for name, array in self.memory.arrays().items()}
        header = {"kind": CHECKPOINT_KIND, "game": "gomoku", "blocks": self.plan.blocks, "channels": self.plan.channels}
        header |= {"progress": asdict(self.progress), "chance": self.rng.bit_generator.state}
        write_file(path, header, arrays)


def elo_difference(score: float, games: int) -> float:
    """The Elo difference that explains a score. Half a point is added on both sides, so that it is finite."""
    share = (score * games + 0.5) / (games + 1)
    return 400 * math.log10(share / (1 - share))

"""Training by self-play: processes that play, a memory of their games, a network that learns, ratings of past ones.

A run lives in a folder of its own:

    checkpoint.plyd   weights, their average, momentum, memory, ratings, random numbers: all that a resumed run needs
    nets/000120.plyd  the network for play after so many steps, as those who play use it; the latest and the rated ones
    log.jsonl         one line for each generation: losses, games, rating
    manifest.json     what was trained, how, for how long, by which commands, at which revision
    curve.png         losses and ratings

The network that plays is the average of the last thousand or so steps' weights: steadier than any one of them, and the
step size need not shrink.
"""

import copy
import json
import math
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray

from plyd.engines.gomoku.train.export import export
from plyd.engines.gomoku.train.import_network import adopt
from plyd.engines.gomoku.train.network import Network, losses
from plyd.engines.gomoku.train.replay import Game, Memory, game_of, read_games
from plyd.engines.gomoku.train.self_play import Style, match_job, self_play_job
from plyd.engines.gomoku.train.workers import Players
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file

KIND = "gomoku checkpoint"
CHECKPOINT, LOG, MANIFEST, NETS, LOCK = "checkpoint.plyd", "log.jsonl", "manifest.json", "nets", "lock"
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """What to train, and how."""

    blocks: int = 3
    channels: int = 32
    batch: int = 256
    rate: float = 0.02
    momentum: float = 0.9
    decay: float = 1e-4
    """L2: this much of each weight is added to its gradient."""
    average: float = 0.998
    """Of the average's weights that a step keeps."""
    memory: int = 200_000
    """Positions of self-play that are remembered."""
    reuse: float = 4.0
    """How often each position of self-play is learned from, on average."""
    bootstrap_steps: int = 2000
    """On games of others, before self-play."""
    bootstrap_share: float = 0.25
    """Of batches, while self-play goes on, that are from games of others."""
    generation: int = 100
    """Steps until those who play get the new network."""
    rate_every: int = 5
    """Generations until the network is rated against the last one that was."""
    rate_games: int = 20
    rate_walks: int = 64
    seed: int = 1
    style: Style = field(default_factory=Style)


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    steps: int = 0
    bootstrapped: int = 0
    """Steps on games of others, before self-play."""
    games: int = 0
    positions: int = 0
    """Of self-play."""
    walks: int = 0
    seconds: float = 0.0
    jobs: int = 0
    """Given out so far: the next one's seed."""
    ratings: list[dict[str, Any]] = field(default_factory=list)
    """Step, Elo against the first, and the score against the one before."""
    adopted: str = ""
    """SHA-256 of the network that the run began with, if not with chance."""


class Trainer:
    """A run: its network, its memory and its progress, in this process and in its folder."""

    def __init__(self, plan: Plan, folder: Path, processes: int, threads: int = 1) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(plan.seed)
        self.plan, self.folder, self.processes = plan, folder, processes
        self.network = Network(plan.blocks, plan.channels).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = copy.deepcopy(self.network)
        self.optimiser = torch.optim.SGD(
            self.network.parameters(), plan.rate, plan.momentum, weight_decay=plan.decay, nesterov=True
        )
        self.memory, self.teachers = Memory(plan.memory), Memory(1 << 40)
        self.progress = Progress()
        self.chance = np.random.default_rng(plan.seed)
        self._stop = threading.Event()
        self._manifest: dict[str, Any] = {}
        self._lock: IO[str] | None = None
        self._sources: list[Path] = []
        self._heard: dict[Path, int] = {}  # bytes of each file of games that were read
        self._rated: Path | None = None
        self._matches: list[tuple[Path, Path]] = []  # of the rating under way: still to give out
        self._scores: list[int] = []
        self._sums = np.zeros(3)  # policy and value losses, and steps, since the last generation

    def adopt(self, path: Path) -> None:
        """Begin with a network for play rather than with chance."""
        self.progress.adopted = adopt(self.network, path)
        self.average.load_state_dict(self.network.state_dict())

    def bootstrap(self, paths: list[Path]) -> None:
        """Take in games of others: files, or all *.jsonl of a folder. What is added later is read as it comes."""
        self._sources = paths
        self._hear_others()

    def _hear_others(self) -> None:
        files = [file for path in self._sources for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
        for file in files:
            if file.stat().st_size > self._heard.get(file, 0):
                games, self._heard[file] = read_games(file, self._heard.get(file, 0))
                self.teachers.add(games)

    def stop(self) -> None:
        """Ask `generations` to end soon."""
        self._stop.set()

    def generations(self) -> Iterator[dict[str, Any] | None]:
        """Trains; the log's line for each generation, and None now and then in between."""
        (self.folder / NETS).mkdir(parents=True, exist_ok=True)
        began, before = time.monotonic(), self.progress.seconds
        yield from self._timed(self._learn_from_others(), began, before)
        if not self._stop.is_set():
            yield from self._timed(self._learn_by_playing(), began, before)

    def _timed(self, lines: Iterator[Any], began: float, before: float) -> Iterator[dict[str, Any] | None]:
        for line in lines:
            self.progress.seconds = before + time.monotonic() - began
            yield line

    def _learn_from_others(self) -> Iterator[dict[str, Any] | None]:
        while self.teachers.games and self.progress.bootstrapped < self.plan.bootstrap_steps:
            if self._stop.is_set():
                return
            self._step(self.teachers)
            self.progress.bootstrapped += 1
            if self.progress.steps % self.plan.generation == 0:
                self._publish()
                yield self._generation()
            else:
                yield None

    def _learn_by_playing(self) -> Iterator[dict[str, Any] | None]:
        with Players(self.processes) as players:
            path = self._publish()
            self._rated = self._rated or path
            while not self._stop.is_set():
                for answer in players.answers():
                    self._take(answer)
                for player in players.idle():
                    players.give(player, self._job(path))
                if not self._may_step():
                    time.sleep(POLL_SECONDS)
                    yield None
                    continue
                others = self.teachers.games and self.chance.random() < self.plan.bootstrap_share
                self._step(self.teachers if others else self.memory)
                if self.progress.steps % self.plan.generation == 0:
                    path = self._publish()
                    self._begin_rating(path)
                    yield self._generation()
                else:
                    yield None

    def _may_step(self) -> bool:
        """Whether self-play is ahead of learning, by the plan's measure."""
        seen = (self.progress.steps - self.progress.bootstrapped) * self.plan.batch
        if self.teachers.games:
            seen = int(seen * (1 - self.plan.bootstrap_share))
        return self.progress.positions * self.plan.reuse > seen + self.plan.batch

    def _step(self, memory: Memory) -> None:
        """Learn from one batch."""
        batch = memory.sample(self.plan.batch, self.chance)
        planes = torch.from_numpy(batch.planes).float().contiguous(memory_format=torch.channels_last)
        self.network.train()
        policy, value = losses(
            self.network,
            planes,
            torch.from_numpy(batch.policy),
            torch.from_numpy(batch.weight),
            torch.from_numpy(batch.result),
        )
        self.optimiser.zero_grad()
        (policy + value).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimiser.step()
        self.progress.steps += 1
        self._sums += (policy.item(), value.item(), 1)
        steps = self.progress.steps
        keep = self.plan.average if self.progress.adopted else min(self.plan.average, steps / (steps + 10))
        with torch.no_grad():
            for slow, fast in zip(_tensors(self.average), _tensors(self.network), strict=True):
                if slow.is_floating_point():
                    slow.lerp_(fast, 1 - keep)
                else:
                    slow.copy_(fast)

    def _publish(self) -> Path:
        """Writes the network for play, and takes old ones away that were not rated."""
        path = self.folder / NETS / f"{self.progress.steps:06d}.plyd"
        export(self.average, path, f"gomoku-{self.folder.name}-{self.progress.steps}", self.facts())
        kept = {path, self._rated, *(self._net(rating["steps"]) for rating in self.progress.ratings)}
        for old in sorted((self.folder / NETS).glob("*.plyd"))[:-4]:
            if old not in kept:
                old.unlink()
        return path

    def ship(self, file: Path) -> None:
        """Writes the network for play to a file, with a manifest beside it."""
        trained = self.facts() | {"commands": self._manifest.get("commands", [])}
        sha256 = export(self.average, file, file.stem, trained)
        manifest = {"sha256": sha256, "trained": trained, "scores": []}
        file.with_suffix(".json").write_text(json.dumps(manifest, indent=2) + "\n")

    def _net(self, steps: int) -> Path:
        return self.folder / NETS / f"{steps:06d}.plyd"

    def _begin_rating(self, path: Path) -> None:
        """Now and then, have the new network play against the one that was rated last."""
        if self._matches or (self.progress.steps // self.plan.generation) % self.plan.rate_every or not self._rated:
            return
        if not self.progress.ratings:
            steps = int(self._rated.stem)
            self.progress.ratings.append({"steps": steps, "elo": 0.0, "games": 0, "score": 0.5})
        self._scores = []
        self._matches = [(path, self._rated)] * (self.plan.rate_games // 2)

    def _job(self, path: Path) -> str:
        self.progress.jobs += 1
        seed = self.plan.seed * 1_000_003 + self.progress.jobs
        if self._matches:
            return match_job(self._matches.pop(), self.plan.style.sizes[0], self.plan.rate_walks, seed)
        return self_play_job(path, self.plan.style, seed)

    def _take(self, answer: dict[str, Any]) -> None:
        """Learn of a game that was played."""
        if answer["kind"] == "self-play":
            game: Game = game_of(answer["game"])
            self.memory.add([game])
            self.progress.games += 1
            self.progress.positions += len(game.plies())
            self.progress.walks += answer["walks"]
            return
        self._scores += answer["results"]
        if len(self._scores) >= self.plan.rate_games // 2 * 2:
            new, old = (Path(path) for path in answer["networks"])
            score = 0.5 + 0.5 * float(np.mean(self._scores))
            elo = self.progress.ratings[-1]["elo"] + elo_difference(score, len(self._scores))
            facts = {"steps": int(new.stem), "against": int(old.stem), "elo": round(elo, 1), "score": round(score, 3)}
            self.progress.ratings.append(facts | {"games": len(self._scores)})
            self._rated, self._scores = new, []

    def _generation(self) -> dict[str, Any]:
        """The log's line; new games of others are taken in."""
        self._hear_others()
        policy, value, steps = self._sums
        self._sums = np.zeros(3)
        line = {
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
        with (self.folder / LOG).open("a") as file:
            file.write(json.dumps(line) + "\n")
        return line

    def facts(self) -> dict[str, Any]:
        """What a network's file says of how it was made."""
        progress = asdict(self.progress) | {"seconds": round(self.progress.seconds)}
        del progress["jobs"]
        bootstrap = {"games": len(self.teachers.games), "positions": self.teachers.positions}
        network = f"{self.plan.blocks}x{self.plan.channels}"
        return {"network": network, **progress, "bootstrap": bootstrap, "plan": asdict(self.plan)}

    def resume(self) -> bool:
        """Takes the checkpoint up where it was left, if there is one; says whether there was."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return False
        header, arrays, _ = read_file(path)
        if header.get("kind") != KIND:
            raise BadWeights(f"{path} is a {header.get('kind')}, not a {KIND}")
        shape = f"{header.get('blocks')}x{header.get('channels')}"
        if shape != f"{self.plan.blocks}x{self.plan.channels}":
            mine = f"{self.plan.blocks}x{self.plan.channels}"
            raise BadWeights(f"{path} has a network of {shape}, not {mine}; choose another folder")
        try:
            for prefix, network in (("weights", self.network), ("average", self.average)):
                network.load_state_dict(_under(arrays, prefix))
            for name, parameter in self.network.named_parameters():
                if f"momentum/{name}" in arrays:
                    momentum = torch.from_numpy(arrays[f"momentum/{name}"].copy())
                    self.optimiser.state[parameter]["momentum_buffer"] = momentum.reshape(parameter.shape)
            self.memory.restore({name: arrays[f"memory/{name}"] for name in self.memory.arrays()})
            self.progress = Progress(**header["progress"])
            self.chance.bit_generator.state = header["chance"]
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise BadWeights(f"{path} is not what a checkpoint should be: {type(error).__name__} {reason}") from None
        if self.progress.ratings and self._net(self.progress.ratings[-1]["steps"]).exists():
            self._rated = self._net(self.progress.ratings[-1]["steps"])
        return True

    def save(self) -> None:
        """Writes the checkpoint and the manifest."""
        arrays: dict[str, NDArray[Any]] = {}
        for prefix, network in (("weights", self.network), ("average", self.average)):
            arrays |= {f"{prefix}/{name}": tensor.numpy() for name, tensor in network.state_dict().items()}
        for name, parameter in self.network.named_parameters():
            momentum = self.optimiser.state[parameter].get("momentum_buffer")
            if momentum is not None:
                arrays[f"momentum/{name}"] = momentum.numpy()
        arrays |= {f"memory/{name}": array for name, array in self.memory.arrays().items()}
        header = {"kind": KIND, "game": "gomoku", "blocks": self.plan.blocks, "channels": self.plan.channels}
        header |= {"progress": asdict(self.progress), "chance": self.chance.bit_generator.state}
        write_file(self.folder / CHECKPOINT, header, arrays)
        if self._manifest:
            self._note()

    def begin(self, command: str, revision: str) -> None:
        """Notes in the manifest that a command goes on with the run, of which nobody else may be in charge."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder / LOCK)
        self._forget_later_lines()
        path = self.folder / MANIFEST
        self._manifest = json.loads(path.read_text()) if path.exists() else {"game": "gomoku", "commands": []}
        began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        entry = {"command": command, "revision": revision, "from_steps": self.progress.steps, "began": began}
        self._manifest["commands"].append(entry)
        self._note()

    def _note(self) -> None:
        self._manifest |= self.facts()
        path = self.folder / MANIFEST
        path.with_suffix(".new").write_text(json.dumps(self._manifest, indent=2) + "\n")
        path.with_suffix(".new").replace(path)

    def _forget_later_lines(self) -> None:
        """Takes from the log what was learned after the checkpoint, and is learned again; and half a line."""
        log = self.folder / LOG
        if log.exists():
            whole = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
            log.write_text("".join(line for line in whole if json.loads(line)["steps"] <= self.progress.steps))


def locked(path: Path) -> IO[str]:
    """A file that is open here and nowhere else: the system lets go of it when this process ends, however it does."""
    file = path.open("w")
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadWeights(
                f"another process is training in {path.parent}; stop it, or choose another folder"
            ) from None
    return file


def elo_difference(score: float, games: int) -> float:
    """The difference of rating that a score tells of; half a point more on both sides keeps it finite."""
    share = (score * games + 0.5) / (games + 1)
    return 400 * math.log10(share / (1 - share))


def _tensors(network: Network) -> list[torch.Tensor]:
    return [*network.parameters(), *network.buffers()]


def _under(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, torch.Tensor]:
    start = prefix + "/"
    return {
        name.removeprefix(start): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith(start)
    }

"""Training a network on all cores: threads that play and learn, checkpoints that resume, a log of how it went.

A run lives in a folder of its own:

    checkpoint.plyd   the weights, what TC knows of them, the random numbers' states: all that a resumed run needs
    log.jsonl         one line for each block of 1000 games: average, maximum, share of games that reached each tile
    manifest.json     what was trained, how, for how long, by which commands, at which revision
"""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.ntuple.network import Shape, room_for, shape_of
from plyd.engines.tiles.train.learn import Desk, Method, train
from plyd.models.errors import BadWeights
from plyd.models.ntuple.checkpoint import NAME as CHECKPOINT
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.patterns import patterns_of, text_of

BLOCK = 1000  # games of a line of the log
BATCH = 10  # games that a thread plays at a time
LONGEST_GAME = 1 << 18  # moves
LOG, MANIFEST = "log.jsonl", "manifest.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to train, and how."""

    game: str
    variant: str
    network: str
    cap: int
    """Tiles above this index count as this index."""
    method: str = "tc"
    """td or tc, on after-states; lab for TD(0) on before-states."""
    rate: float = 1.0
    trace: float = 0.5
    every: int = 0
    restart: int = 0
    optimism: float = 0.0
    """What every board is worth before anything is learned."""
    goal: int = 0
    """A game ends, won, with a tile of this index; 0: games go on until no slide is left."""
    bonus: float = 0.0
    """What a game that is won is worth, beside its points."""
    seed: int = 1

    def kernel_method(self, game: TileGame) -> Method:
        """The same for kernels."""
        rate, trace = np.float32(self.rate), np.float32(self.trace)
        goal_points = game.rules.tile(self.goal) if self.goal else 0
        return Method(
            rate,
            trace,
            self.method == "tc",
            np.int64(self.every),
            np.int64(self.restart),
            np.int64(self.goal),
            np.int64(goal_points),
            np.float32(self.bonus),
            self.method == "lab",
        )


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    games: int = 0
    moves: int = 0
    seconds: float = 0.0
    block: list[list[int]] = field(default_factory=list)
    """Points, moves and largest index of each game since the last line of the log."""


class Trainer:
    """A run: its weights and its progress, in memory and in its folder."""

    def __init__(self, game: TileGame, plan: Plan, folder: Path, threads: int) -> None:
        self.game, self.plan, self.folder, self.threads = game, plan, folder, threads
        patterns = patterns_of(plan.network)
        self.shape: Shape = shape_of(patterns, game.bits, 16 if game.bits == 4 else plan.cap + 1)
        self.network = text_of(patterns)
        features = 8 * len(patterns)
        self.fresh_weight = np.float32(plan.optimism / features)
        self.weights = np.full(int(self.shape.offsets[-1]), self.fresh_weight, np.float32)
        self.sums = np.zeros(2 * self.weights.size if plan.method == "tc" else 0, np.float32)
        self.progress = Progress()
        self.seeds: NDArray[np.uint64] = (
            np.random.default_rng(plan.seed).integers(2**63, size=(threads, 1)).astype(np.uint64)
        )
        self._stop = threading.Event()
        self._manifest: dict[str, Any] = {}

    def resume(self) -> bool:
        """Takes the checkpoint up where it was left, if there is one; says whether there was."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            self._forget_later_blocks()
            return False
        found = read_checkpoint(path)
        mine = (self.plan.game, self.plan.variant, self.network, int(self.shape.base))
        theirs = (found.game, found.variant, found.network, found.base)
        for what, one, other in zip(("game", "variant", "network", "base"), theirs, mine, strict=True):
            if one != other:
                raise BadWeights(f"{path} has the {what} {one}, not {other}; choose another folder")
        self.fresh_weight = np.float32(found.fresh_weight)
        self.weights.fill(self.fresh_weight)
        self.weights[found.places] = found.weights
        if self.sums.size and found.sums.size:
            self.sums.reshape(-1, 2)[found.places] = found.sums
        count = min(len(found.seeds), self.threads)
        self.seeds[:count] = found.seeds[:count]
        self.progress = Progress(**found.progress)
        self._forget_later_blocks()
        return True

    def _forget_later_blocks(self) -> None:
        """Takes from the log what was played after the checkpoint, and is played again; and half a line."""
        log = self.folder / LOG
        if not log.exists():
            return
        whole = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        log.write_text("".join(line for line in whole if json.loads(line)["games"] <= self.progress.games))

    def save(self) -> None:
        """Writes the checkpoint: the weights that differ from a fresh one, and what goes with them."""
        is_learned = self.weights != self.fresh_weight
        sums = self.sums.reshape(-1, 2)
        if sums.size:
            is_learned |= sums[:, 1] > 0
        places = np.flatnonzero(is_learned).astype(np.uint32)
        checkpoint = Checkpoint(
            self.plan.game,
            self.plan.variant,
            self.network,
            int(self.shape.base),
            float(self.fresh_weight),
            places,
            self.weights[places],
            sums[places] if sums.size else sums,
            self.seeds,
            asdict(self.plan),
            asdict(self.progress),
        )
        write_checkpoint(self.folder / CHECKPOINT, checkpoint)
        if self._manifest:
            self._note()

    def begin(self, command: str) -> None:
        """Notes in the manifest that a command goes on with the run; whatever it does until the next is its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / MANIFEST
        self._manifest = json.loads(path.read_text()) if path.exists() else {"commands": []}
        self._manifest |= {"game": self.plan.game, "variant": self.plan.variant, "network": self.network}
        self._manifest |= {"base": int(self.shape.base), "threads": self.threads}
        entry: dict[str, Any] = {"command": command, "revision": revision(), "plan": asdict(self.plan)}
        entry |= {"from_games": self.progress.games, "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        self._manifest["commands"].append(entry)
        self._note()

    def _note(self) -> None:
        """Writes the manifest as things stand."""
        progress = asdict(self.progress) | {"seconds": round(self.progress.seconds)}
        del progress["block"]
        self._manifest |= progress
        log = self.folder / LOG
        lines = log.read_text().splitlines() if log.exists() else []
        self._manifest["last_block"] = json.loads(lines[-1]) if lines else None
        path = self.folder / MANIFEST
        path.with_suffix(".new").write_text(json.dumps(self._manifest, indent=2) + "\n")
        path.with_suffix(".new").replace(path)

    def stop(self) -> None:
        """Ask `blocks` to end soon."""
        self._stop.set()

    def blocks(self, max_games: int | None = None) -> Iterator[dict[str, Any] | None]:
        """Trains; the log's line for each block of games as it fills, and None now and then in between."""
        method, rows, spawns = self.plan.kernel_method(self.game), self.game.rows(), self.game.spawns(self.plan.variant)
        lock = threading.Lock()
        todo = max_games if max_games is not None else 1 << 62
        todo -= self.progress.games
        done = threading.Semaphore(0)
        left = 0

        def work(k: int) -> None:
            nonlocal left
            desk = Desk(
                np.zeros((LONGEST_GAME, self.game.words), np.uint64),
                np.zeros(LONGEST_GAME, np.float32),
                self.seeds[k],
                room_for(self.shape),
            )
            results = np.zeros((BATCH, 3), np.int64)
            while not self._stop.is_set():
                with lock:
                    count = min(BATCH, left)
                    left -= count
                if count == 0:
                    break
                moves = train(
                    count, self.game.empty, rows, spawns, self.weights, self.sums, self.shape, method, desk, results
                )
                with lock:
                    self.progress.games += count
                    self.progress.moves += int(moves)
                    self.progress.block += results[:count].tolist()
                done.release()
            done.release()

        while todo > 0 and not self._stop.is_set():
            left = min(todo, BLOCK - len(self.progress.block))
            todo -= left
            began, before = time.monotonic(), self.progress.seconds
            workers = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(self.threads)]
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers):
                done.acquire(timeout=0.2)
                self.progress.seconds = before + time.monotonic() - began
                yield None
            self.progress.seconds = before + time.monotonic() - began
            if len(self.progress.block) >= BLOCK:
                line = self.summary(self.progress.block)
                self.progress.block = []
                with (self.folder / LOG).open("a") as file:
                    file.write(json.dumps(line) + "\n")
                yield line

    def summary(self, block: list[list[int]]) -> dict[str, Any]:
        """The lab's statistics of some games: average, maximum, and for each tile the share that reached it."""
        results = np.array(block, np.int64)
        largest = results[:, 2]
        return {
            "games": self.progress.games,
            "moves": self.progress.moves,
            "seconds": round(self.progress.seconds, 1),
            "pace": round(self.progress.moves / max(self.progress.seconds, 1e-9)),
            "average": float(results[:, 0].mean()),
            "maximum": int(results[:, 0].max()),
            "reached": {
                str(self.game.rules.tile(index)): float((largest >= index).mean())
                for index in range(int(largest.min()), int(largest.max()) + 1)
            },
        }


def revision() -> str:
    """The git revision of these sources, "+" if they were changed since; "unknown" outside of a repository."""
    command = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty=+", "--abbrev=12"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip()

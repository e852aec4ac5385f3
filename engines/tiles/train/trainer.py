"""Training an n-tuple network on all cores: threads play whole games and learn from each.

`engines/core/training_run.py` explains a run and its folder. A checkpoint holds the weights, the sums of temporal
coherence, the states of the random generators and the boards of the pool. A line of the log is about 1000 games:
average and maximum points, and the share of games that reached each tile.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.training_run import LogLine
from plyd.engines.tiles.bitboard import Word
from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.ntuple.network import Shape, scratch_for, shape_of
from plyd.engines.tiles.ntuple.stages import stages_of
from plyd.engines.tiles.train import curve
from plyd.engines.tiles.train.learn import Desk, Method, train
from plyd.models.errors import BadWeights
from plyd.models.ntuple.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from plyd.models.ntuple.patterns import patterns_of, text_of

POOL_BOARDS = 1024  # of each thread and later stage
BLOCK = 1000  # games per line of the log
BATCH = 10  # games that a thread plays at a time
ROUND_SECONDS = 30.0  # after which threads pause, so that the run may be saved
LONGEST_GAME = 1 << 18  # maximum moves of a game
ENDLESS = 1 << 62  # number of games without a limit


@dataclass(frozen=True, slots=True)
class TilePlan:
    """What to train, and how."""

    game: str
    variant: str
    network: str
    cap: int
    """Tiles above this index count as this index."""
    method: str = "tc"
    """td or tc, on after-states; lab for TD(0) on before-states."""
    rate: float = 1.0
    """The step size, alpha."""
    trace: float = 0.5
    """Lambda."""
    every: int = 0
    """Moves after which to learn; 0: at the end of each game."""
    restart: int = 0
    """Games of this many moves or more are played again from the middle; 0: never."""
    optimism: float = 0.0
    """Initial value of every board."""
    goal: int = 0
    """A game ends, won, with a tile of this index; 0: games go on until no slide is left."""
    bonus: float = 0.0
    """The value of winning, in addition to the points."""
    evil: bool = False
    """Tiles are dropped on the cell that is worst for the player by the network itself."""
    stages: tuple[tuple[int, ...], ...] = ()
    """Indices of the tiles with which each stage after the first begins."""
    downgrade: bool = False
    """Whether boards of later stages are looked at downgraded; 2048 only."""
    stage_rate: float | None = None
    """The step size in stages after the first; None: the same."""
    pool: int = 0
    """Games from boards on which earlier games entered a stage; so many for each stage after each game."""
    seed: int = 1

    def kernel_method(self, game: TileGame) -> Method:
        """The plan in the kernels' format."""
        rate, trace = np.float32(self.rate), np.float32(self.trace)
        goal_points = game.rules.tile(self.goal) if self.goal else 0
        return Method(
            rate,
            rate if self.stage_rate is None else np.float32(self.stage_rate),
            trace,
            self.method == "tc",
            np.int64(self.every),
            np.int64(self.restart),
            np.int64(self.goal),
            np.int64(goal_points),
            np.float32(self.bonus),
            self.method == "lab",
            np.int64(self.pool),
            self.evil,
        )


@dataclass(slots=True)
class TileProgress:
    """Progress of a run."""

    games: int = 0
    moves: int = 0
    seconds: float = 0.0
    block: list[list[int]] = field(default_factory=list)
    """Points, moves and largest index of each game since the last line of the log."""
    late: list[list[int]] = field(default_factory=list)
    """Of each later stage, games from the pool since then, and the sum of their points."""


class TileTrainer:
    """The weights and the progress of a run, in memory. A `Trainer` of `training_run`."""

    unit = "games"

    def __init__(self, game: TileGame, plan: TilePlan, threads: int) -> None:
        self.game, self.plan, self.threads = game, plan, threads
        patterns = patterns_of(plan.network)
        stages = stages_of(plan.stages, game.rules.tile, game.rules.max_index, are_downgraded=plan.downgrade)
        self.shape: Shape = shape_of(patterns, game.bits, 16 if game.bits == 4 else plan.cap + 1, stages)
        self.network = text_of(patterns)
        features = 8 * len(patterns)
        self.fresh_weight = np.float32(plan.optimism / features)
        self.weights = np.empty(self.shape.weights, np.float32)
        self._forget()
        self.sums = np.zeros(2 * self.weights.size if plan.method == "tc" else 0, np.float32)
        self.progress = TileProgress()
        later = len(plan.stages)
        self.pool = np.zeros((threads, later, POOL_BOARDS, game.words), np.uint64)
        self.entries = np.zeros((threads, later), np.int64)
        self.seeds: NDArray[np.uint64] = (
            np.random.default_rng(plan.seed).integers(2**63, size=(threads, 1)).astype(np.uint64)
        )
        self._began = time.monotonic()
        self._moves_before = 0
        self._lock = threading.Lock()
        self._games_left = 0  # of the block, not yet started by a thread
        self._round_ends = 0.0

    @property
    def count(self) -> int:
        """Games so far."""
        return self.progress.games

    def load(self, path: Path) -> None:
        """Loads a checkpoint."""
        found = read_checkpoint(path)
        mine = (self.plan.game, self.plan.variant, self.network, int(self.shape.base))
        theirs = (found.game, found.variant, found.network, found.base)
        for what, one, other in zip(("game", "variant", "network", "base"), theirs, mine, strict=True):
            if one != other:
                raise BadWeights(f"{path} has the {what} {one}, not {other}; choose another folder")
        later = len(found.stages)
        if later and found.are_downgraded != self.plan.downgrade:
            raise BadWeights(
                f"{path} has stages that are {'' if found.are_downgraded else 'not '}downgraded; choose another folder"
            )
        if [list(indices) for indices in self.plan.stages[:later]] != found.stages:
            raise BadWeights(
                f"{path} has stages from the indices {found.stages}, not {[*map(list, self.plan.stages)]}; later ones "
                "may be added, but none changed; choose another folder"
            )
        self.fresh_weight = np.float32(found.fresh_weight)
        self._forget()
        self.weights[found.places] = found.weights
        if self.sums.size and found.sums.size:
            self.sums.reshape(-1, 2)[found.places] = found.sums
        count = min(len(found.seeds), self.threads)
        self.seeds[:count] = found.seeds[:count]
        count = min(len(found.entries), self.threads)
        if later and count:
            self._check_pool(path, found)
            self.pool[:count, :later] = found.pool[:count]
            self.entries[:count, :later] = found.entries[:count]
        self.progress = TileProgress(**found.progress)

    def _check_pool(self, path: Path, found: Checkpoint) -> None:
        """Raises BadWeights unless the pool has boards of this game on which a tile may drop."""
        per_word, bits = 16 // self.game.words, self.game.bits
        shifts = np.arange(0, per_word * bits, bits, dtype=np.uint64)
        cells = found.pool[..., None] >> shifts & Word((1 << bits) - 1)
        sizes = np.minimum(found.entries, POOL_BOARDS)
        is_used = np.arange(found.pool.shape[2]) < sizes[..., None]
        if (
            found.pool.shape[2:] != self.pool.shape[2:]
            or found.entries.min() < 0
            or ((cells << shifts).sum(axis=-1, dtype=np.uint64) != found.pool).any()
            or (is_used & (cells != 0).all(axis=(-1, -2))).any()
        ):
            raise BadWeights(f"{path} has a pool with boards that {self.plan.game} does not have")

    def _first_stage(self, weights: NDArray[Any]) -> NDArray[Any]:
        """The part of an array of weights that is for the first stage."""
        return weights[: int(self.shape.offsets[-1])]

    def _forget(self) -> None:
        """Gives all weights their first values; NaN is a weight of a later stage that was not used yet."""
        self.weights.fill(np.nan)
        self._first_stage(self.weights)[:] = self.fresh_weight

    def save(self, path: Path) -> None:
        """Writes a checkpoint: the weights that differ from their initial value, and the learning state."""
        first = self._first_stage(self.weights)
        is_learned = ~np.isnan(self.weights)
        self._first_stage(is_learned)[:] = first != self.fresh_weight
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
            [list(indices) for indices in self.plan.stages],
            self.plan.downgrade,
            self.pool,
            self.entries,
        )
        write_checkpoint(path, checkpoint)

    def plan_facts(self) -> dict[str, Any]:
        """The plan, for the manifest's entry of this command."""
        return {"plan": asdict(self.plan)}

    def facts(self) -> dict[str, Any]:
        """What is trained, and how far, for the manifest."""
        facts: dict[str, Any] = {"game": self.plan.game, "variant": self.plan.variant, "network": self.network}
        facts |= {"base": int(self.shape.base), "threads": self.threads}
        if self.plan.stages:
            facts |= {"stages": [self._stage_name(indices) for indices in self.plan.stages]}
            facts |= {"downgrade": self.plan.downgrade}
        progress = asdict(self.progress) | {"seconds": round(self.progress.seconds)}
        del progress["block"], progress["late"]
        return facts | progress

    def describe(self) -> str:
        """The network's size, and the method."""
        return f"{self.weights.size:,} weights, {self.plan.method}"

    def status(self) -> str:
        """Games, and the speed since this command started."""
        pace = (self.progress.moves - self._moves_before) / max(time.monotonic() - self._began, 1e-9)
        return f"{self.progress.games} games, {pace / 1e6:.2f}M moves/s"

    def train(self, stop: threading.Event, max_count: int | None = None) -> Iterator[LogLine | None]:
        """Trains; yields the log's line after each block, None after a round within it: long blocks are saved too."""
        self._began, self._moves_before = time.monotonic(), self.progress.moves
        todo = (ENDLESS if max_count is None else max_count) - self.progress.games
        while todo > 0 and not stop.is_set():
            self._games_left = min(todo, BLOCK - len(self.progress.block))
            todo -= self._games_left
            began = time.monotonic()
            self._round_ends = began + ROUND_SECONDS
            workers = [threading.Thread(target=self._play, args=(k, stop), daemon=True) for k in range(self.threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            self.progress.seconds += time.monotonic() - began
            todo += self._games_left
            if len(self.progress.block) < BLOCK:
                yield None
                continue
            line = self.summary(self.progress.block)
            self.progress.block, self.progress.late = [], []
            yield line

    def _play(self, k: int, stop: threading.Event) -> None:
        """Thread k: plays games and learns from them until the block is full or the round ends."""
        method, rows, spawns = self.plan.kernel_method(self.game), self.game.rows(), self.game.spawns(self.plan.variant)
        path, points = np.zeros((LONGEST_GAME, self.game.words), np.uint64), np.zeros(LONGEST_GAME, np.float32)
        late = np.zeros((len(self.plan.stages), 2), np.int64)
        desk = Desk(path, points, self.seeds[k], scratch_for(self.shape), self.pool[k], self.entries[k], late)
        results = np.zeros((BATCH, 3), np.int64)
        while not stop.is_set():
            with self._lock:
                count = min(BATCH, self._games_left)
                self._games_left -= count
            if count == 0:
                break
            moves = train(
                count, self.game.empty, rows, spawns, self.weights, self.sums, self.shape, method, desk, results
            )
            with self._lock:
                self.progress.games += count
                self.progress.moves += int(moves)
                self.progress.block += results[:count].tolist()
                so_far = np.array(self.progress.late or np.zeros_like(late))
                self.progress.late = (so_far + late).tolist()
            late.fill(0)
            if time.monotonic() >= self._round_ends:
                break

    def summary(self, block: list[list[int]]) -> LogLine:
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
        } | self._late_summary()

    def _late_summary(self) -> LogLine:
        """For each stage, the average of the points that games from its pool made after they began."""
        late = {
            self._stage_name(indices): points / games
            for indices, (games, points) in zip(self.plan.stages, self.progress.late, strict=False)
            if games
        }
        return {"late": late} if late else {}

    def _stage_name(self, indices: Sequence[int]) -> str:
        """The tiles with which a stage begins: 16384+8192."""
        return "+".join(str(self.game.rules.tile(index)) for index in indices)

    def text_of(self, line: LogLine) -> str:
        """The lab's block of statistics: for each tile the share of games that reached it, and that ended with it."""
        head = f"{line['games']}\tavg = {line['average']:.0f}, max = {line['maximum']}, {line['pace']:.0f} moves/s"
        shares = list(line["reached"].items())
        ended = [share - (shares[i + 1][1] if i + 1 < len(shares) else 0.0) for i, (_, share) in enumerate(shares)]
        rows = [f"\t{tile}\t{share:.1%}\t({end:.1%})" for (tile, share), end in zip(shares, ended, strict=True)]
        late = [f"\tfrom {stage}\t{points:.0f}" for stage, points in line.get("late", {}).items()]
        return "\n".join([head, *rows, *late])

    def draw(self, figure: Any, lines: list[LogLine]) -> None:
        """Draws the learning curve."""
        curve.draw(figure, lines)

"""Training on a cluster: nodes play, with search if asked, and one learner updates the weights.

The learner shares its weights with the nodes every PUBLISH_SECONDS. Games are therefore played with weights that are
slightly older than those that learn from them.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.cluster import Fleet, WorkerSpec
from plyd.cluster.options import ClusterSettings, open_fleet
from plyd.engines.core.intrinsics import NEVER
from plyd.engines.core.training_run import LogLine, TrainingError
from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.games import tile_game
from plyd.engines.tiles.ntuple.network import scratch_for, shape_of
from plyd.engines.tiles.play.kernel import Pace
from plyd.engines.tiles.search.expectimax import DepthPolicy, ExpectimaxLimit, TileModel, memory_for
from plyd.engines.tiles.train.paths import RESULTS, PathSpace, learn_paths, play_path
from plyd.engines.tiles.train.trainer import BLOCK, LONGEST_GAME, TilePlan, TileTrainer
from plyd.models.ntuple.patterns import patterns_of

WORKER = "plyd.engines.tiles.train.cluster:PathWorker"
PUBLISH_SECONDS = 20.0
CHUNK_SECONDS = 1.0  # aimed at
CHUNKS_AT_ONCE = 2  # of a worker: its threads have the second when the first runs out of games
TABLE_ENTRIES = 1 << 16
ONE_MACHINE_ONLY = ("every", "evil", "stages", "pool")  # of a plan: these need a player that learns


class ClusterTileTrainer(TileTrainer):
    """The weights and the progress of a run whose games are played on a cluster."""

    def __init__(self, game: TileGame, plan: TilePlan, cluster: ClusterSettings, depth: int) -> None:
        super().__init__(game, plan, 1)
        if plan.method == "lab":
            raise TrainingError("the method lab learns while it plays; with --cluster, use tc or td")
        for name in ONE_MACHINE_ONLY:
            if getattr(plan, name, None):
                raise TrainingError(f"--{name} is not possible with --cluster")
        self._cluster, self._depth = cluster, depth
        self._numbers = self.progress.games  # of the next game: its random numbers
        self._rate = 0.0  # games per second of a worker

    def train(self, stop: threading.Event, max_count: int | None = None) -> Iterator[LogLine | None]:
        """Trains; yields the log's line after each block, and None in between."""
        settings = {"plan": asdict(self.plan), "depth": self._depth}
        spec = WorkerSpec(WORKER, settings, cores=None, at_once=CHUNKS_AT_ONCE, ahead=0)
        began, before = time.monotonic(), self.progress.seconds
        self._began, self._moves_before = began, self.progress.moves
        self._numbers = self.progress.games
        with open_fleet(self._cluster, spec) as fleet:
            shared, version, published = fleet.share(self.weights), 0, began
            given: dict[int, float] = {}
            while not stop.is_set() and (max_count is None or self.progress.games < max_count):
                if time.monotonic() - published > PUBLISH_SECONDS:
                    shared, version, published = fleet.share(self.weights), version + 1, time.monotonic()
                self._give(fleet, shared, version, given, max_count)
                for first, answer in fleet.answers():
                    self._take(answer, time.monotonic() - given.pop(int(str(first))))
                self.progress.seconds = before + time.monotonic() - began
                if len(self.progress.block) >= BLOCK:
                    line = self.summary(self.progress.block[:BLOCK])
                    self.progress.block = self.progress.block[BLOCK:]
                    yield line
                else:
                    yield None

    def _give(self, fleet: Fleet, shared: Any, version: int, given: dict[int, float], max_count: int | None) -> None:
        """Give out games, in chunks of about CHUNK_SECONDS."""
        end = 1 << 62 if max_count is None else max_count
        for _ in range(fleet.room()):
            count = min(max(1, round(self._rate * CHUNK_SECONDS)), end - self._numbers)
            if count <= 0:
                return
            given[self._numbers] = time.monotonic()
            fleet.give(self._numbers, (self._numbers, count, version), [shared])
            self._numbers += count

    def _take(self, answer: Mapping[str, NDArray[Any]], seconds: float) -> None:
        """Learn from the games of a chunk."""
        results, method = answer["results"], self.plan.kernel_method(self.game)
        learn_paths(
            np.array(answer["path"]),  # Ray's arrays are read-only, which would be another kernel
            np.array(answer["points"]),
            np.array(results),
            self.game.empty,
            self.weights,
            self.sums,
            self.shape,
            method,
            scratch_for(self.shape),
        )
        whole = results[answer["is_whole"]]
        self.progress.games += len(whole)
        self.progress.moves += int(results[:, 1].sum())
        self.progress.block += whole[:, :3].tolist()
        self._rate = len(whole) / max(seconds, 1e-3)


class PathWorker:
    """Plays games of a training run on all cores of a node."""

    def __init__(self, settings: Mapping[str, Any], cores: int) -> None:
        plan = self._plan = TilePlan(**settings["plan"])
        self._game = tile_game(plan.game, plan.variant)
        bits = self._game.bits
        self._shape = shape_of(patterns_of(plan.network), bits, 16 if bits == 4 else plan.cap + 1)
        self._method = plan.kernel_method(self._game)
        policy = DepthPolicy(np.int64(settings["depth"]), False, False, False)
        self._pace = Pace(policy, np.int64(0), np.int64(0))
        self._pool = ThreadPoolExecutor(cores)
        self._local = threading.local()
        self._lock = threading.Lock()
        self._version, self._weights = -1, np.zeros(0, np.float32)
        size = int(self._shape.offsets[-1])
        self.work((0, 1, 0), np.full(size, np.float32(plan.optimism / 8 / len(patterns_of(plan.network))), np.float32))
        self._version = -1  # compiled; nobody wants that game

    def work(self, job: tuple[int, int, int], weights: NDArray[np.float32]) -> dict[str, Any]:
        """The paths of `count` games from number `first` on, and of what they were restarted from."""
        first, count, version = job
        with self._lock:
            if version != self._version:
                self._version, self._weights = version, np.array(weights)
            current = self._weights
        played = list(self._pool.map(lambda number: self._play(number, current), range(first, first + count)))
        paths = [part for parts in played for part in parts]
        return {
            "path": np.concatenate([path for path, _, _ in paths]),
            "points": np.concatenate([points for _, points, _ in paths]),
            "results": np.array([result for _, _, result in paths]),
            "is_whole": np.array([part is parts[0] for parts in played for part in parts]),
        }

    def _play(self, number: int, weights: NDArray[np.float32]) -> list[tuple[Any, Any, Any]]:
        """A game, and those from its middle: the path, the points and the results of each."""
        if not hasattr(self._local, "space"):
            path, points = np.zeros((LONGEST_GAME, self._game.words), np.uint64), np.zeros(LONGEST_GAME, np.float32)
            self._local.space = PathSpace(path, points, np.zeros(1, np.uint64))
            self._local.memory = memory_for(self._shape, TABLE_ENTRIES)
        space: PathSpace = self._local.space
        space.seed[0] = np.random.SeedSequence([self._plan.seed, number]).generate_state(1, np.uint64)[0]
        model = TileModel(weights, self._shape, self._game.rows(), self._game.spawns(self._plan.variant))
        limit = ExpectimaxLimit(np.int64(NEVER), np.int64(NEVER), np.zeros(1, np.uint8))
        parts: list[tuple[Any, Any, Any]] = []
        start, restart = self._game.empty, self._plan.restart
        while True:
            result = np.zeros(RESULTS, np.int64)
            memory = self._local.memory
            moves = play_path(model, self._pace, self._method, limit, memory, start, not parts, space, result)
            parts.append((space.path[:moves].copy(), space.points[:moves].copy(), result))
            is_over = self._plan.goal and result[2] >= self._plan.goal
            if not restart or moves < restart or is_over:
                return parts
            words = [np.uint64(word) for word in space.path[moves // 2]]
            start = words[0] if len(words) == 1 else tuple(words)

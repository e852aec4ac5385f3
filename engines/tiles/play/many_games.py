"""`python -m plyd.engines.tiles.play.many_games GAME`: many games of a trained player, one line of JSON each.

    {"points": 251234, "moves": 9876, "largest": 14, "start_ms": ..., "end_ms": ..., "actions": [16, 21, 3, ...]}

`plyd play` runs this and computes statistics. The random numbers of a game depend on the seed and the game's number,
not on the thread that plays it. Lines are printed in the order in which games end.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from plyd.engines.core.errors import EngineError
from plyd.engines.core.intrinsics import NEVER
from plyd.engines.tiles.games import tile_game
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE
from plyd.engines.tiles.ntuple.player import Player, load_player
from plyd.engines.tiles.play.kernel import Pace, play_game
from plyd.engines.tiles.search.expectimax import DepthPolicy, ExpectimaxLimit, memory_for

LONGEST = 1 << 20  # maximum actions of a game
TABLE_ENTRIES = 1 << 16


@dataclass(frozen=True, slots=True)
class GameSettings:
    """Settings of all games."""

    player: Player
    depth: int
    move_seconds: float | None
    evil: bool
    """The environment drops each tile on the worst cell."""
    reckons_evil: bool
    """The player's search expects that."""
    seed: int
    with_actions: bool
    until: int = 0
    """A game ends with a tile of this index; 0: play to the end."""
    downgrade: bool = True
    reduce_rare: bool = True


class GameThread:
    """Plays games one after another, with its own memory."""

    def __init__(self, settings: GameSettings, flag: Any) -> None:
        entries = TABLE_ENTRIES if settings.move_seconds is None else 1 << 18
        self.memory = memory_for(settings.player.model.shape, entries)
        self.actions = np.zeros(LONGEST, np.int16)
        self.limit = ExpectimaxLimit(np.int64(NEVER), np.int64(NEVER), flag)
        self._play(settings, 0, self.actions[:2])  # load the kernels before the clock starts

    def play(self, settings: GameSettings, number: int) -> dict[str, Any]:
        """The result of one game."""
        began = time.time()
        length, points, moves, largest = self._play(settings, number, self.actions)
        result = {"points": int(points), "moves": int(moves), "largest": int(largest)}
        result |= {"start_ms": round(began * 1000), "end_ms": round(time.time() * 1000)}
        return result | ({"actions": self.actions[:length].tolist()} if settings.with_actions else {})

    def _play(self, settings: GameSettings, number: int, actions: Any) -> Any:
        player = settings.player
        move_ns = 0 if settings.move_seconds is None else round(settings.move_seconds * 1e9)
        is_timed = settings.move_seconds is not None
        is_reduced = is_timed and settings.reduce_rare and player.is_rare_reduced
        policy = DepthPolicy(np.int64(settings.depth), settings.reckons_evil, is_timed, is_reduced)
        downgrade_from = player.downgrade_from if settings.downgrade else NEVER_DOWNGRADE
        return play_game(
            player.model,
            Pace(policy, np.int64(move_ns), np.int64(settings.until), np.int64(downgrade_from)),
            settings.evil,
            self.limit,
            self.memory,
            player.game.empty,
            np.random.SeedSequence([settings.seed, number]).generate_state(1, np.uint64).astype(np.uint64),
            actions,
        )


class GamePool:
    """Threads that play games; a game's result depends on its number, not on its thread."""

    def __init__(self, settings: GameSettings, threads: int) -> None:
        self._settings = settings
        self._flag = np.zeros(1, np.uint8)
        self._local = threading.local()
        self._pool = ThreadPoolExecutor(threads)

    def begin(self, number: int) -> "Future[dict[str, Any]]":
        """Begin a game, as soon as a thread is free."""
        return self._pool.submit(self._play, number)

    def close(self) -> None:
        """End the games that are played."""
        self._flag[0] = 1
        self._pool.shutdown(cancel_futures=True)

    def _play(self, number: int) -> dict[str, Any]:
        if not hasattr(self._local, "thread"):
            self._local.thread = GameThread(self._settings, self._flag)
        thread: GameThread = self._local.thread
        return thread.play(self._settings, number)


def results(settings: GameSettings, games: int, threads: int) -> Iterator[dict[str, Any]]:
    """The result of each game, as it ends."""
    numbers = iter(range(games))
    pool = GamePool(settings, threads)
    try:
        running = {pool.begin(number) for number in islice(numbers, 2 * threads)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.begin(number) for number in islice(numbers, len(done))}
            for future in done:
                yield future.result()
    finally:
        pool.close()


class GamesWorker:
    """Plays games by their numbers, on all cores of a node of a cluster (`plyd.cluster`)."""

    def __init__(self, asked: Mapping[str, Any], cores: int) -> None:
        folder = tempfile.mkdtemp(prefix="plyd-model-")
        path = None
        try:
            if asked["model"] is not None:
                path = Path(folder) / asked["model_name"]
                path.write_bytes(asked["model"])
            player = load_player(tile_game(asked["game"], asked["variant"]), asked["variant"], path)
        finally:
            shutil.rmtree(folder)
        names = ("depth", "move_seconds", "evil", "reckons_evil", "seed", "with_actions", "until")
        self._pool = GamePool(GameSettings(player, **{name: asked[name] for name in names}), cores)
        for future in [self._pool.begin(number) for number in range(cores)]:
            future.result()  # the kernels are loaded now

    def work(self, job: tuple[int, int]) -> list[dict[str, Any]]:
        """The results of `count` games from number `first` on."""
        first, count = job
        return [future.result() for future in [self._pool.begin(number) for number in range(first, first + count)]]


def main() -> None:
    """Plays games and prints their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--variant", default="classic", help="default: classic")
    parser.add_argument("--games", type=int, default=100, help="default: 100")
    parser.add_argument("--depth", type=int, default=1, help="slides to look ahead; default: 1")
    parser.add_argument("--move-time", type=float, metavar="MS", help="milliseconds per move, instead of a depth")
    parser.add_argument(
        "--evil", action="store_true", help="the environment chooses the cell that is worst for the player"
    )
    parser.add_argument(
        "--reckon",
        choices=("chance", "evil"),
        help="the environment that the player's search expects; default: the one that plays",
    )
    parser.add_argument(
        "--until",
        type=int,
        default=0,
        metavar="INDEX",
        help="end games with a tile of this index; default: 0, play to the end",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed; default: 1")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="default: number of cores")
    parser.add_argument("--model", type=Path, metavar="FILE", help="a packed network; default: the one that ships")
    parser.add_argument("--no-downgrade", action="store_true", help="2048: search late boards as they are")
    parser.add_argument(
        "--no-reduction", action="store_true", help="search the drops of the rare tile as deep as the others"
    )
    parser.add_argument("--actions", action="store_true", help="also print every move of each game")
    asked = parser.parse_args()
    try:
        player = load_player(tile_game(asked.game, asked.variant), asked.variant, asked.model)
    except EngineError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    seconds = None if asked.move_time is None else asked.move_time / 1000
    settings = GameSettings(
        player,
        asked.depth,
        seconds,
        asked.evil,
        asked.evil if asked.reckon is None else asked.reckon == "evil",
        asked.seed,
        asked.actions,
        asked.until,
        downgrade=not asked.no_downgrade,
        reduce_rare=not asked.no_reduction,
    )
    for result in results(settings, asked.games, asked.threads):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

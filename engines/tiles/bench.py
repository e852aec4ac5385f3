"""Speed of tile games: moves per second of training, and of play at a fixed depth."""

import threading
import time

import numpy as np

from plyd.engines.core.intrinsics import NEVER
from plyd.engines.tiles.game import TileGame
from plyd.engines.tiles.ntuple.player import Player
from plyd.engines.tiles.play.kernel import Pace, play_game
from plyd.engines.tiles.search.expectimax import DepthPolicy, ExpectimaxLimit, memory_for
from plyd.engines.tiles.train.trainer import TilePlan, TileTrainer

WARM_UP_SECONDS, SECONDS = 6.0, 8.0
TABLE_ENTRIES = 1 << 16
LONGEST = 1 << 20


def training_pace(game: TileGame, plan: TilePlan, threads: int) -> float:
    """Moves per second of training, learning included, after the kernels are compiled."""
    trainer, stop = TileTrainer(game, plan, threads), threading.Event()
    thread = threading.Thread(target=lambda: list(trainer.train(stop)), daemon=True)
    thread.start()
    while not trainer.progress.moves:  # wait for the kernels to compile
        time.sleep(0.01)
    time.sleep(WARM_UP_SECONDS)
    moves, since = trainer.progress.moves, time.monotonic()
    time.sleep(SECONDS)
    pace = (trainer.progress.moves - moves) / (time.monotonic() - since)
    stop.set()
    thread.join()  # so that nothing runs while the next figure is measured
    return pace


def playing_pace(player: Player, depth: int) -> float:
    """Moves per second of one thread at this depth, in slides."""
    flag = np.zeros(1, np.uint8)
    memory, actions = memory_for(player.model.shape, TABLE_ENTRIES), np.zeros(LONGEST, np.int16)
    limit = ExpectimaxLimit(np.int64(NEVER), np.int64(NEVER), flag)
    pace = Pace(DepthPolicy(np.int64(depth), False, False), np.int64(0), np.int64(0))

    def play(seed: int, length: int) -> int:
        seeds = np.array([seed], np.uint64)
        return int(play_game(player.model, pace, False, limit, memory, player.game.empty, seeds, actions[:length])[2])

    play(1, 2)
    alarm = threading.Timer(SECONDS, lambda: flag.__setitem__(0, 1))
    began = time.monotonic()
    alarm.start()
    moves = 0
    for seed in range(1, 10_000):
        moves += play(seed, LONGEST)
        if flag[0]:
            break
    return moves / (time.monotonic() - began)

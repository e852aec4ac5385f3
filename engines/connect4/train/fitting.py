"""`python -m plyd.engines.connect4.train.fitting`: fit the weights of move features to self-play games.

The engine plays itself on boards of many sizes. Of each search it keeps the position and the visits of each move. Then
the weights are fitted so that a softmax over the moves predicts the visits (cross-entropy, Adam).
"""

import argparse
import random
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.board import board_array
from plyd.engines.connect4.graph.features import WEIGHTS, look_at_all
from plyd.engines.connect4.graph.searcher import OPTIONS, GraphSearcher, params_for
from plyd.engines.connect4.rules import RULES, Position
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Limits

SIZES = ((7, 6), (8, 7), (9, 9), (9, 10), (10, 9), (10, 10), (11, 11), (12, 12), (12, 9), (11, 10), (10, 12))
FORBIDDEN_SHARE, STRAY_SHARE = 0.7, 0.05  # share of games with a forbidden cell; share of random moves
STEPS, RATE = 600, 0.05
MEGABYTES = 64  # per player
Array = NDArray[np.float32]


def main() -> None:
    """Plays games, fits the weights and prints them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=400.0, help="time for the games; default: 400")
    parser.add_argument("--nodes", type=int, default=1500, help="simulations per move; default: 1500")
    parser.add_argument("--seed", type=int, default=1, help="random seed; default: 1")
    arguments = parser.parse_args()
    boards, lines, visits = collect(random.Random(arguments.seed), arguments.seconds, arguments.nodes)
    seen = np.zeros((*visits.shape, len(WEIGHTS)), np.float32)
    is_open = np.zeros(visits.shape, np.bool_)
    look_at_all(boards, lines, seen, is_open)
    kept = (is_open.sum(1) > 1) & ((visits * is_open).sum(1) > 0)
    weights, loss, uniform = fit(seen[kept], is_open[kept], (visits * is_open)[kept])
    print(f"{kept.sum()} positions; loss {loss:.3f}, {uniform:.3f} without weights")
    for name, weight in zip(WEIGHTS, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')


def collect(chance: random.Random, seconds: float, nodes: int) -> tuple[NDArray[np.uint16], Array, Array]:
    """Boards of self-play games, the lines through each cell, and the visits of each column."""
    boards, lines, visits = [], [], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        position = opening(chance)
        settings = read_options(OPTIONS, {"solver": "false"})
        players = [GraphSearcher(settings | {"seed": chance.randrange(1 << 30)}, MEGABYTES) for _ in range(2)]
        through = params_for(position, 1.0).lines
        while RULES.outcome(position) is Outcome.ONGOING:
            player = players[RULES.to_move(position) is Side.PLAYER_TWO]
            *_, last = player.search(position, Limits(max_nodes=nodes, max_lines=16), Stop())
            counts = np.zeros(16, np.float32)
            for line in last.lines:
                counts[int(line.moves[0]) - 1] = line.visits or 0
            if counts.sum() > nodes / 3:
                boards.append(board_array(position))
                lines.append(through)
                visits.append(counts)
            is_stray = chance.random() < STRAY_SHARE
            move = chance.choice(RULES.legal_moves(position)).text if is_stray else last.move
            position = RULES.play(position, str(move)).position
    return np.array(boards), np.array(lines), np.array(visits)


def opening(chance: random.Random) -> Position:
    """A board of a random size after a few random moves."""
    columns, rows = chance.choice(SIZES)
    text = f"{columns}x{rows}"
    if chance.random() < FORBIDDEN_SHARE:
        text += f" #{chance.randint(1, columns)},{chance.randint(1, rows)}"
    position: Position = RULES.parse(text)
    for _ in range(chance.randrange(2, 10)):
        moves = RULES.legal_moves(position)
        if moves:
            position = RULES.play(position, chance.choice(moves).text).position
    return position


def fit(seen: Array, is_open: NDArray[np.bool_], visits: Array) -> tuple[Array, float, float]:
    """The weights, their cross-entropy with the visits, and that of a uniform policy."""
    wanted = visits / visits.sum(1, keepdims=True)
    weights: Any = np.zeros(seen.shape[2], np.float32)
    mean, spread, loss = np.zeros_like(weights), np.zeros_like(weights), 0.0
    for step in range(1, STEPS + 1):  # Adam
        odds = np.where(is_open, np.exp(seen @ weights), 0)
        odds /= odds.sum(1, keepdims=True)
        loss = float(-(wanted * np.log(odds + 1e-9)).sum(1).mean())
        slope = ((odds - wanted)[:, :, None] * seen).sum((0, 1)) / len(seen)
        mean, spread = 0.9 * mean + 0.1 * slope, 0.99 * spread + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.99**step)) + 1e-8)
    return weights, loss, float(np.log(is_open.sum(1)).mean())


if __name__ == "__main__":
    main()

"""Self-play games of a network, rating matches between two networks, and the worker process that plays them.

Run as a module, it reads jobs, one line of JSON each, and answers each with one line. A worker ends when its input
ends, so it never outlives the trainer.
"""

import json
import sys
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plyd.engines.gomoku.board.board import NOBODY, X
from plyd.engines.gomoku.mcts.inference import Evaluates, load_network
from plyd.engines.gomoku.mcts.nodes import LOSS, OPEN, WIN
from plyd.engines.gomoku.mcts.search_tree import SearchTree, params_of
from plyd.engines.gomoku.train.replay import TrainingGame, as_line

NETWORKS_KEPT = 3
OPENING_TRIES, EVEN = 8, 0.6  # tries for an opening with an absolute value below EVEN, else the most even one
NEAR = 2  # distance of an opening move from another stone


@dataclass(frozen=True, slots=True)
class SelfPlayParams:
    """How self-play searches and chooses moves."""

    simulations: int = 400
    """Simulations of a full search, from which the policy is learned."""
    quick_simulations: int = 80
    """Simulations of the other searches."""
    full_share: float = 0.25
    """Share of full searches."""
    noise: float = 0.25
    alpha: float = 0.05
    hot_plies: int = 12
    """Moves after the opening that are drawn in proportion to their visits."""
    opening_plies: int = 6
    """Maximum number of random moves at the start."""
    sizes: tuple[int, ...] = (15, 15, 15, 15, 15, 15, 15, 13, 17, 20)


def self_play(evaluate: Evaluates, style: SelfPlayParams, seed: int) -> tuple[TrainingGame, int]:
    """A game of a network against itself, and its number of simulations."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice(style.sizes))
    tree = SearchTree(evaluate, size, params=params_of())
    moves = opening(tree, rng, int(rng.integers(0, style.opening_plies + 1)))
    game = TrainingGame(size, np.zeros(0, np.int16), 0, len(moves))
    simulations = 0
    while NOBODY in tree.cells:
        is_full = rng.random() < style.full_share
        if is_full:
            if not tree.root["count"]:
                tree.simulate(1)
            tree.add_noise(rng, style.noise, style.alpha)
        # Visits from the last move's search count, unless that search had noise.
        before = int(tree.root["visits"])
        tree.simulate(style.simulations if is_full else max(8, style.quick_simulations - before // 2))
        simulations += int(tree.root["visits"]) - before
        status = tree.root["status"]
        cells, visits = tree.visits()
        if is_full or status == WIN:
            game.policies[len(moves)] = (cells.astype(np.int16), (visits / visits.sum()).astype(np.float32))
        if status != OPEN:
            mine = 1 if status == WIN else -1 if status == LOSS else 0
            game.result = mine if tree.mover == X else -mine
            break
        hot = len(moves) - game.opening < style.hot_plies
        cell = int(rng.choice(cells, p=visits / visits.sum())) if hot else tree.best()
        moves.append(cell)
        tree.play(cell)
    game.moves = np.array(moves, np.int16)
    return game, simulations


def opening(tree: SearchTree, rng: np.random.Generator, plies: int) -> list[int]:
    """Random moves, played on the tree, after which the network's value is about even."""
    best: tuple[float, list[int]] = (2.0, [])
    for _ in range(OPENING_TRIES):
        moves = random_moves(tree.size, rng, plies)
        set_position(tree, moves)
        tree.simulate(1)
        value = 1.0 if tree.root["status"] != OPEN else abs(float(tree.root["total"]))
        best = min(best, (value, moves))
        if value < EVEN:
            break
    set_position(tree, best[1])
    return list(best[1])


def random_moves(size: int, rng: np.random.Generator, plies: int) -> list[int]:
    """Random moves: the first near the middle, the others near an earlier one."""
    moves: list[int] = []
    while len(moves) < plies:
        if moves:
            row, column = divmod(moves[int(rng.integers(len(moves)))], size)
            reach = NEAR
        else:
            row = column = size // 2
            reach = size // 5
        row, column = row + int(rng.integers(-reach, reach + 1)), column + int(rng.integers(-reach, reach + 1))
        if 0 <= row < size and 0 <= column < size and row * size + column not in moves:
            moves.append(row * size + column)
    return moves


def set_position(tree: SearchTree, moves: list[int]) -> None:
    """Sets a tree to the position after some moves."""
    cells = np.zeros((tree.size, tree.size), np.uint8)
    for ply, cell in enumerate(moves):
        cells.reshape(-1)[cell] = X + ply % 2
    tree.begin(cells, X + len(moves) % 2)


def match(evaluators: tuple[Evaluates, Evaluates], size: int, simulations: int, seed: int) -> list[int]:
    """Two games from one opening, with colours swapped: the results for the first network."""
    rng = np.random.default_rng(seed)
    trees = [SearchTree(evaluate, size) for evaluate in evaluators]
    start = opening(trees[0], rng, 2 + int(rng.integers(0, 4)))
    results = []
    for first in (0, 1):
        for tree in trees:
            set_position(tree, start)
        while NOBODY in trees[0].cells:
            turn = (trees[0].mover - X + first) % 2
            tree = trees[turn]
            tree.simulate(simulations)
            status = tree.root["status"]
            if status != OPEN:
                result = (1 if status == WIN else -1 if status == LOSS else 0) * (1 if turn == 0 else -1)
                break
            cell = tree.best()
            for each in trees:
                each.play(cell)
        else:
            result = 0
        results.append(result)
    return results


def work(jobs: Any, answers: Any) -> None:
    """Plays the job of each line and writes the answer, until the input ends."""
    networks: OrderedDict[str, Evaluates] = OrderedDict()

    def network(path: str) -> Evaluates:
        if path not in networks:
            networks[path] = load_network(Path(path))[0]
        networks.move_to_end(path)
        while len(networks) > NETWORKS_KEPT:
            networks.popitem(last=False)
        return networks[path]

    for line in jobs:
        job = json.loads(line)
        if job["kind"] == "self-play":
            style = SelfPlayParams(**job["style"] | {"sizes": tuple(job["style"]["sizes"])})
            game, simulations = self_play(network(job["networks"][0]), style, job["seed"])
            answer = {"kind": "self-play", "game": as_line(game), "simulations": simulations}
        else:
            one, other = job["networks"]
            results = match((network(one), network(other)), job["size"], job["simulations"], job["seed"])
            answer = {"kind": "match", "networks": job["networks"], "results": results}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def self_play_job(path: Path, style: SelfPlayParams, seed: int) -> str:
    """The line of a self-play job."""
    return json.dumps({"kind": "self-play", "networks": [str(path)], "style": asdict(style), "seed": seed}) + "\n"


def match_job(paths: tuple[Path, Path], size: int, simulations: int, seed: int) -> str:
    """The line of a rating job: two games between two networks."""
    networks = [str(path) for path in paths]
    return (
        json.dumps({"kind": "match", "networks": networks, "size": size, "simulations": simulations, "seed": seed})
        + "\n"
    )


if __name__ == "__main__":
    import contextlib
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer stops its workers itself
    with contextlib.suppress(BrokenPipeError):
        work(sys.stdin, sys.stdout)

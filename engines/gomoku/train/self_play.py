"""Games that networks play against themselves and against older ones; a process that plays them as it is told.

Run as a module it reads jobs, one a line of JSON, and answers each with one line: so nothing but text goes between the
trainer and those who play, and who plays ends when the trainer does.
"""

import json
import sys
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plyd.engines.gomoku.board.board import NOBODY, X
from plyd.engines.gomoku.mcts.growing import Tree, taste_of
from plyd.engines.gomoku.mcts.inference import Evaluates, load_network
from plyd.engines.gomoku.mcts.nodes import LOSS, OPEN, WIN
from plyd.engines.gomoku.train.replay import TrainingGame, as_line

NETWORKS_KEPT = 3
OPENING_TRIES, EVEN = 8, 0.6  # openings that the network finds this uneven are not played
NEAR = 2  # points from a stone where an opening plays


@dataclass(frozen=True, slots=True)
class SelfPlayParams:
    """How self-play goes."""

    walks: int = 400
    """Of a search that is learned from."""
    quick_walks: int = 80
    """Of the others."""
    full_share: float = 0.25
    """Of searches that are learned from."""
    noise: float = 0.25
    alpha: float = 0.05
    hot_plies: int = 12
    """Moves after the opening that are drawn by their visits."""
    opening_plies: int = 6
    """Of the opening, at most, by chance."""
    sizes: tuple[int, ...] = (15, 15, 15, 15, 15, 15, 15, 13, 17, 20)


def self_play(evaluate: Evaluates, style: SelfPlayParams, seed: int) -> tuple[TrainingGame, int]:
    """A game of a network against itself, and the walks it took."""
    chance = np.random.default_rng(seed)
    size = int(chance.choice(style.sizes))
    tree = Tree(evaluate, size, taste=taste_of())
    moves = opening(tree, chance, int(chance.integers(0, style.opening_plies + 1)))
    game = TrainingGame(size, np.zeros(0, np.int16), 0, len(moves))
    walks = 0
    while NOBODY in tree.cells:
        is_full = chance.random() < style.full_share
        if is_full:
            if not tree.root["count"]:
                tree.simulate(1)
            tree.add_noise(chance, style.noise, style.alpha)
        # what is known from the last move counts, as far as it was not sought with noise
        before = int(tree.root["visits"])
        tree.simulate(style.walks if is_full else max(8, style.quick_walks - before // 2))
        walks += int(tree.root["visits"]) - before
        status = tree.root["status"]
        cells, visits = tree.visits()
        if is_full or status == WIN:
            game.policies[len(moves)] = (cells.astype(np.int16), (visits / visits.sum()).astype(np.float32))
        if status != OPEN:
            mine = 1 if status == WIN else -1 if status == LOSS else 0
            game.result = mine if tree.mover == X else -mine
            break
        hot = len(moves) - game.opening < style.hot_plies
        cell = int(chance.choice(cells, p=visits / visits.sum())) if hot else tree.best()
        moves.append(cell)
        tree.play(cell)
    game.moves = np.array(moves, np.int16)
    return game, walks


def opening(tree: Tree, chance: np.random.Generator, plies: int) -> list[int]:
    """Some moves by chance that the network finds even, played on the tree."""
    best: tuple[float, list[int]] = (2.0, [])
    for _ in range(OPENING_TRIES):
        moves = chance_moves(tree.size, chance, plies)
        show(tree, moves)
        tree.simulate(1)
        worth = 1.0 if tree.root["status"] != OPEN else abs(float(tree.root["total"]))
        best = min(best, (worth, moves))
        if worth < EVEN:
            break
    show(tree, best[1])
    return list(best[1])


def chance_moves(size: int, chance: np.random.Generator, plies: int) -> list[int]:
    """Moves by chance: the first near the middle, the others near one before."""
    moves: list[int] = []
    while len(moves) < plies:
        if moves:
            row, column = divmod(moves[int(chance.integers(len(moves)))], size)
            reach = NEAR
        else:
            row = column = size // 2
            reach = size // 5
        row, column = row + int(chance.integers(-reach, reach + 1)), column + int(chance.integers(-reach, reach + 1))
        if 0 <= row < size and 0 <= column < size and row * size + column not in moves:
            moves.append(row * size + column)
    return moves


def show(tree: Tree, moves: list[int]) -> None:
    """Have a tree begin at the position after some moves."""
    cells = np.zeros((tree.size, tree.size), np.uint8)
    for ply, cell in enumerate(moves):
        cells.reshape(-1)[cell] = X + ply % 2
    tree.begin(cells, X + len(moves) % 2)


def match(evaluators: tuple[Evaluates, Evaluates], size: int, walks: int, seed: int) -> list[int]:
    """Two games from one opening, each network first in one: the results for the first network."""
    chance = np.random.default_rng(seed)
    trees = [Tree(evaluate, size) for evaluate in evaluators]
    start = opening(trees[0], chance, 2 + int(chance.integers(0, 4)))
    results = []
    for first in (0, 1):
        for tree in trees:
            show(tree, start)
        while NOBODY in trees[0].cells:
            turn = (trees[0].mover - X + first) % 2
            tree = trees[turn]
            tree.simulate(walks)
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
    """Play what each line asks for, and answer it, until there are no more lines."""
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
            game, walks = self_play(network(job["networks"][0]), style, job["seed"])
            answer = {"kind": "self-play", "game": as_line(game), "walks": walks}
        else:
            one, other = job["networks"]
            results = match((network(one), network(other)), job["size"], job["walks"], job["seed"])
            answer = {"kind": "match", "networks": job["networks"], "results": results}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def self_play_job(path: Path, style: SelfPlayParams, seed: int) -> str:
    """A line that asks for a game of self-play."""
    return json.dumps({"kind": "self-play", "networks": [str(path)], "style": asdict(style), "seed": seed}) + "\n"


def match_job(paths: tuple[Path, Path], size: int, walks: int, seed: int) -> str:
    """A line that asks for two games between two networks."""
    networks = [str(path) for path in paths]
    return json.dumps({"kind": "match", "networks": networks, "size": size, "walks": walks, "seed": seed}) + "\n"


if __name__ == "__main__":
    import contextlib
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer says when to stop, by closing the pipe
    with contextlib.suppress(BrokenPipeError):
        work(sys.stdin, sys.stdout)

"""Self-play games of a network, rating matches between two networks, and the worker that plays them."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.gomoku.board.board import NOBODY, X
from plyd.engines.gomoku.mcts.inference import Evaluates, Evaluator
from plyd.engines.gomoku.mcts.nodes import LOSS, OPEN, WIN
from plyd.engines.gomoku.mcts.search_tree import SearchTree, params_of
from plyd.engines.gomoku.rules import SMALLEST
from plyd.engines.gomoku.train.replay import TrainingGame, games_as_arrays

SELF_PLAY, MATCH = "self-play", "match"  # kinds of jobs
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


class SelfPlayWorker:
    """Plays the games of a training run, one job after another (`plyd.cluster`).

    A job names its networks; their ONNX models come with it, and are kept by name.
    """

    def __init__(self, settings: Mapping[str, Any], cores: int) -> None:  # noqa: ARG002
        self._networks: OrderedDict[str, Evaluates] = OrderedDict()
        self_play(warm_network, SelfPlayParams(4, 4, 1.0, sizes=(SMALLEST,)), 0)  # kernels are compiled now

    def work(self, job: Mapping[str, Any], *models: bytes) -> dict[str, Any]:
        """A game of self-play, or the results of a rating match."""
        networks = [self._network(*named) for named in zip(job["networks"], models, strict=True)]
        if job["kind"] == SELF_PLAY:
            game, simulations = self_play(networks[0], job["style"], job["seed"])
            return {"kind": SELF_PLAY, "games": games_as_arrays([game]), "simulations": simulations}
        results = match((networks[0], networks[1]), job["size"], job["simulations"], job["seed"])
        return {"kind": MATCH, "networks": job["networks"], "results": results}

    def _network(self, name: str, model: bytes) -> Evaluates:
        if name not in self._networks:
            self._networks[name] = Evaluator(model)
        self._networks.move_to_end(name)
        while len(self._networks) > NETWORKS_KEPT:
            self._networks.popitem(last=False)
        return self._networks[name]


def warm_network(planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A network that knows nothing."""
    return np.zeros((len(planes), planes.shape[2] ** 2), np.float32), np.zeros(len(planes), np.float32)


def self_play_job(network: str, style: SelfPlayParams, seed: int) -> dict[str, Any]:
    """A self-play job."""
    return {"kind": SELF_PLAY, "networks": [network], "style": style, "seed": seed}


def match_job(networks: tuple[str, str], size: int, simulations: int, seed: int) -> dict[str, Any]:
    """A rating job: two games between two networks."""
    return {"kind": MATCH, "networks": list(networks), "size": size, "simulations": simulations, "seed": seed}

"""Games to learn from: their file format, the replay buffer of the latest ones, and batches of its positions.

A game is one line of JSON. Games of self-play and of other players have the same format:

    {"size": 15, "variant": "freestyle", "moves": "h8 i9 ...", "result": 1, "opening": 4, "visits": {"4": {"h9": 120}}}

`result` is for the first player: 1, 0 or -1. The first `opening` moves were random and are not learned. `visits` has
the visits of the search by ply. In a game without `visits`, the move played is the policy target. In a game with it, a
ply without an entry is used for the value only.
"""

import functools
import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.errors import BadMove
from plyd.engines.gomoku.board.board import Board, empty_board
from plyd.engines.gomoku.mcts.planes import IMAGES, PLANES, image_of, planes_of_games
from plyd.engines.gomoku.rules import LARGEST, SMALLEST, Rule, move_at, point_of
from plyd.models.errors import BadWeights

Policy = tuple[NDArray[np.int16], NDArray[np.float32]]  # cells, and the share of each

RULES_IN_FILES = list(Rule)  # a checkpoint stores indices into this list


@dataclass(slots=True)
class TrainingGame:
    """A game to learn from."""

    size: int
    moves: NDArray[np.int16]  # cells: row * size + column
    result: int  # for the first player
    opening: int = 0
    policies: dict[int, Policy] = field(default_factory=dict)  # by ply
    rule: Rule = Rule.FREESTYLE

    def plies(self) -> list[int]:
        """The plies to learn from."""
        return sorted({*range(self.opening, len(self.moves)), *self.policies})


def as_line(game: TrainingGame) -> str:
    """A game as a line of JSON."""

    def text(cell: int) -> str:
        return move_at(int(cell) // game.size, int(cell) % game.size, game.size)

    visits = {
        ply: {text(cell): round(float(share), 4) for cell, share in zip(*policy, strict=True)}
        for ply, policy in game.policies.items()
    }
    facts: dict[str, Any] = {"size": game.size, "variant": game.rule}
    facts |= {"moves": " ".join(text(cell) for cell in game.moves), "result": game.result, "opening": game.opening}
    return json.dumps(facts | {"visits": visits})


def game_of(line: str) -> TrainingGame:
    """The game of a line; raises BadWeights if it cannot be read."""
    try:
        facts = json.loads(line)
        size, result, opening = facts["size"], facts["result"], facts.get("opening", 0)
        if not (type(size) is int and SMALLEST <= size <= LARGEST):
            raise ValueError(f"its size is {size!r}; allowed is {SMALLEST} to {LARGEST}")
        if result not in (-1, 0, 1):
            raise ValueError(f"its result is {result!r}; results are 1, 0 and -1")
        moves = np.array([_cell(move, size) for move in facts["moves"].split()], np.int16)
        if len(set(moves.tolist())) != len(moves):
            raise ValueError("it plays on a point twice")
        if not (type(opening) is int and 0 <= opening <= len(moves)):
            raise ValueError(f"its opening is {opening!r}; allowed is 0 to {len(moves)}")
        game = TrainingGame(size, moves, int(result), opening, {}, Rule(facts.get("variant", Rule.FREESTYLE)))
        if "visits" in facts:
            game.policies = {int(ply): _policy(visits, size) for ply, visits in facts["visits"].items()}
        else:
            one = np.ones(1, np.float32)
            game.policies = {ply: (moves[ply : ply + 1], one) for ply in range(opening, len(moves))}
        if any(not 0 <= ply <= len(moves) for ply in game.policies):
            raise ValueError("it has visits for a ply that was not played")
    except (ValueError, KeyError, TypeError, AttributeError, BadMove) as error:
        raise BadWeights(f"not a game to learn from: {error}") from None
    return game


def read_games(path: Path, start: int = 0) -> tuple[list[TrainingGame], int]:
    """The games of a file, one per line, from byte `start` on; and the byte to continue from later."""
    games = []
    try:
        with path.open("rb") as file:
            file.seek(start)
            for line in file:
                if not line.endswith(b"\n"):  # still being written
                    break
                start += len(line)
                if line.strip():
                    games.append(game_of(line.decode()))
    except (BadWeights, UnicodeDecodeError) as error:
        raise BadWeights(f"{path}, before byte {start}: {error}") from None
    except OSError as error:
        raise BadWeights(f"cannot read {path}: {error.strerror}") from None
    return games, start


def _cell(move: str, size: int) -> int:
    row, column = point_of(move, size)
    return row * size + column


def _policy(visits: dict[str, float], size: int) -> Policy:
    shares = np.array(list(visits.values()), np.float32)
    if not shares.size or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
        raise ValueError(f"visits of {visits}")
    return np.array([_cell(move, size) for move in visits], np.int16), shares / shares.sum()


@dataclass(slots=True)
class Batch:
    """Positions to learn from, all on boards of one size."""

    planes: NDArray[np.uint8]  # (B, PLANES, size, size)
    policy: NDArray[np.float32]  # (B, size * size): sums to one, or to zero if there is none
    weight: NDArray[np.float32]  # (B,): 1 if there is a policy
    result: NDArray[np.float32]  # (B,): for the side to move


Kind = tuple[int, Rule]  # size of the board, and the rule
Place = tuple[TrainingGame, int]  # a position: its game, and its ply


class PlaceQueue:
    """Positions, the oldest first, any of which is found by its number; the oldest are removed in constant time."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._removed = 0  # at the beginning of the list

    def __len__(self) -> int:
        return len(self._places) - self._removed

    def __getitem__(self, number: int) -> Place:
        return self._places[self._removed + number]

    def add(self, game: TrainingGame) -> int:
        """Add the positions of a game; their number."""
        plies = game.plies()
        self._places += [(game, ply) for ply in plies]
        return len(plies)

    def remove(self, count: int) -> None:
        """Remove the oldest positions."""
        self._removed += count
        if 2 * self._removed > len(self._places):  # so that a removed position is moved at most once
            del self._places[: self._removed]
            self._removed = 0


class ReplayBuffer:
    """The latest games, up to a number of positions."""

    def __init__(self, positions: int) -> None:
        self.capacity = positions
        self.games: deque[TrainingGame] = deque()
        self.positions = 0
        self._counts: deque[int] = deque()  # positions of each game
        self._places: dict[Kind, PlaceQueue] = {}
        self._boards: dict[Kind, Board] = {}

    def add(self, games: Iterable[TrainingGame]) -> None:
        """Adds games, and removes the oldest ones if there are too many positions."""
        for game in games:
            self.games.append(game)
            self._counts.append(self._places.setdefault((game.size, game.rule), PlaceQueue()).add(game))
            self.positions += self._counts[-1]
        while self.positions > self.capacity and len(self.games) > 1:
            oldest, count = self.games.popleft(), self._counts.popleft()
            self._places[oldest.size, oldest.rule].remove(count)
            self.positions -= count

    def sample(self, count: int, rng: np.random.Generator) -> Batch:
        """Random positions of one random board size, each in one of its eight symmetries."""
        kinds = sorted(kind for kind, places in self._places.items() if places)
        shares = np.array([len(self._places[kind]) for kind in kinds], np.float64)
        size, rule = kind = kinds[rng.choice(len(kinds), p=shares / shares.sum())]
        places = self._places[kind]
        chosen = [places[i] for i in rng.integers(0, len(places), count).tolist()]
        images = rng.integers(0, IMAGES, count).astype(np.uint8)
        if kind not in self._boards:
            self._boards[kind] = empty_board(size, rule)
        return batch_of(self._boards[kind], size, chosen, images)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a checkpoint."""
        return games_as_arrays(self.games)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores the state that `arrays` returned."""
        self.games.clear()
        self._counts.clear()
        self._places.clear()
        self.positions = 0
        self.add(games_of_arrays(arrays))


def games_as_arrays(games: Iterable[TrainingGame]) -> dict[str, NDArray[Any]]:
    """Games as five arrays: for a checkpoint, and for the way from a player to the learner."""
    games = list(games)
    facts = [
        (game.size, game.result, game.opening, RULES_IN_FILES.index(game.rule), len(game.moves), len(game.policies))
        for game in games
    ]
    policies = [(ply, *policy) for game in games for ply, policy in game.policies.items()]
    none = np.zeros(0, np.int16)
    return {
        "games": np.array(facts, np.int16).reshape(-1, 6),
        "moves": np.concatenate([none, *(game.moves for game in games)]),
        "plies": np.array([(ply, len(cells)) for ply, cells, _ in policies], np.int16).reshape(-1, 2),
        "cells": np.concatenate([none, *(cells for _, cells, _ in policies)]),
        "shares": np.concatenate([none, *(shares for _, _, shares in policies)]).astype(np.float16),
    }


def games_of_arrays(arrays: dict[str, NDArray[Any]]) -> list[TrainingGame]:
    """The games that `games_as_arrays` turned into arrays."""
    move, policy, cell, games = 0, 0, 0, []
    all_shares = arrays["shares"].astype(np.float32)
    for size, result, opening, rule, moves, policies in arrays["games"].tolist():
        game = TrainingGame(size, arrays["moves"][move : move + moves], result, opening, {}, RULES_IN_FILES[rule])
        move += moves
        for ply, cells in arrays["plies"][policy : policy + policies].tolist():
            game.policies[ply] = (arrays["cells"][cell : cell + cells], all_shares[cell : cell + cells])
            cell += cells
        policy += policies
        games.append(game)
    return games


@functools.cache
def image_table(size: int) -> NDArray[np.int16]:
    """Where each cell is in each of a board's symmetries: (IMAGES, size * size)."""
    cells = [[image_of.py_func(cell, size, image) for cell in range(size * size)] for image in range(IMAGES)]
    return np.array(cells, np.int16)


def batch_of(board: Board, size: int, chosen: list[tuple[TrainingGame, int]], images: NDArray[np.uint8]) -> Batch:
    """A batch of positions, given by game and ply: planes and policy in the same symmetry."""
    count = len(chosen)
    plies = np.array([ply for _, ply in chosen], np.int32)
    moves = np.zeros((count, max(1, int(plies.max()))), np.int16)
    batch = Batch(
        np.zeros((count, PLANES, size, size), np.uint8),
        np.zeros((count, size * size), np.float32),
        np.zeros(count, np.float32),
        np.array([game.result * (1 if ply % 2 == 0 else -1) for game, ply in chosen], np.float32),
    )
    table = image_table(size)
    for i, (game, ply) in enumerate(chosen):
        moves[i, :ply] = game.moves[:ply]
        if ply in game.policies:
            cells, shares = game.policies[ply]
            batch.policy[i, table[images[i], cells]] = shares
            batch.weight[i] = 1
    planes_of_games(board, size, moves, plies, images, batch.planes)
    return batch

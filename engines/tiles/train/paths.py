"""Playing and learning apart from each other, in numba: a player writes the paths of its games, a learner reads them.

A path is the after-states and points of a game; `learn.py` explains how it is learned from.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import largest, store
from plyd.engines.tiles.ntuple.moves import drop, slide
from plyd.engines.tiles.ntuple.network import Shape, network_of
from plyd.engines.tiles.play.kernel import Pace, chosen_slide
from plyd.engines.tiles.search.expectimax import ExpectimaxLimit, ExpectimaxMemory, TileModel, search_of
from plyd.engines.tiles.train.learn import Method, Weights, learn_afters

RESULTS = 4  # of each path: points, moves, largest index, whether it is won


class PathView(NamedTuple):
    """The path of one game, by address; see `pointer_to`."""

    path: Any
    points: Any


class PathSpace(NamedTuple):
    """Where a player writes a path."""

    path: NDArray[np.uint64]  # (moves, words): after-states
    points: NDArray[np.float32]  # (moves,): of the slide to each
    seed: NDArray[np.uint64]  # (1,): state of the random generator


@njit(cache=True, nogil=True)
def play_path(
    model: TileModel,
    pace: Pace,
    method: Method,
    limit: ExpectimaxLimit,
    memory: ExpectimaxMemory,
    start: Any,
    is_new: bool,
    space: PathSpace,
    result: NDArray[np.int64],
) -> int:
    """Plays a game from an empty board, or on from an after-state; writes its path and RESULTS; returns its moves."""
    path, points, seed = pointer_to(space.path), pointer_to(space.points), pointer_to(space.seed)
    values = np.empty(4)
    board = drop(start, model.spawns, seed)
    if is_new:
        board = drop(board, model.spawns, seed)
    moves, score, is_won = 0, 0, False
    while moves < space.points.size and not is_won:
        memory.counts[1] += 1
        search = search_of(model, pace.policy, memory)
        best = chosen_slide(board, pace, limit, search, values)
        if best < 0:
            break
        after, gained = slide(board, best, search.slides)
        store(path, moves, after)
        points[moves] = gained
        score += gained
        moves += 1
        is_won = method.goal > 0 and gained >= method.goal_points and largest(after) >= method.goal
        board = drop(after, model.spawns, seed)
    result[0], result[1], result[2], result[3] = score, moves, largest(board), is_won
    return moves


@njit(cache=True, nogil=True)
def learn_paths(
    path: NDArray[np.uint64],
    points: NDArray[np.float32],
    results: NDArray[np.int64],
    like: Any,
    weights: Weights,
    sums: Weights,
    shape: Shape,
    method: Method,
    scratch: NDArray[np.uint64],
) -> None:
    """Learns from paths that lie one after another; `results` is (paths, RESULTS)."""
    net, sums_at = network_of(weights, shape, scratch), pointer_to(sums)
    first = 0
    for i in range(len(results)):
        moves = results[i, 1]
        end = method.bonus if results[i, 3] else np.float32(0)
        view = PathView(pointer_to(path[first:]), pointer_to(points[first:]))
        learn_afters(like, 0, moves, end, net, sums_at, method, view)
        first += moves

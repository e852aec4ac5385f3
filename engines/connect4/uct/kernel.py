"""Plain UCT, in numba: tree search with random playouts, a baseline for the other searches.

Knows only the rules: no threats, no proofs, no transpositions. The search descends to the child with the highest

    wins / visits + c * sqrt(2 * ln(parent's visits) / visits)

until it reaches a node with an untried move. It picks one of these at random and plays a blind playout from there.
"""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.board import has_four, playable
from plyd.engines.connect4.graph.kernel import DONE, LONGEST, OUT_OF_TIME, POLL, TOLD_TO_STOP, GraphLimit
from plyd.engines.connect4.playout import DRAW, LOSS, WIN, blind_playout, next_random
from plyd.engines.core.intrinsics import count_bits, is_raised, lowest_bit_index, monotonic_ns, nth_bit_index
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros
from plyd.engines.core.simd import load, only_lane, used_lanes

ROOT = 0


class UctTree(NamedTuple):
    """Nodes, the root first; child 0 means none."""

    size: NDArray[np.int64]  # (1,): nodes in use
    child: NDArray[np.int32]  # (n, columns)
    visits: NDArray[np.int32]  # (n,)
    points: NDArray[np.int64]  # (n,): half points of the side that moved to the node
    random: NDArray[np.uint64]  # (1,)
    deepest: NDArray[np.int64]  # (1,): plies of the longest simulation


def tree_for(nodes: int, columns: int, seed: int) -> UctTree:
    """A tree with only a root."""
    return UctTree(
        np.ones(1, np.int64),
        dense_zeros(nodes * columns, np.int32).reshape(nodes, columns),
        dense_zeros(nodes, np.int32),
        dense_zeros(nodes, np.int64),
        np.array([seed], np.uint64),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def grow(tree: UctTree, board: Any, c_puct: float, limit: GraphLimit) -> tuple[int, int]:
    """Simulate until a limit is reached: the reason and the number of simulations. A full tree stops growing."""
    root_mine, root_yours, root_taken, ones = load(board, 0), load(board, 1), load(board, 2), load(board, 4)
    path = np.empty(LONGEST, np.int32)
    random = tree.random[0]
    count, reason = 0, DONE
    while count < limit.simulations:
        if count & POLL == POLL:
            if is_raised(limit.stop):
                reason = TOLD_TO_STOP
                break
            if monotonic_ns() >= limit.deadline_ns:
                reason = OUT_OF_TIME
                break
        mine, yours, taken = root_mine, root_yours, root_taken
        path[0] = ROOT
        depth, result = 0, -1  # result in half points for the side to move at the end of the path
        while result < 0:
            node = path[depth]
            cells = playable(taken, ones)
            column, child = pick(tree, node, used_lanes(cells), c_puct, random)
            random = next_random(random)
            if column < 0:
                result = DRAW
                break
            if child == 0 and tree.size[0] < tree.visits.size:
                child = tree.size[0]
                tree.size[0] += 1
                tree.child[node, column] = child
            move = only_lane(cells, column)
            mine, yours, taken = yours, mine | move, taken | move
            if child == 0:  # the tree is full: play out from here
                result, random = (LOSS, random) if has_four(yours) else blind_playout(mine, yours, taken, ones, random)
                result = WIN - result
                break
            depth += 1
            path[depth] = child
            if has_four(yours):
                result = LOSS
            elif tree.visits[child] == 0:
                result, random = blind_playout(mine, yours, taken, ones, random)
        tree.deepest[0] = max(tree.deepest[0], depth)
        for i in range(depth, -1, -1):
            result = WIN - result
            tree.visits[path[i]] += 1
            tree.points[path[i]] += result
        count += 1
    tree.random[0] = random
    return reason, count


@njit(cache=True, nogil=True)
def pick(tree: UctTree, node: int, lanes: np.uint64, c_puct: float, random: np.uint64) -> tuple[int, int]:
    """A column and its child: a random untried column, else the one with the highest UCT score; -1 if all are full."""
    untried, best, best_child, best_score = np.uint64(0), -1, 0, -1.0
    spread = 2.0 * log(max(1.0, tree.visits[node]))
    rest = lanes
    while rest != np.uint64(0):
        column = lowest_bit_index(rest)
        rest &= rest - np.uint64(1)
        child = tree.child[node, column]
        if child == 0 or tree.visits[child] == 0:
            untried |= np.uint64(1) << np.uint64(column)
        elif untried == np.uint64(0):
            n = tree.visits[child]
            score = 0.5 * tree.points[child] / n + c_puct * sqrt(spread / n)
            if score > best_score:
                best, best_child, best_score = column, child, score
    if untried != np.uint64(0):
        n = ((random >> np.uint64(32)) * np.uint64(count_bits(untried))) >> np.uint64(32)
        column = nth_bit_index(untried, np.int64(n))
        return column, tree.child[node, column]
    return best, best_child

"""The nodes of the MCTS tree: their fields, backpropagation of values and proofs, and the order of children.

A node is a position; its children are contiguous, highest prior first. Sums are for the side that moved to the node, so
that a parent reads them without a change of sign; a status is for the side to move at the node:

    total / visits    value of the move for the side that played it, from -1 (loss) to 1 (win); 0 is a draw
    status LOSS       the side to move loses, so the move to the node wins
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit

OPEN, WIN, LOSS, DRAW, FAIL = range(5)
IS_EXPANDED, IS_WHOLE = 1, 2  # flags: has children; has all children that matter
NO_CHILD = -1
MOST_MOVES = 400
UNKNOWN_PLIES = 99  # plies of a proven win of unknown length
ROOT, USED, SIMULATIONS, DEEPEST = range(4)  # indices in a tree's state
NODE = np.dtype(
    [
        ("total", np.float64),
        ("prior", np.float32),
        ("visits", np.int32),
        ("virtual_loss", np.int32),
        ("first", np.int32),  # index of its first child
        ("count", np.int16),
        ("point", np.int16),  # point of the move that led to this position
        ("reply", np.int16),  # a winning move, if known without children
        ("plies", np.int16),  # plies to the end, if decided
        ("status", np.uint8),
        ("flags", np.uint8),
        ("padding", np.uint16),
    ],
    align=True,
)


def plant(nodes: Any, state: NDArray[np.int64]) -> None:
    """Reset the tree to a root alone."""
    nodes[0] = np.zeros(1, NODE)[0]
    nodes[0]["first"] = NO_CHILD
    state[:] = (0, 1, 0, 0)


@njit(inline="always")
def value_of(status: int) -> float:
    """Value of a decided position for the side to move."""
    return 1.0 if status == WIN else -1.0 if status == LOSS else 0.0


@njit(inline="always")
def propagate_proof(nodes: Any, index: int, child: int) -> None:
    """Propagate a child's proven result to its parent."""
    if nodes[index].status != OPEN:
        return
    if nodes[child].status == LOSS:
        nodes[index].status, nodes[index].plies = WIN, nodes[child].plies + 1
        nodes[index].reply = nodes[child].point
        return
    longest, is_draw = 0, False
    for i in range(nodes[index].first, nodes[index].first + nodes[index].count):
        if nodes[i].status == OPEN:
            return
        longest = max(longest, nodes[i].plies)
        is_draw |= nodes[i].status == DRAW
    if nodes[index].flags & IS_WHOLE:
        nodes[index].status, nodes[index].plies = DRAW if is_draw else LOSS, longest + 1


@njit(nogil=True)
def backpropagate(nodes: Any, path: Any, depth: int, value: float, waited: int) -> None:
    """Add a leaf's value, for the side to move there, to all nodes up to the root; `waited` is its virtual loss."""
    for i in range(depth, -1, -1):
        index = path[i]
        if nodes[index].status != OPEN:
            value = value_of(nodes[index].status)
        nodes[index].total -= value
        nodes[index].visits += 1
        nodes[index].virtual_loss -= waited
        if i > 0 and nodes[index].status != OPEN:
            propagate_proof(nodes, path[i - 1], index)
        value = -value


@njit(nogil=True)
def add_child(nodes: Any, state: Any, point: int, prior: float) -> None:
    """Append a child to the node that was expanded last."""
    child = nodes[state[USED]]
    child.total, child.prior, child.visits, child.virtual_loss = 0.0, prior, 0, 0
    child.first, child.count, child.point, child.reply = NO_CHILD, 0, point, 0
    child.plies, child.status, child.flags = 0, OPEN, 0
    state[USED] += 1


@njit(cache=True, nogil=True)
def transplant(nodes: Any, state: Any, target: Any, most: int, fewest: int) -> bool:
    """Copy the root's subtree to another array, where the root comes first; whether `most` nodes were enough.

    Below the root, a node with fewer than `fewest` visits loses its children: it is a leaf again, with its visits.
    """
    target[0] = nodes[state[ROOT]]
    used, at = 1, 0
    while at < used:
        node = target[at]
        if node.flags & IS_EXPANDED:
            if at > 0 and node.visits < fewest:
                node.first, node.count, node.flags = NO_CHILD, 0, 0
            elif used + node.count > most:
                return False
            else:
                first, node.first = node.first, used
                for i in range(node.count):
                    target[used] = nodes[first + i]
                    used += 1
        at += 1
    state[ROOT], state[USED] = 0, used
    return True


def order(children: Any) -> Any:
    """Children, best first: proven wins (shortest first), then by visits, then proven losses (longest first).

    A proven draw comes before the open children, unless the most visited of them has a value above a draw.
    """
    status, visits = children["status"], children["visits"].astype(np.int64)
    plies = children["plies"].astype(np.int64)
    rank = np.where(status == LOSS, 2_000_000_000 - plies, visits)  # the opponent, to move there, has lost
    rank = np.where(status == WIN, plies - 1_000_000, rank)
    if np.any(status == DRAW):
        most = children[np.argmax(np.where(status == OPEN, visits, -1))]
        is_good = most["status"] == OPEN and most["visits"] > 0 and most["total"] > 0
        rank = np.where(status == DRAW, -1 if is_good else 1_000_000_000, rank)
    return children[np.lexsort((-children["prior"], -rank))]

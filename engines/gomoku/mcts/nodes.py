"""The nodes of an MCTS: what is kept of a position, how values and what is certain go up, which child is best.

A node is a position; its children lie side by side, the likeliest first. Sums are for who made the move into a node, so
that a parent reads them as they are; a status is for who is to move at it:

    total / visits    what the move is worth to who made it, from -1 (lost) to 1 (won); 0 is a draw
    status LOSS       who is to move is lost: so the move into the node wins
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit

OPEN, WIN, LOSS, DRAW, FAIL = range(5)
IS_EXPANDED, IS_WHOLE = 1, 2  # flags: has children; and has all that matter
NO_CHILD = -1
MOST_MOVES = 400
UNKNOWN_PLIES = 99  # of a win that was proven, but not played out
ROOT, USED, SIMULATIONS, DEEPEST = range(4)  # items of a tree's state
NODE = np.dtype(
    [
        ("total", np.float64),
        ("prior", np.float32),
        ("visits", np.int32),
        ("virtual_loss", np.int32),
        ("first", np.int32),  # of its children
        ("count", np.int16),
        ("point", np.int16),  # where the stone went that made this position
        ("reply", np.int16),  # a point that wins, if known without children
        ("plies", np.int16),  # until the end, if decided
        ("status", np.uint8),
        ("flags", np.uint8),
        ("padding", np.uint16),
    ],
    align=True,
)


def plant(nodes: Any, state: NDArray[np.int64]) -> None:
    """Begin with nothing but a root."""
    nodes[0] = np.zeros(1, NODE)[0]
    nodes[0]["first"] = NO_CHILD
    state[:] = (0, 1, 0, 0)


@njit(inline="always")
def value_of(status: int) -> float:
    """What a decided position is worth to who is to move."""
    return 1.0 if status == WIN else -1.0 if status == LOSS else 0.0


@njit(inline="always")
def propagate_proof(nodes: Any, index: int, child: int) -> None:
    """Carry what is certain of a child up to its parent."""
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
    """Append a child to those that the last node with children has."""
    child = nodes[state[USED]]
    child.total, child.prior, child.visits, child.virtual_loss = 0.0, prior, 0, 0
    child.first, child.count, child.point, child.reply = NO_CHILD, 0, point, 0
    child.plies, child.status, child.flags = 0, OPEN, 0
    state[USED] += 1


@njit(cache=True, nogil=True)
def transplant(nodes: Any, state: Any, root: int, target: Any) -> None:
    """Copy what grows from a node to another array, where that node is the root."""
    target[0] = nodes[root]
    used, at = 1, 0
    while at < used:
        if target[at].flags & IS_EXPANDED:
            first = target[at].first
            target[at].first = used
            for i in range(target[at].count):
                target[used] = nodes[first + i]
                used += 1
        at += 1
    state[ROOT], state[USED] = 0, used


def order(children: Any) -> Any:
    """Children, the best first: sure wins by the shortest way, then by visits, then losses by the longest way.

    A draw is better than what is most visited if that is worth less.
    """
    status, visits = children["status"], children["visits"].astype(np.int64)
    plies = children["plies"].astype(np.int64)
    rank = np.where(status == LOSS, 2_000_000_000 - plies, visits)  # who is to move there is lost
    rank = np.where(status == WIN, plies - 1_000_000, rank)
    if np.any(status == DRAW):
        most = children[np.argmax(np.where(status == OPEN, visits, -1))]
        is_good = most["status"] == OPEN and most["visits"] > 0 and most["total"] > 0
        rank = np.where(status == DRAW, -1 if is_good else 1_000_000_000, rank)
    return children[np.lexsort((-children["prior"], -rank))]

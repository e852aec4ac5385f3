"""Memory of the graph of positions: nodes in arrays, found by hash key, and recycled when the graph is full.

The address space of a graph is reserved once, at its full size. A new graph is all zeros, so the system commits memory
only as it is used: nothing is copied or resized during a search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import is_raised, take_number
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros, sparse_zeros

NONE = 0  # null node; its slot in the arrays is unused
PROBES = 32  # index slots that are searched for a key (linear probing)
POLL = 4095
LIST_BYTES = 20  # upper bound of a node's bytes in the index and in lists


NODE = np.dtype(
    [
        ("key", np.uint64),
        ("own", np.float32),  # result of the node's playout
        ("weight", np.int32),  # weight of `own`, in visits
        ("value", np.float32),
        ("plies", np.int16),  # plies to the end of the game, by the moves that proved the result
        ("status", np.int8),  # OPEN, WIN, DRAW or LOSS
        ("degree", np.int8),  # number of edges
    ],
    align=True,
)
EDGE = np.dtype(
    [
        ("child", np.int32),  # node after the move, NONE if not expanded
        ("visits", np.int32),
        ("value", np.float32),
        ("prior", np.float32),
        ("virtual_loss", np.int16),  # simulations in progress
        ("column", np.int8),  # column of the move
        ("proven_result", np.int8),  # OPEN, WIN, DRAW or LOSS
    ],
    align=True,
)


class Graph(NamedTuple):
    """Nodes and their edges: n nodes, each with space for one edge per column."""

    index: NDArray[np.int32]  # (power of two,): hash index of nodes by key; NONE: free slot
    free: NDArray[np.int32]  # (n - 1,): the nodes in use; from `taken` on, the free ones, where NONE at i means i + 1
    taken: NDArray[np.int64]  # (1,): nodes in use; exceeds n - 1 if nodes were requested when full
    nodes: NDArray[np.void]  # (n,) of NODE
    edges: NDArray[np.void]  # (n, columns) of EDGE, highest prior first


def graph_for(nodes: int, columns: int) -> Graph:
    """An empty graph."""
    return Graph(
        index=sparse_zeros(1 << (2 * nodes - 1).bit_length(), np.int32),
        free=dense_zeros(nodes - 1, np.int32),
        taken=np.zeros(1, np.int64),
        nodes=dense_zeros(nodes, NODE),
        edges=dense_zeros(nodes * columns, EDGE).reshape(nodes, columns),
    )


def nodes_within(megabytes: float, columns: int) -> int:
    """Number of nodes of a graph of this size in memory."""
    return int(megabytes * (1 << 20) / (NODE.itemsize + EDGE.itemsize * columns + LIST_BYTES))


@njit(cache=True, nogil=True)
def take_node(graph: Graph) -> int:
    """A free node, or NONE if the graph is full."""
    number = take_number(graph.taken)
    if number >= graph.free.size:
        return NONE
    node = graph.free[number]
    return node if node != NONE else number + 1


@njit(cache=True, nogil=True)
def find(graph: Graph, key: np.uint64) -> int:
    """The node of a position, or NONE."""
    mask = graph.index.size - 1
    place = np.int64(key & np.uint64(mask))
    for i in range(PROBES):
        node = graph.index[(place + i) & mask]
        if node == NONE or graph.nodes[node].key == key:
            return node
    return NONE


@njit(cache=True, nogil=True)
def enlist(graph: Graph, node: int) -> None:
    """Add a node to the index; if no slot is free, only its edges lead to it."""
    mask = graph.index.size - 1
    place = np.int64(graph.nodes[node].key & np.uint64(mask))
    for i in range(PROBES):
        if graph.index[(place + i) & mask] == NONE:
            graph.index[(place + i) & mask] = node
            return


@njit(cache=True, nogil=True)
def recycle(graph: Graph, root: int, most: int, stop: NDArray[np.uint8]) -> int:
    """Keep the most visited nodes below the root, at most `most`; returns their number, or NONE if stopped.

    An edge whose node is dropped keeps its visits and value; a new node there takes them over.
    """
    size = graph.nodes.size
    is_kept, kept = np.zeros(size, np.bool_), np.empty(most, np.int32)
    fewest = 1  # minimum visits of an edge for its node to be kept
    while True:
        is_kept[:] = False
        is_kept[root] = True
        kept[0], count, done = root, 1, 0
        while done < count and count < most:
            node = kept[done]
            done += 1
            if done & POLL == POLL and is_raised(stop):
                return NONE
            for e in range(graph.nodes[node].degree):
                child = graph.edges[node, e].child
                if child != NONE and graph.edges[node, e].visits >= fewest and not is_kept[child] and count < most:
                    is_kept[child] = True
                    kept[count] = child
                    count += 1
        if count < most:
            break
        fewest *= 2
    for node in kept[:count]:
        for e in range(graph.nodes[node].degree):
            child = graph.edges[node, e].child
            if child != NONE and not is_kept[child]:
                graph.edges[node, e].child = NONE
    graph.index[:] = NONE
    for node in kept[:count]:
        enlist(graph, node)
    graph.free[:count] = kept[:count]
    place = count
    for node in range(1, size):
        if not is_kept[node]:
            graph.free[place] = node
            place += 1
    graph.taken[0] = count
    return count

"""Where the graph of positions is kept: nodes in arrays, found by key, and taken back when they are needed anew."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from plyd.engines.core.machine import is_raised

NONE = -1
PROBES = 32  # slots of the index that a key may be in, from its own on
FIXED_BYTES, EDGE_BYTES = 48, 20  # of a node, and of each of its edges, index and lists included
POLL = 4095


class Graph(NamedTuple):
    """Nodes and their edges: n nodes, each with room for as many edges as the board has columns."""

    index: NDArray[np.int32]  # (power of two,): nodes by key, NONE where there is none
    free: NDArray[np.int32]  # (n,): nodes not in use, from `taken` on
    taken: NDArray[np.int64]  # (1,): how many of `free` have been taken
    key: NDArray[np.uint64]  # (n,)
    status: NDArray[np.int8]  # (n,): OPEN, WIN, DRAW or LOSS
    plies: NDArray[np.int16]  # (n,): to the end of a decided game by the moves that decided it
    degree: NDArray[np.int8]  # (n,): edges
    own: NDArray[np.float32]  # (n,): result of the node's playout
    weight: NDArray[np.int32]  # (n,): of `own`, in visits
    value: NDArray[np.float32]  # (n,)
    column: NDArray[np.int8]  # (n, columns): the edges' moves, likeliest first
    child: NDArray[np.int32]  # (n, columns): where they lead, NONE if nobody went there
    visits: NDArray[np.int32]  # (n, columns)
    pending: NDArray[np.int16]  # (n, columns): walks under way
    fate: NDArray[np.int8]  # (n, columns): OPEN, WIN, DRAW or LOSS
    worth: NDArray[np.float32]  # (n, columns)
    prior: NDArray[np.float32]  # (n, columns)


def graph_for(nodes: int, columns: int) -> Graph:
    """An empty graph."""
    edges = (nodes, columns)
    return Graph(
        index=np.full(1 << (2 * nodes - 1).bit_length(), NONE, np.int32),
        free=np.arange(nodes, dtype=np.int32),
        taken=np.zeros(1, np.int64),
        key=np.zeros(nodes, np.uint64),
        status=np.zeros(nodes, np.int8),
        plies=np.zeros(nodes, np.int16),
        degree=np.zeros(nodes, np.int8),
        own=np.zeros(nodes, np.float32),
        weight=np.zeros(nodes, np.int32),
        value=np.zeros(nodes, np.float32),
        column=np.zeros(edges, np.int8),
        child=np.zeros(edges, np.int32),
        visits=np.zeros(edges, np.int32),
        pending=np.zeros(edges, np.int16),
        fate=np.zeros(edges, np.int8),
        worth=np.zeros(edges, np.float32),
        prior=np.zeros(edges, np.float32),
    )


def nodes_within(megabytes: float, columns: int) -> int:
    """How many nodes such a graph may have."""
    return int(megabytes * (1 << 20) / (FIXED_BYTES + EDGE_BYTES * columns))


def enlarged(graph: Graph, nodes: int) -> Graph:
    """A larger graph with everything that this one holds."""
    old = graph.key.size
    larger = graph_for(nodes, graph.child.shape[1])
    for before, after in zip(graph[3:], larger[3:], strict=True):
        after[:old] = before
    larger.free[:old] = graph.free
    larger.taken[0] = min(graph.taken[0], old)
    reindex(larger, larger.free[: larger.taken[0]])
    return larger


@njit(cache=True, nogil=True)
def find(graph: Graph, key: np.uint64) -> int:
    """The node of a position, or NONE."""
    mask = graph.index.size - 1
    place = np.int64(key & np.uint64(mask))
    for i in range(PROBES):
        node = graph.index[(place + i) & mask]
        if node == NONE or graph.key[node] == key:
            return node
    return NONE


@njit(cache=True, nogil=True)
def enlist(graph: Graph, node: int) -> None:
    """Let a node be found by its key; one that no slot is left for is only found by its edges."""
    mask = graph.index.size - 1
    place = np.int64(graph.key[node] & np.uint64(mask))
    for i in range(PROBES):
        if graph.index[(place + i) & mask] == NONE:
            graph.index[(place + i) & mask] = node
            return


@njit(cache=True, nogil=True)
def reindex(graph: Graph, nodes: NDArray[np.int32]) -> None:
    """Let these nodes, and no others, be found."""
    graph.index[:] = NONE
    for node in nodes:
        enlist(graph, node)


@njit(cache=True, nogil=True)
def recycle(graph: Graph, root: int, most: int, stop: NDArray[np.uint8]) -> int:
    """Keep what was visited most below the root, at most so many nodes; how many, or NONE if told to stop meanwhile.

    An edge whose node is given up keeps its visits and its worth; a new node takes them over.
    """
    size = graph.key.size
    is_kept, kept = np.zeros(size, np.bool_), np.empty(most, np.int32)
    fewest = 1  # visits of an edge whose node is kept
    while True:
        is_kept[:] = False
        is_kept[root] = True
        kept[0], count, done = root, 1, 0
        while done < count and count < most:
            node = kept[done]
            done += 1
            if done & POLL == POLL and is_raised(stop):
                return NONE
            for e in range(graph.degree[node]):
                child = graph.child[node, e]
                if child != NONE and graph.visits[node, e] >= fewest and not is_kept[child] and count < most:
                    is_kept[child] = True
                    kept[count] = child
                    count += 1
        if count < most:
            break
        fewest *= 2
    for node in kept[:count]:
        for e in range(graph.degree[node]):
            child = graph.child[node, e]
            if child != NONE and not is_kept[child]:
                graph.child[node, e] = NONE
    reindex(graph, kept[:count])
    graph.free[:count] = kept[:count]
    place = count
    for node in range(size):
        if not is_kept[node]:
            graph.free[place] = node
            place += 1
    graph.taken[0] = count
    return count

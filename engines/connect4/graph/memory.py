"""Memory of the graph of positions: nodes in arrays, found by hash key, and recycled when the graph is full.

The address space of a graph is reserved once, at its full size. A new graph is all zeros, so the system commits memory
only as it is used: nothing is copied or resized during a search.

Every node has a generation. Recycling marks the nodes to keep with a new one, and all older nodes are free at once,
without a visit to any of them: its time depends on what is kept, not on the size of the graph. A node that is taken
anew leaves a stale entry in the index, which a later node overwrites.

    generation   3 5 5 4 5 ...      oldest in use: 5
    node         1 2 3 4 5 ...      1 and 4 are free; `take_node` finds them in this order
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import is_raised, monotonic_ns, publish, take_number
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros, sparse_zeros

NONE = 0  # null node; its slot in the arrays is unused
PROBES = 32  # index slots that are searched for a key (linear probing)
POLL = 1023
LIST_BYTES = 36  # upper bound of a node's bytes in the index and in `generation`
OLDEST, NEWEST, KEPT = 0, 1, 2
NODE_BITS, TAG_BITS = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFF << 32)


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

    index: NDArray[np.uint64]  # (power of two,): hash index by key; the upper half of a key + the node; NONE: free slot
    generation: NDArray[np.int32]  # (n,): a node is in use if its generation is not before the oldest
    taken: NDArray[np.int64]  # (1,): nodes looked at by `take_node` since the last recycling; n - 1 or more: full
    state: NDArray[np.int64]  # (3,): oldest generation in use, newest generation, nodes kept by the last recycling
    nodes: NDArray[np.void]  # (n,) of NODE
    edges: NDArray[np.void]  # (n, columns) of EDGE, highest prior first


def graph_for(nodes: int, columns: int) -> Graph:
    """An empty graph."""
    return Graph(
        index=sparse_zeros(1 << (2 * nodes - 1).bit_length(), np.uint64),
        generation=dense_zeros(nodes, np.int32),
        taken=np.zeros(1, np.int64),
        state=np.array([1, 1, 0]),
        nodes=dense_zeros(nodes, NODE),
        edges=dense_zeros(nodes * columns, EDGE).reshape(nodes, columns),
    )


def nodes_within(megabytes: float, columns: int) -> int:
    """Number of nodes of a graph of this size in memory."""
    return int(megabytes * (1 << 20) / (NODE.itemsize + EDGE.itemsize * columns + LIST_BYTES))


def room_in(graph: Graph) -> int:
    """About how many nodes can be taken before the graph is full."""
    size = graph.nodes.size - 1
    rest = max(0, size - int(graph.taken[0]))
    return rest - rest * int(graph.state[KEPT]) // size  # the kept ones are spread over all


def forget_all(graph: Graph) -> None:
    """Free every node."""
    graph.state[NEWEST] += 1
    graph.state[OLDEST], graph.state[KEPT], graph.taken[0] = graph.state[NEWEST], 0, 0


@njit(cache=True, nogil=True)
def take_node(graph: Graph) -> int:
    """A free node, or NONE if the graph is full. It is not in use before `enlist`."""
    while True:
        number = take_number(graph.taken)
        if number >= graph.nodes.size - 1:
            return NONE
        if graph.generation[number + 1] < graph.state[OLDEST]:
            return number + 1


@njit(cache=True, nogil=True)
def find(graph: Graph, key: np.uint64) -> int:
    """The node of a position, or NONE."""
    mask = graph.index.size - 1
    place = np.int64(key & np.uint64(mask))
    for i in range(PROBES):
        entry = graph.index[(place + i) & mask]
        if entry == np.uint64(NONE):
            return NONE
        if (entry ^ key) & TAG_BITS == np.uint64(0):
            node = np.int64(entry & NODE_BITS)
            if graph.nodes[node].key == key and graph.generation[node] >= graph.state[OLDEST]:
                return node
    return NONE


@njit(cache=True, nogil=True)
def enlist(graph: Graph, node: int) -> None:
    """Put a node into use and into the index; if no slot is free, only its edges lead to it."""
    publish(graph.generation, node, np.int32(graph.state[NEWEST]))  # not before its key is written
    key = graph.nodes[node].key
    mask = graph.index.size - 1
    place = np.int64(key & np.uint64(mask))
    for i in range(PROBES):
        slot = (place + i) & mask
        if graph.index[slot] == np.uint64(NONE) or is_stale(graph, graph.index[slot]):
            graph.index[slot] = key & TAG_BITS | np.uint64(node)
            return


@njit(cache=True, nogil=True)
def is_stale(graph: Graph, entry: np.uint64) -> bool:
    """Whether an index entry is of a node that is free, or that was taken for another position."""
    node = np.int64(entry & NODE_BITS)
    if graph.generation[node] < graph.state[OLDEST]:
        return True
    return (graph.nodes[node].key ^ entry) & TAG_BITS != np.uint64(0)


@njit(cache=True, nogil=True)
def recycle(graph: Graph, root: int, most: int, stop: NDArray[np.uint8], deadline_ns: int) -> int:
    """Keep the most visited nodes below the root, fewer than `most`; returns their number, or NONE if it was stopped or
    the deadline came first: then all nodes are still in use.

    An edge whose node is dropped keeps its visits and value; a new node there takes them over.
    """
    kept = np.empty(most, np.int32)
    fewest = 1  # minimum visits of an edge for its node to be kept
    while True:
        # Step 1. Mark the nodes to keep with a new generation, from the root downwards.
        graph.state[NEWEST] += 1
        mark = np.int32(graph.state[NEWEST])
        graph.generation[root] = mark
        kept[0], count, done = root, 1, 0
        while done < count and count < most:
            if done & POLL == POLL and (is_raised(stop) or monotonic_ns() >= deadline_ns):
                return NONE
            node = kept[done]
            done += 1
            for e in range(graph.nodes[node].degree):
                child = graph.edges[node, e].child
                is_new = child != NONE and graph.generation[child] != mark
                if is_new and graph.edges[node, e].visits >= fewest and count < most:
                    graph.generation[child] = mark
                    kept[count] = child
                    count += 1
        if count < most:
            break
        fewest *= 2  # too many

    # Step 2. Detach the others. A node that is detached too early, before a stop, is found again by its key.
    for i in range(count):
        if i & POLL == POLL and (is_raised(stop) or monotonic_ns() >= deadline_ns):
            return NONE
        for e in range(graph.nodes[kept[i]].degree):
            child = graph.edges[kept[i], e].child
            if child != NONE and graph.generation[child] != mark:
                graph.edges[kept[i], e].child = NONE

    # Step 3. From here on, everything older is free.
    graph.state[OLDEST], graph.state[KEPT], graph.taken[0] = mark, count, 0
    return count

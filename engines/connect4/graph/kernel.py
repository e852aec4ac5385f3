"""The search graph of positions, in numba: select, play out, backpropagate.

A node is a position, whichever moves led to it; an edge is a move. A node's value is for its side to move, from 0
(loss) to 1 (win); an edge's value is for the side that plays the move:

    node   value = (own * weight + sum of visits * value over its edges) / (weight + sum of visits)
    edge   value = 1 - value of the node it leads to, at the last visit of the edge

`own` is the result of the node's playout. A node's value is recomputed from its edges at each visit. So positions
reached by several lines count for all of them, and a race between two threads does no lasting harm.

Results are proven where possible: a node can be a proven WIN, LOSS or DRAW, and an edge with a proven result is never
visited again. Moves that let the opponent win at once have no edge.
"""

from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.board import DRAW, LOSS, OPEN, WIN, glance, key_of, playable, winning_cells
from plyd.engines.connect4.graph.features import WEIGHTS, look_at
from plyd.engines.connect4.graph.memory import NONE, Graph, enlist, find, take_node
from plyd.engines.connect4.playout import playout
from plyd.engines.core.intrinsics import is_raised, lowest_bit_index, monotonic_ns
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import Lanes, lane_of, load, only_lane, used_lanes

DONE, OUT_OF_TIME, OUT_OF_ROOM, TOLD_TO_STOP, DECIDED = range(5)  # why `search_slice` returned
LONGEST = 256  # maximum plies of a simulation
POLL = 15  # simulations between polls of clock and stop flag, a power of two minus one


class GraphParams(NamedTuple):
    """Parameters of move selection."""

    c_puct: np.float64  # exploration constant of PUCT
    playouts: np.int64  # number of playouts of a new node
    fpu_reduction: np.float64  # an unvisited move starts at the node's value less this * sqrt(visited prior)
    weights: NDArray[np.float32]  # (features,): log-odds of a move per unit of each feature
    lines: NDArray[np.float32]  # (256,): lines of four through cell 16 * column + row, as a share of the maximum


class GraphWorkspace(NamedTuple):
    """One thread's memory for its simulations."""

    node: NDArray[np.int32]  # (LONGEST,)
    edge: NDArray[np.int8]  # (LONGEST,)
    rest_sum: NDArray[np.float64]  # (LONGEST,): sum of visits * value over the other edges
    rest_visits: NDArray[np.int64]  # (LONGEST,): visits of the other edges
    floor: NDArray[np.float64]  # (LONGEST,): proven lower bound of the value for the side to move
    seen: NDArray[np.float32]  # (features,): features of the current move
    random: NDArray[np.uint64]  # (1,)


class GraphLimit(NamedTuple):
    """When `search_slice` returns."""

    deadline_ns: np.int64
    simulations: np.int64
    stop: NDArray[np.uint8]
    waits_for_room: bool  # return when the graph is full, instead of going on without new nodes


def workspace_for(seed: int) -> GraphWorkspace:
    """A workspace for one thread."""
    return GraphWorkspace(
        np.zeros(LONGEST, np.int32),
        np.zeros(LONGEST, np.int8),
        np.zeros(LONGEST),
        np.zeros(LONGEST, np.int64),
        np.zeros(LONGEST),
        np.zeros(len(WEIGHTS), np.float32),
        np.array([seed], np.uint64),
    )


@njit(cache=True, nogil=True)
def add_node(
    graph: Graph,
    params: GraphParams,
    seen: Any,
    key: np.uint64,
    mine: Lanes,
    yours: Lanes,
    taken: Lanes,
    below: Lanes,
    ones: Lanes,
) -> int:
    """A new node with its edges, already decided if `glance` decides it; NONE if the graph is full."""
    index = take_node(graph)
    if index == NONE:
        return NONE
    node, edges = graph.nodes[index], graph.edges[index]
    node.key, node.own, node.weight, node.value, node.degree = key, 0.5, 0, 0.5, 0
    my_wins, your_wins = winning_cells(mine) & ~taken, winning_cells(yours) & ~taken
    node.status, node.plies, moves = glance(playable(taken, ones), my_wins, your_wins, below)
    lanes, total = used_lanes(moves), 0.0
    while node.status == OPEN and lanes != np.uint64(0):
        column = lowest_bit_index(lanes)
        lanes &= lanes - np.uint64(1)
        move = only_lane(moves, column)
        lines = params.lines[16 * column + lowest_bit_index(lane_of(move, column))]
        if look_at(move, mine, yours, taken, my_wins, your_wins, below, ones, lines, seen):
            node.status, node.plies, node.degree = WIN, 3, 0
            break
        odds = 0.0
        for i in range(seen.size):
            odds += params.weights[i] * seen[i]
        odds = exp(odds)
        total += odds
        insert_edge(edges, node.degree, column, odds)
        node.degree += 1
    for e in range(node.degree):
        edges[e].prior /= total
    if node.status != OPEN:
        node.value = 1.0 if node.status == WIN else 0.5 if node.status == DRAW else 0.0
    enlist(graph, index)
    return index


@njit(cache=True, nogil=True)
def insert_edge(edges: Any, count: int, column: int, odds: float) -> None:
    """Insert an edge into the list, which is sorted by prior, highest first."""
    place = count
    while place > 0 and edges[place - 1].prior < odds:
        edges[place].prior, edges[place].column = edges[place - 1].prior, edges[place - 1].column
        place -= 1
    edges[place].prior, edges[place].column = odds, column
    last = edges[count]
    last.child, last.visits, last.value, last.virtual_loss, last.proven_result = NONE, 0, 0.0, 0, OPEN


@njit(cache=True, nogil=True)
def choose(graph: Graph, params: GraphParams, index: int, space: GraphWorkspace, depth: int) -> int:
    """The edge to follow by PUCT, among those not proven; writes the sums over the other edges to `space`."""
    node, edges = graph.nodes[index], graph.edges[index]
    total, tried, visits, floor = 0.0, 0.0, 0, 0.0
    for e in range(node.degree):
        edge = edges[e]
        floor = 0.5 if edge.proven_result == DRAW else floor
        if edge.visits > 0:
            tried += edge.prior
            if edge.proven_result != LOSS:
                total += edge.visits * edge.value
                visits += edge.visits
    untried = node.value - params.fpu_reduction * sqrt(tried)
    push = params.c_puct * sqrt(visits + node.weight + 1.0)
    best, best_score = 0, -1e9
    for e in range(node.degree):
        edge = edges[e]
        if edge.proven_result != OPEN:
            continue
        value, n = edge.value if edge.visits > 0 else untried, edge.visits + edge.virtual_loss
        if edge.virtual_loss > 0:
            value = value * edge.visits / n  # virtual loss: count simulations in progress as lost
        score = value + push * edge.prior / (1.0 + n)
        if score > best_score:
            best, best_score = e, score
    space.rest_sum[depth] = total - edges[best].visits * edges[best].value
    space.rest_visits[depth], space.floor[depth] = visits - edges[best].visits, floor
    return best


@njit(cache=True, nogil=True)
def propagate_proof(graph: Graph, index: int) -> None:
    """Set a node's proven result if all its edges are proven: a draw if any edge draws, else a loss."""
    node, edges = graph.nodes[index], graph.edges[index]
    longest, best = 0, LOSS
    for e in range(node.degree):
        if edges[e].proven_result == OPEN:
            return
        if edges[e].proven_result == DRAW:
            best = DRAW
        longest = max(longest, graph.nodes[edges[e].child].plies if edges[e].child != NONE else LONGEST)
    node.status, node.plies = best, longest + 1
    node.value = 0.5 if best == DRAW else 0.0


@njit(cache=True, nogil=True)
def backpropagate(graph: Graph, space: GraphWorkspace, depth: int, leaf: int, result: float) -> None:
    """Add a simulation to every node on its path; if the leaf is NONE, use `result`, for the leaf's side to move."""
    for i in range(depth - 1, -1, -1):
        index = space.node[i]
        node, edge = graph.nodes[index], graph.edges[index, space.edge[i]]
        edge.virtual_loss -= 1
        edge.visits += 1
        status = OPEN
        if leaf == NONE:  # the graph is full: average the result into the edge
            value = edge.value + (1.0 - result - edge.value) / edge.visits
        else:
            status = graph.nodes[leaf].status
            value = 1.0 - graph.nodes[leaf].value
        if node.status == OPEN:
            edge.value = value
            weight = node.weight + space.rest_visits[i]
            total = node.own * node.weight + space.rest_sum[i]
            if status == LOSS:
                edge.proven_result = WIN
                node.status, node.plies, node.value = WIN, graph.nodes[leaf].plies + 1, 1.0
            elif status == WIN:
                edge.proven_result = LOSS
                node.value = max(total / weight, space.floor[i]) if weight > 0 else node.value
                propagate_proof(graph, index)
            else:
                floor = 0.5 if status == DRAW else space.floor[i]
                node.value = max((total + edge.visits * value) / (weight + edge.visits), floor)
                if status == DRAW:
                    edge.proven_result = DRAW
                    propagate_proof(graph, index)
        leaf = index


@njit(cache=True, nogil=True)
def search_slice(
    graph: Graph, params: GraphParams, board: Any, root: int, space: GraphWorkspace, limit: GraphLimit
) -> tuple[int, int]:
    """Simulate until a limit is reached or the root is proven; returns the reason and the number of simulations."""
    root_mine, root_yours, root_taken = load(board, 0), load(board, 1), load(board, 2)
    below, ones = load(board, 3), load(board, 4)
    random = space.random[0]
    simulations, reason = 0, DONE
    while True:
        # Step 1. Stop?
        if graph.nodes[root].status != OPEN:
            reason = DECIDED
            break
        if simulations >= limit.simulations:
            break
        if simulations & POLL == POLL:
            if is_raised(limit.stop):
                reason = TOLD_TO_STOP
                break
            if monotonic_ns() >= limit.deadline_ns:
                reason = OUT_OF_TIME
                break
            if limit.waits_for_room and graph.taken[0] >= graph.nodes.size - 1:
                reason = OUT_OF_ROOM
                break
        # Step 2. Select: descend to a node that is decided or new; forced replies do not end the descent.
        mine, yours, taken = root_mine, root_yours, root_taken
        node, depth, result = root, 0, 0.5
        is_new = graph.nodes[root].weight == 0 and graph.nodes[root].degree > 1
        while graph.nodes[node].status == OPEN and not (is_new and graph.nodes[node].degree > 1):
            e = choose(graph, params, node, space, depth)
            space.node[depth], space.edge[depth] = node, e
            graph.edges[node, e].virtual_loss += 1
            depth += 1
            move = only_lane(playable(taken, ones), np.int64(graph.edges[node, e].column))
            mine, yours, taken = yours, mine | move, taken | move
            parent, node, is_new = node, graph.edges[node, e].child, False
            if node == NONE:
                key = key_of(mine, taken)
                node = find(graph, key)
                if node == NONE:
                    node = add_node(graph, params, space.seen, key, mine, yours, taken, below, ones)
                    is_new = True
                    if node == NONE:
                        break
                    if graph.edges[parent, e].visits > 0 and graph.nodes[node].status == OPEN:  # it was recycled
                        graph.nodes[node].own = graph.nodes[node].value = 1.0 - graph.edges[parent, e].value
                        graph.nodes[node].weight = graph.edges[parent, e].visits
                        is_new = False
                graph.edges[parent, e].child = node
        # Step 3. Play out from a new node, unless it is decided.
        if node == NONE or (is_new and graph.nodes[node].status == OPEN):
            total = 0
            for _ in range(params.playouts):
                points, random = playout(mine, yours, taken, below, ones, random)
                total += points
            result = 0.5 * total / params.playouts
            if node != NONE:
                graph.nodes[node].own, graph.nodes[node].weight, graph.nodes[node].value = result, 1, result
        # Step 4. Backpropagate.
        backpropagate(graph, space, depth, node, result)
        simulations += 1
    space.random[0] = random
    return reason, simulations


@njit(cache=True, nogil=True)
def enter(graph: Graph, params: GraphParams, board: Any, space: GraphWorkspace) -> int:
    """The node of a position, added if missing; NONE if the graph is full."""
    mine, yours, taken, below, ones = load(board, 0), load(board, 1), load(board, 2), load(board, 3), load(board, 4)
    key = key_of(mine, taken)
    node = find(graph, key)
    return node if node != NONE else add_node(graph, params, space.seen, key, mine, yours, taken, below, ones)

"""The graph of positions that the search grows, in numba: walk down, play out, carry the result up.

A node is a position, whichever moves led to it; an edge is a move. Values are for the side to move at a node, from 0
(lost) to 1 (won), and an edge's is for the side that makes the move:

    node   value = (own * weight + sum of visits * worth over its edges) / (weight + sum of visits)
    edge   worth = 1 - value of the node it leads to, as it was when the edge was last walked

`own` is the result of the node's playout. Since a node's value is made anew from its edges each time, positions that
several lines reach count for all of them, and two threads that write at once do no lasting harm.

What is certain is certain: a node knows a WIN, LOSS or DRAW, and an edge that loses is never walked again. Moves that
hand the other side a win at once have no edge.
"""

from math import exp, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from plyd.engines.connect4.board import key_of, playable, several, under, winning_cells
from plyd.engines.connect4.memory import NONE, Graph, enlist, find
from plyd.engines.connect4.playout import playout
from plyd.engines.core.lanes import Lanes, count_all, is_any, lane_of, load, only_lane, used_lanes
from plyd.engines.core.machine import is_raised, lowest_bit_index, monotonic_ns, take_number

OPEN, WIN, DRAW, LOSS = 0, 1, 2, 3  # of a node, for the side to move there; of an edge, for the side that moves
DONE, OUT_OF_TIME, OUT_OF_ROOM, TOLD_TO_STOP, DECIDED = range(5)  # why `think` came back
LONGEST = 256  # plies of a walk
POLL = 15  # walks between two looks at the clock, a power of two less one


class Taste(NamedTuple):
    """What guides the choice among moves."""

    curiosity: np.float64  # c of the formula: how much the untried weighs
    doubt: np.float64  # how much less than the node an untried move is thought to be worth
    threat: np.float64  # log-odds for a move that makes a winning cell
    centre: np.float64  # log-odds between the best and the worst cell by lines through it
    lines: NDArray[np.float32]  # (256,): share of the most lines of four that go through cell 16 * column + row


class Walk(NamedTuple):
    """One thread's room for its walks."""

    node: NDArray[np.int32]  # (LONGEST,)
    edge: NDArray[np.int8]  # (LONGEST,)
    rest_sum: NDArray[np.float64]  # (LONGEST,): visits * worth over the other edges
    rest_visits: NDArray[np.int64]  # (LONGEST,)
    random: NDArray[np.uint64]  # (1,)


class Limit(NamedTuple):
    """When to come back."""

    deadline_ns: np.int64
    walks: np.int64
    stop: NDArray[np.uint8]
    waits_for_room: bool  # whether to come back for want of room rather than walk on without new nodes


def walk_for(seed: int) -> Walk:
    """Room for one thread."""
    return Walk(
        np.zeros(LONGEST, np.int32),
        np.zeros(LONGEST, np.int8),
        np.zeros(LONGEST),
        np.zeros(LONGEST, np.int64),
        np.array([seed], np.uint64),
    )


@njit(cache=True, nogil=True)
def add_node(
    graph: Graph, taste: Taste, key: np.uint64, mine: Lanes, yours: Lanes, taken: Lanes, below: Lanes, ones: Lanes
) -> int:
    """A new node with its edges, decided already if a glance decides it; NONE if there is no room."""
    number = take_number(graph.taken)
    if number >= graph.free.size:
        return NONE
    node = graph.free[number]
    graph.key[node] = key
    graph.own[node], graph.weight[node], graph.value[node] = 0.5, 0, 0.5
    cells = playable(taken, ones)
    my_wins, your_wins = winning_cells(mine) & ~taken, winning_cells(yours) & ~taken
    status, plies, moves = glance(cells, my_wins, your_wins, below)
    graph.status[node], graph.plies[node], graph.degree[node] = status, plies, 0
    if status == OPEN:
        add_edges(graph, taste, node, moves, mine, taken, my_wins)
    else:
        graph.value[node] = 1.0 if status == WIN else 0.5 if status == DRAW else 0.0
    enlist(graph, node)
    return node


@njit(cache=True, nogil=True)
def glance(cells: Lanes, my_wins: Lanes, your_wins: Lanes, below: Lanes) -> tuple[int, int, Lanes]:
    """How a position stands if three plies decide it, the plies to its end, and the moves worth a thought."""
    if not is_any(cells):
        return DRAW, 0, cells
    if is_any(cells & my_wins):
        return WIN, 1, cells
    moves = cells & your_wins  # Step 1. What must be blocked: one cell can be, two cannot.
    if several(moves):
        return LOSS, 2, moves
    if not is_any(moves):
        moves = cells
    moves &= ~under(your_wins, below)  # Step 2. No move that hands over the cell above it.
    if not is_any(moves):
        return LOSS, 2, moves
    above = under(my_wins, below)  # Step 3. Two of my cells above one another: he can take only the first.
    if is_any(moves & above & under(above, below)):
        return WIN, 3, moves
    return OPEN, 0, moves


@njit(cache=True, nogil=True)
def add_edges(graph: Graph, taste: Taste, node: int, moves: Lanes, mine: Lanes, taken: Lanes, my_wins: Lanes) -> None:
    """Give a node its edges, the likeliest move first."""
    lanes = used_lanes(moves)
    degree, total = 0, 0.0
    while lanes != np.uint64(0):
        column = lowest_bit_index(lanes)
        lanes &= lanes - np.uint64(1)
        move = only_lane(moves, column)
        after = winning_cells(mine | move) & ~(taken | move)
        threats = count_all(after & ~my_wins)
        row = lowest_bit_index(lane_of(move, column))
        odds = exp(taste.threat * min(threats, 2) + taste.centre * taste.lines[16 * column + row])
        total += odds
        place = degree
        while place > 0 and graph.prior[node, place - 1] < odds:
            graph.prior[node, place] = graph.prior[node, place - 1]
            graph.column[node, place] = graph.column[node, place - 1]
            place -= 1
        graph.prior[node, place], graph.column[node, place] = odds, column
        degree += 1
    for e in range(degree):
        graph.prior[node, e] /= total
        graph.child[node, e] = NONE
        graph.visits[node, e] = 0
        graph.pending[node, e] = 0
        graph.fate[node, e] = OPEN
        graph.worth[node, e] = 0.0
    graph.degree[node] = degree


@njit(cache=True, nogil=True)
def choose(graph: Graph, taste: Taste, node: int, walk: Walk, depth: int) -> int:
    """The edge to walk; what the other edges add up to is left in `walk`."""
    total, tried, visits = 0.0, 0.0, graph.weight[node]
    degree = graph.degree[node]
    for e in range(degree):
        n = graph.visits[node, e]
        if graph.fate[node, e] != LOSS:
            total += n * graph.worth[node, e]
            visits += n
        if n > 0:
            tried += graph.prior[node, e]
    untried = graph.value[node] - taste.doubt * sqrt(tried)
    root = taste.curiosity * sqrt(visits + 1.0)
    best, best_score = 0, -1e9
    for e in range(degree):
        if graph.fate[node, e] == LOSS:
            continue
        n, waiting = graph.visits[node, e], graph.pending[node, e]
        worth = graph.worth[node, e] if n > 0 else untried
        if waiting > 0:
            worth = worth * n / (n + waiting)  # as if each walk under way were lost
        score = worth + root * graph.prior[node, e] / (1.0 + n + waiting)
        if score > best_score:
            best, best_score = e, score
    n = graph.visits[node, best]
    walk.rest_sum[depth] = total - n * graph.worth[node, best]
    walk.rest_visits[depth] = visits - graph.weight[node] - n
    return best


@njit(cache=True, nogil=True)
def settle(graph: Graph, node: int) -> None:
    """Decide a node if its edges do: lost if all lose, drawn if the best that is left draws."""
    longest, best = 0, LOSS
    for e in range(graph.degree[node]):
        fate = graph.fate[node, e]
        if fate == OPEN:
            return
        if fate == DRAW:
            best = DRAW
        if graph.child[node, e] != NONE:
            longest = max(longest, graph.plies[graph.child[node, e]])
    graph.status[node], graph.plies[node] = best, longest + 1
    graph.value[node] = 0.5 if best == DRAW else 0.0


@njit(cache=True, nogil=True)
def carry_up(graph: Graph, walk: Walk, depth: int, leaf: int, result: float) -> None:
    """Take what a walk found to every node on its way; a leaf of NONE has only its result, for its side to move."""
    for i in range(depth - 1, -1, -1):
        node, e = walk.node[i], walk.edge[i]
        graph.pending[node, e] -= 1
        n = graph.visits[node, e] + 1
        graph.visits[node, e] = n
        status = OPEN
        if leaf == NONE:  # no room for it: its result joins those before it
            worth = graph.worth[node, e] + (1.0 - result - graph.worth[node, e]) / n
        else:
            status = graph.status[leaf]
            worth = 1.0 - graph.value[leaf]
        if graph.status[node] != OPEN:
            leaf = node
            continue
        graph.worth[node, e] = worth
        weight = graph.weight[node] + walk.rest_visits[i]
        total = graph.own[node] * graph.weight[node] + walk.rest_sum[i]
        if status == LOSS:
            graph.fate[node, e] = WIN
            graph.status[node], graph.plies[node], graph.value[node] = WIN, graph.plies[leaf] + 1, 1.0
        elif status == WIN:
            graph.fate[node, e] = LOSS
            if weight > 0:
                graph.value[node] = total / weight
            settle(graph, node)
        else:
            graph.value[node] = (total + n * worth) / (weight + n)
            if status == DRAW:
                graph.fate[node, e] = DRAW
                settle(graph, node)
        leaf = node


@njit(cache=True, nogil=True)
def think(graph: Graph, taste: Taste, board: Any, root: int, walk: Walk, limit: Limit) -> tuple[int, int]:
    """Walk down from the root until a limit binds or the root is decided: why it ended, and how many walks it made."""
    root_mine, root_yours, root_taken = load(board, 0), load(board, 1), load(board, 2)
    below, ones = load(board, 3), load(board, 4)
    random = walk.random[0]
    walks, reason = 0, DONE
    while True:
        # Step 1. Why go on?
        if graph.status[root] != OPEN:
            reason = DECIDED
            break
        if walks >= limit.walks:
            break
        if walks & POLL == POLL:
            if is_raised(limit.stop):
                reason = TOLD_TO_STOP
                break
            if monotonic_ns() >= limit.deadline_ns:
                reason = OUT_OF_TIME
                break
            if limit.waits_for_room and graph.taken[0] >= graph.free.size:
                reason = OUT_OF_ROOM
                break
        # Step 2. Down, to a node that is decided or new; through forced replies without a stop.
        mine, yours, taken = root_mine, root_yours, root_taken
        node, depth, result = root, 0, 0.5
        is_new = graph.weight[root] == 0 and graph.degree[root] > 1
        while graph.status[node] == OPEN and not (is_new and graph.degree[node] > 1):
            e = choose(graph, taste, node, walk, depth)
            walk.node[depth], walk.edge[depth] = node, e
            graph.pending[node, e] += 1
            depth += 1
            move = only_lane(playable(taken, ones), np.int64(graph.column[node, e]))
            mine, yours, taken = yours, mine | move, taken | move
            parent, node, is_new = node, graph.child[node, e], False
            if node == NONE:
                key = key_of(mine, taken)
                node = find(graph, key)
                if node == NONE:
                    node = add_node(graph, taste, key, mine, yours, taken, below, ones)
                    is_new = True
                    if node == NONE:
                        break
                    if graph.visits[parent, e] > 0 and graph.status[node] == OPEN:  # it was here before
                        graph.own[node] = graph.value[node] = 1.0 - graph.worth[parent, e]
                        graph.weight[node] = graph.visits[parent, e]
                        is_new = False
                graph.child[parent, e] = node
        # Step 3. Play a new node out, unless it is decided.
        if node == NONE or (is_new and graph.status[node] == OPEN):
            points, random = playout(mine, yours, taken, below, ones, random)
            result = points * 0.5
            if node != NONE:
                graph.own[node], graph.weight[node], graph.value[node] = result, 1, result
        # Step 4. Carry it up.
        carry_up(graph, walk, depth, node, result)
        walks += 1
    walk.random[0] = random
    return reason, walks


@njit(cache=True, nogil=True)
def enter(graph: Graph, taste: Taste, board: Any) -> int:
    """The node of a position, a new one if there is none yet; NONE if there is no room."""
    mine, yours, taken = load(board, 0), load(board, 1), load(board, 2)
    key = key_of(mine, taken)
    node = find(graph, key)
    return node if node != NONE else add_node(graph, taste, key, mine, yours, taken, load(board, 3), load(board, 4))

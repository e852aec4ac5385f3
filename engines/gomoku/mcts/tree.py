"""MCTS guided by a network (PUCT), in numba: select leaves, evaluate them, backpropagate.

The network evaluates several leaves at a time. A simulation that waits for its leaf counts as lost until then
(`virtual_loss`), which steers the next one elsewhere. Proven results are propagated and never searched again.

A leaf is checked before the network is called: a five, an opponent's five to stop, a VCF or VCT. If the opponent
threatens to win next, only possible defences become children, and these are complete (IS_WHOLE). Otherwise only the
moves with the highest priors do; when all of those are decided and none wins, the rest is added.
"""

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    FREE,
    MARGIN,
    POINTS,
    STRIDE,
    Board,
    View,
    count_of,
    first_of,
    play,
    undo,
    view,
)
from plyd.engines.gomoku.board.fouls import any_legal, is_foul
from plyd.engines.gomoku.board.patterns import MAKES_FIVE, WINS_NEXT
from plyd.engines.gomoku.board.vcf import PLIES, Vcf, VcfView, finds_vcf, vcf_view
from plyd.engines.gomoku.board.vcf import WIN as VCF_WINS
from plyd.engines.gomoku.board.vct import Vct, VctView, finds_vct, list_answers, vct_view
from plyd.engines.gomoku.mcts.nodes import (
    DEEPEST,
    DRAW,
    IS_EXPANDED,
    IS_WHOLE,
    LOSS,
    MOST_MOVES,
    NO_CHILD,
    OPEN,
    ROOT,
    SIMULATIONS,
    UNKNOWN_PLIES,
    USED,
    WIN,
    add_child,
    backpropagate,
    value_of,
)
from plyd.engines.gomoku.mcts.planes import PLANES, fill_planes


class MctsParams(NamedTuple):
    """Parameters of the simulations."""

    c_puct: np.float64  # exploration constant of PUCT
    fpu_reduction: np.float64  # an unvisited move's value is the node's less this times sqrt(visited prior)
    width: np.int64  # maximum children of a node other than the root
    vcf_nodes: np.int64  # of a leaf's VCF search
    vct_nodes: np.int64  # of a leaf's VCT search


class PositionWorkspace(NamedTuple):
    """One thread's workspace for checking positions."""

    board: Board
    vcf: Vcf
    vct: Vct


class LeafBatch(NamedTuple):
    """One thread's batch: leaves that wait for the network, and their paths."""

    planes: NDArray[np.uint8]  # (B, PLANES, size, size)
    path: NDArray[np.int32]  # (B + 1, MOST_MOVES + 2): nodes from the root; the last row is for the current simulation
    depth: NDArray[np.int32]  # (B + 1,): plies from the root
    moves: NDArray[np.int32]  # (B, MOST_MOVES + 112): the moves that matter, if not all do
    count: NDArray[np.int32]  # (B,): number of such moves, 0 if all moves matter
    marks: NDArray[np.int32]  # (POINTS,)


def leaf_batch_for(size: int, batch: int) -> LeafBatch:
    """A batch of up to `batch` leaves."""
    return LeafBatch(
        np.zeros((batch, PLANES, size, size), np.uint8),
        np.zeros((batch + 1, MOST_MOVES + 2), np.int32),
        np.zeros(batch + 1, np.int32),
        np.zeros((batch, MOST_MOVES + 112), np.int32),
        np.zeros(batch, np.int32),
        np.zeros(POINTS, np.int32),
    )


@njit(inline="always")
def choose(nodes: Any, index: int, params: MctsParams) -> int:
    """The child to follow: the highest Q + c P sqrt(N) / (1 + n) among those not decided; NO_CHILD if all are."""
    node = nodes[index]
    visits = node.visits + node.virtual_loss
    c_puct = params.c_puct * (1.0 + 0.25 * log(1.0 + visits / 500.0))
    push = c_puct * sqrt(max(1.0, visits))
    own = -node.total / node.visits if node.visits else 0.0
    seen, best, best_score = 0.0, NO_CHILD, -1e9
    is_untried = False
    for i in range(node.first, node.first + node.count):
        child = nodes[i]
        if child.status != OPEN:
            seen += child.prior
            continue
        tried = child.visits + child.virtual_loss
        if tried == 0:
            if is_untried:  # an unvisited child with a higher prior came first
                continue
            is_untried = True
            score = own - params.fpu_reduction * sqrt(seen) + push * child.prior
        else:
            seen += child.prior
            score = (child.total - child.virtual_loss) / tried + push * child.prior / (1 + tried)
        if score > best_score:
            best, best_score = i, score
    return best


@njit(inline="always")
def look(
    v: View, c: VcfView, p: VctView, nodes: Any, index: int, mover: int, params: MctsParams, batch: LeafBatch, slot: int
) -> None:
    """Check a leaf without the network: sets its status, or writes the only moves that matter to its slot."""
    node = nodes[index]
    batch.count[slot] = 0
    if count_of(v, mover, MAKES_FIVE):
        node.status, node.plies, node.reply = WIN, 1, first_of(v, mover, MAKES_FIVE)
        return
    if v.state[FREE] == 0:
        node.status, node.plies = DRAW, 0
        return
    fives = count_of(v, 3 - mover, MAKES_FIVE)
    only = first_of(v, 3 - mover, MAKES_FIVE) if fives else np.int64(0)
    if fives > 1 or (fives and is_foul(v, only, mover)):
        node.status, node.plies, node.reply = LOSS, 2, any_legal(v, mover, only)
        return
    if finds_vcf(v, c, mover, params.vcf_nodes) == VCF_WINS:
        node.status, node.plies, node.reply = WIN, c.state[PLIES], c.line[0]
        return
    if fives == 1:
        batch.moves[slot, 0] = only
        batch.count[slot] = 1
    elif count_of(v, 3 - mover, WINS_NEXT):
        count = list_answers(v, 3 - mover, pointer_to(batch.marks), pointer_to(batch.moves[slot]), np.int64(0))
        if count == 0:
            node.status, node.plies = LOSS, 4
            node.reply = any_legal(v, mover, first_of(v, 3 - mover, WINS_NEXT))
        batch.count[slot] = count
    elif finds_vct(v, p, mover, params.vct_nodes) == VCF_WINS:
        node.status, node.plies, node.reply = WIN, UNKNOWN_PLIES, p.line[0]
    elif any_legal(v, mover, np.int64(0)) == 0:
        node.status, node.plies = LOSS, 0


@njit(cache=True, nogil=True)
def select_leaves(
    nodes: Any, state: Any, workspace: PositionWorkspace, params: MctsParams, batch: LeafBatch, start: Any, want: int
) -> int:
    """Simulate until `want` leaves wait for the network, or the maximum of simulations; returns how many wait.

    `start` is: the side to move at the root, the side that moves first in the game, the maximum of simulations.
    """
    v, c, p = view(workspace.board), vcf_view(workspace.vcf), vct_view(workspace.vct)
    root, most = state[ROOT], state[SIMULATIONS] + start[2]
    size = batch.planes.shape[3]
    waiting = np.int64(0)  # all integers have one type: each further type would compile another version
    while waiting < want and state[SIMULATIONS] < most and nodes[root].status == OPEN:
        path = batch.path[waiting]
        index, mover, depth = root, start[0], np.int64(0)
        path[0] = root
        is_blocked = False
        # Step 1. Descend to a position without children, or a decided one.
        while nodes[index].status == OPEN:
            if nodes[index].flags & IS_EXPANDED:
                child = choose(nodes, index, params)
                if child == NO_CHILD:  # all children are decided: add the remaining moves
                    is_blocked = nodes[index].virtual_loss > 0
                    batch.count[waiting] = 0
                    break
                play(v, np.int64(nodes[child].point), mover)
                index, mover, depth = child, 3 - mover, depth + 1
                path[depth] = index
                continue
            if nodes[index].virtual_loss > 0:  # another simulation waits for it
                is_blocked = True
                break
            # Step 2. A new position: proven results and single replies need no network.
            look(v, c, p, nodes, index, mover, params, batch, waiting)
            if nodes[index].status != OPEN:
                break
            if batch.count[waiting] == 1 and state[USED] + 1 < len(nodes):
                nodes[index].first, nodes[index].count = state[USED], 1
                nodes[index].flags = IS_EXPANDED | IS_WHOLE
                add_child(nodes, state, batch.moves[waiting, 0], 1.0)
                continue
            break
        # Step 3. Backpropagate a decided position; queue an undecided one for the network.
        is_decided = nodes[index].status != OPEN
        if is_decided:
            backpropagate(nodes, path, np.int64(depth), np.float64(value_of(nodes[index].status)), np.int64(0))
            state[SIMULATIONS] += 1
        elif not is_blocked:
            fill_planes(v, mover, mover == start[1], size, batch.planes[waiting])
            for i in range(depth + 1):
                nodes[path[i]].virtual_loss += 1
            batch.depth[waiting] = depth
            waiting += 1
            state[SIMULATIONS] += 1
        state[DEEPEST] = max(state[DEEPEST], depth)
        for i in range(depth, 0, -1):
            undo(v, np.int64(nodes[path[i]].point))
        if is_blocked:
            break
    return waiting


@njit(cache=True, nogil=True)
def expand_leaves(
    nodes: Any, state: Any, params: MctsParams, batch: LeafBatch, logits: Any, values: Any, waiting: int
) -> None:
    """Expand the leaves that waited, and backpropagate their values."""
    odds = np.empty(MOST_MOVES, np.float32)
    size = batch.planes.shape[3]
    for slot in range(waiting):
        depth = batch.depth[slot]
        index = batch.path[slot, depth]
        if nodes[index].status == OPEN:
            width = MOST_MOVES if depth == 0 or nodes[index].flags & IS_EXPANDED else params.width
            _rate(nodes, index, batch, slot, logits[slot], odds, size)
            if state[USED] + MOST_MOVES + nodes[index].count < len(nodes):
                _expand(nodes, state, index, odds, size, width, batch.count[slot] > 0)
        backpropagate(nodes, batch.path[slot], np.int64(depth), np.float64(values[slot]), np.int64(1))


@njit(inline="always")
def _rate(nodes: Any, index: int, batch: LeafBatch, slot: int, logits: Any, odds: Any, size: int) -> None:
    """The prior of each cell that may become a child: the softmax of the logits; 0 for the others."""
    planes = batch.planes[slot]
    for cell in range(size * size):
        row, column = cell // size, cell % size
        odds[cell] = 1.0 if planes[0, row, column] + planes[1, row, column] < planes[2, row, column] else 0.0
    if batch.count[slot] > 0:
        odds[: size * size] = 0.0
        for i in range(batch.count[slot]):
            odds[_cell_of(batch.moves[slot, i], size)] = 1.0
    for i in range(nodes[index].count):  # existing children
        odds[_cell_of(nodes[nodes[index].first + i].point, size)] = 0.0
    highest = np.float32(-1e9)
    for cell in range(size * size):
        if odds[cell] > 0 and logits[cell] > highest:
            highest = logits[cell]
    total = 0.0
    for cell in range(size * size):
        if odds[cell] > 0:
            odds[cell] = max(exp(logits[cell] - highest), 1e-12)
            total += odds[cell]
    for cell in range(size * size):
        odds[cell] /= total


@njit(inline="always")
def _cell_of(point: int, size: int) -> int:
    return (point // STRIDE - MARGIN) * size + point % STRIDE - MARGIN


@njit(inline="always")
def _expand(nodes: Any, state: Any, index: int, odds: Any, size: int, width: int, is_forced: bool) -> None:
    """Add children to a node: first its existing ones, then those with the highest priors, up to `width`."""
    had, first = nodes[index].count, state[USED]
    for i in range(had):
        nodes[first + i] = nodes[nodes[index].first + i]
    state[USED] += had
    added = 0
    while True:
        best = 0
        for cell in range(1, size * size):
            if odds[cell] > odds[best]:
                best = cell
        is_all = odds[best] <= 0
        if is_all or (added >= width and not is_forced):
            break
        point = (best // size + MARGIN) * STRIDE + best % size + MARGIN
        add_child(nodes, state, point, odds[best])
        odds[best] = 0.0
        added += 1
    nodes[index].first, nodes[index].count = first, had + added
    nodes[index].flags = IS_EXPANDED | (IS_WHOLE if is_all else 0)

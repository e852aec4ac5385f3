"""The workspace of a NegaScout thread, its parameters and limits, and the values that they share.

A frame is what the search keeps of one ply:

    ALPHA, BETA, FLOOR     the window, and alpha as it was at the beginning
    BEST, BEST_MOVE        the highest value so far
    DEPTH, CHILD_DEPTH     plies left here, and after the current move if it is not reduced
    NEXT, END, LISTED      number of the current move (NOT_LISTED at first), of moves to search, of moves in the list
    STAGE                  how the current move is being searched
    IS_FORCED              the moves listed are all that can save the game
    STATIC                 the evaluation
    NULL, THREAT           state of the null move, and the reply that refuted it
    KNOWN                  the best move in the transposition table, or 0
    LAST                   the score of the current move, with its point
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import POINTS, View, evaluation
from plyd.engines.gomoku.board.network import FramesView, network_value

MOST_PLIES, MOST_MOVES = 128, 400
DEPTHS, COUNTS = 64, 64  # sizes of tables by depth and by number of a move
SURE = 30_000  # value of a win now; a win in n plies is n less
DECIDED = 29_000  # a value beyond this is a proven result
DOUBT = 5_000  # added to the value of a loss that is proven only for the moves that were searched
WON = 24_000  # values beyond this count plies
LARGEST_GUESS = 20_000
FIELDS = 17  # of a frame
ALPHA, BETA, FLOOR, BEST, BEST_MOVE, DEPTH, NEXT, END, LISTED, STAGE, CHILD_DEPTH, IS_FORCED = range(12)
STATIC, NULL, KNOWN, THREAT, LAST = range(12, 17)
NOT_LISTED = -1
NO_NULL, NULL_DUE, IN_NULL = range(3)
FIRST, REDUCED, SCOUT, AGAIN = range(4)  # stages of a move: full window, reduced null window, null window, full again
ENTER, NEXT_MOVE, BACK = range(3)
PLY, PHASE, VALUE, NODES, ROOT_MOVES, IS_WHOLE, IS_EVERY, GENERATION = range(8)  # indices in a workspace's state


class NegaScoutWorkspace(NamedTuple):
    """The workspace of one thread."""

    frame: NDArray[np.int32]  # by ply and field
    moves: NDArray[np.int32]  # by ply: first those that are listed, then those that are searched, in their order
    scores: NDArray[np.int32]  # by ply: score << POINT_BITS | point of each move that is listed
    history: NDArray[np.int32]  # by colour and point
    killers: NDArray[np.int32]  # by ply, two each
    marks: NDArray[np.int32]  # by point
    barred: NDArray[np.uint8]  # by point: moves that are excluded at the root
    state: NDArray[np.int64]


class NegaScoutView(NamedTuple):
    """A workspace by address."""

    frame: Any
    moves: Any
    scores: Any
    history: Any
    killers: Any
    marks: Any
    barred: Any
    state: Any


class NegaScoutLimit(NamedTuple):
    """When a slice of a search ends."""

    nodes: np.int64
    deadline_ns: np.int64
    flag: NDArray[np.uint8]


class NegaScoutParams(NamedTuple):
    """Parameters of the search (techniques.py). 0 turns a technique off."""

    leaf_vcf_nodes: int  # of a VCF search at the last ply
    vcf_nodes: int  # of a VCF search at the root and after its moves
    counts: NDArray[np.int32]  # (DEPTHS,): moves of a position that are searched, by depth
    reductions: NDArray[np.int32]  # (DEPTHS, COUNTS): plies less for a late move, by depth and number of the move
    reverse_futility: int  # margin per ply above beta
    razoring: int  # margin per ply below alpha
    futility: int  # margin per ply below alpha, for all but the first moves
    null_move: int  # fewest plies for a null move
    iir: int  # fewest plies for internal iterative reduction
    network: int  # 1: the evaluation has a pattern network besides the sums of weights


def workspace_for() -> NegaScoutWorkspace:
    """An empty workspace."""
    return NegaScoutWorkspace(
        np.zeros((MOST_PLIES + 2) * FIELDS, np.int32),
        np.zeros((MOST_PLIES + 2) * MOST_MOVES, np.int32),
        np.zeros((MOST_PLIES + 2) * MOST_MOVES, np.int32),
        np.zeros(2 * POINTS, np.int32),
        np.zeros((MOST_PLIES + 2) * 2, np.int32),
        np.zeros(POINTS, np.int32),
        np.zeros(POINTS, np.uint8),
        np.zeros(8, np.int64),
    )


@njit(inline="always")
def workspace_view(space: NegaScoutWorkspace) -> NegaScoutView:
    """A workspace by address."""
    return NegaScoutView(
        pointer_to(space.frame),
        pointer_to(space.moves),
        pointer_to(space.scores),
        pointer_to(space.history),
        pointer_to(space.killers),
        pointer_to(space.marks),
        pointer_to(space.barred),
        pointer_to(space.state),
    )


def begin_search(space: NegaScoutWorkspace, depth: int, alpha: int, beta: int, *, every_move: bool = False) -> None:
    """Make the next call of `search_slice` start a new search of this depth and window.

    With `every_move`, the root's moves are all that are legal, so that a loss is proven; otherwise those near stones.
    """
    space.state[PLY] = 0
    space.state[PHASE] = ENTER
    space.state[ROOT_MOVES] = 0
    space.state[IS_EVERY] = every_move
    space.frame[ALPHA] = alpha
    space.frame[BETA] = beta
    space.frame[DEPTH] = depth
    space.frame[BEST_MOVE] = 0


@njit(inline="always")
def is_improving(r: NegaScoutView, ply: int) -> bool:
    """Whether the evaluation is higher than two plies before."""
    return ply < 2 or r.frame[ply * FIELDS + STATIC] > r.frame[(ply - 2) * FIELDS + STATIC]


@njit(inline="always")
def guess(v: View, n: FramesView, params: NegaScoutParams, me: int, ply: int) -> int:
    """The evaluation for the side to move, within bounds."""
    value = evaluation(v, me)
    if params.network:
        value += network_value(v, n, ply, me)
    return max(-LARGEST_GUESS, min(LARGEST_GUESS, value))

"""NegaScout (principal variation search) over the pattern board, with its stack in arrays.

Each move costs one ply of depth, except the only reply to a four, which costs none. Against a threatened open four,
only defences and own fours are searched. At the root, after its moves and at the last ply, a VCF search
(board/vcf.py) is made. What is searched less deep or not at all, techniques.py says.

A proven result stays a proof: a move that is cut, reduced or left out can only hide a result. A loss is proven where
the moves searched are all that can save the game (IS_FORCED), and nothing is left out there; elsewhere it gets DOUBT.

Because the stack is in arrays, a search can pause at any node, when nodes or time run out, and resume there.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import is_raised, monotonic_ns
from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    FREE,
    HASH,
    NOBODY,
    Board,
    View,
    count_of,
    first_of,
    kind_at,
    play,
    undo,
    view,
)
from plyd.engines.gomoku.board.fouls import any_legal, is_foul
from plyd.engines.gomoku.board.network import Frames, FramesView, frames_view
from plyd.engines.gomoku.board.patterns import A_FOUR, A_THREE, FOUR_AND_THREE, FOUR_AND_TWO, MAKES_FIVE, WINS_NEXT
from plyd.engines.gomoku.board.vcf import ATTACKER, PLIES, WIN, Vcf, VcfView, finds_vcf, vcf_view
from plyd.engines.gomoku.negascout.moves import list_moves, pick_move, reward
from plyd.engines.gomoku.negascout.table import (
    AT_LEAST,
    AT_MOST,
    EXACT,
    NOTHING,
    WITHOUT_DEPTH,
    bound_in,
    depth_in,
    keep,
    move_in,
    packed,
    probe,
    value_in,
)
from plyd.engines.gomoku.negascout.workspace import (
    AGAIN,
    ALPHA,
    BACK,
    BEST,
    BEST_MOVE,
    BETA,
    CHILD_DEPTH,
    COUNTS,
    DECIDED,
    DEPTH,
    DEPTHS,
    DOUBT,
    END,
    ENTER,
    FIELDS,
    FIRST,
    FLOOR,
    GENERATION,
    IN_NULL,
    IS_FORCED,
    IS_WHOLE,
    KNOWN,
    LARGEST_GUESS,
    LISTED,
    MOST_MOVES,
    MOST_PLIES,
    NEXT,
    NO_NULL,
    NODES,
    NOT_LISTED,
    NULL,
    NULL_DUE,
    PHASE,
    PLY,
    REDUCED,
    ROOT_MOVES,
    SCOUT,
    STAGE,
    STATIC,
    SURE,
    THREAT,
    VALUE,
    WON,
    NegaScoutLimit,
    NegaScoutParams,
    NegaScoutView,
    NegaScoutWorkspace,
    guess,
    is_improving,
    workspace_view,
)

FINISHED, OUT_OF_NODES, OUT_OF_TIME = range(3)
POLL = 255
VCF_PLIES = 1  # from the root: a VCF is sought there, and at the last ply; deeper its time is better spent on depth
REVERSE_DEPTH, RAZOR_DEPTH, FUTILITY_DEPTH = 6, 3, 5  # the techniques' largest depths
FUTILITY_MOVES = 3  # moves that are searched in any case
NULL_PLIES, NULL_SHARE = 3, 4  # a null move costs 3 plies and a quarter of the depth
LESS_FOR_FOUR, LESS_FOR_THREE, LESS_FOR_STOP, LESS_IF_FORCED = 2, 1, 1, 1  # plies that a reduction is smaller


@njit(cache=True, nogil=True)
def search_slice(
    board: Board,
    vcf: Vcf,
    space: NegaScoutWorkspace,
    table: NDArray[Any],
    params: NegaScoutParams,
    frames: Frames,
    colour: int,
    limit: NegaScoutLimit,
) -> int:
    """Search until finished or a limit is reached. `state[VALUE]` is the value for the side to move."""
    v, c, r, n = view(board), vcf_view(vcf), workspace_view(space), frames_view(frames)
    mask = np.uint64(table.size - 1)
    ply, phase, value, nodes = r.state[PLY], r.state[PHASE], r.state[VALUE], r.state[NODES]
    while True:
        f = ply * FIELDS
        me = colour if ply % 2 == 0 else 3 - colour
        is_known = False
        # Step 1. A new position: its value if that is clear, else a null move if one is due.
        if phase == ENTER:
            why = FINISHED
            if nodes >= limit.nodes:
                why = OUT_OF_NODES
            elif nodes & POLL == 0 and (is_raised(limit.flag) or monotonic_ns() >= limit.deadline_ns):
                why = OUT_OF_TIME
            if why != FINISHED:
                r.state[PLY], r.state[PHASE], r.state[NODES] = ply, ENTER, nodes
                return why
            nodes += 1
            is_known, value = _enter(v, c, r, n, table, mask, params, me, ply)
            if not is_known and r.frame[f + NULL] == NULL_DUE:
                _pass(r, ply)
                ply += 1
                continue
        # Step 2. Back from a move or a null move: its value counts, or it is searched again.
        elif phase == BACK:
            value = -value
            if r.frame[f + NULL] == IN_NULL:
                r.frame[f + NULL] = NO_NULL
                is_known = value >= r.frame[f + BETA]
                r.frame[f + THREAT] = r.frame[f + FIELDS + BEST_MOVE] if value < -WON else 0
                value = min(value, LARGEST_GUESS)  # a null move proves nothing
            elif _come_back(v, r, me, ply, value):
                ply += 1
                phase = ENTER
                continue
            elif ply == 0:
                r.state[ROOT_MOVES] += 1
        # Step 3. The next move, or the position's value if there is none.
        if not is_known and r.frame[f + NEXT] == NOT_LISTED:
            is_known, value = list_moves(v, r, params, me, ply)
        if not is_known and _is_over(r, params, ply):
            is_known, value = True, _close(v, r, table, mask, me, ply)
        if not is_known:
            _go_down(v, r, params, me, ply)
            ply += 1
            phase = ENTER
        elif ply == 0:
            break
        else:
            phase = BACK
            ply -= 1
    r.state[PLY], r.state[PHASE], r.state[VALUE], r.state[NODES] = 0, ENTER, value, nodes
    return FINISHED


@njit(inline="always")
def _enter(
    v: View,
    c: VcfView,
    r: NegaScoutView,
    n: FramesView,
    table: NDArray[Any],
    mask: int,
    params: NegaScoutParams,
    me: int,
    ply: int,
) -> tuple[bool, int]:
    """Visit a position for the first time: True and its value if that is clear."""
    f, you = ply * FIELDS, 3 - me
    depth = np.int64(r.frame[f + DEPTH])
    if count_of(v, me, MAKES_FIVE):
        r.frame[f + BEST_MOVE] = first_of(v, me, MAKES_FIVE)
        return True, SURE - ply - 1
    if v.state[FREE] == 0:
        return True, 0
    fives = count_of(v, you, MAKES_FIVE)
    if fives:
        only = first_of(v, you, MAKES_FIVE)
        if fives > 1 or is_foul(v, only, me):
            r.frame[f + BEST_MOVE] = any_legal(v, me, only)
            return True, -(SURE - ply - 2)
    if fives == 0 and count_of(v, me, WINS_NEXT):
        r.frame[f + BEST_MOVE] = first_of(v, me, WINS_NEXT)
        return True, SURE - ply - 3
    if ply >= MOST_PLIES:
        return True, guess(v, n, params, me, ply)
    alpha = max(np.int64(r.frame[f + ALPHA]), -(SURE - ply - 2))
    beta = min(np.int64(r.frame[f + BETA]), SURE - ply - 3)
    if ply > 0 and alpha >= beta:
        return True, alpha
    key = v.state[HASH] ^ ATTACKER[me]
    entry = probe(table, mask, key)
    known_move = move_in(entry)
    if v.stone[known_move] != NOBODY:
        known_move = np.int64(0)
    elif ply > 0 and entry != NOTHING and depth_in(entry) >= depth:
        value, bound = value_in(entry), bound_in(entry)
        value += -ply if value > WON else ply if value < -WON else 0
        if bound == EXACT or (bound == AT_LEAST and value >= beta) or (bound == AT_MOST and value <= alpha):
            return True, value
    static = guess(v, n, params, me, ply)
    r.frame[f + STATIC] = static
    is_forced = fives == 1 or count_of(v, you, WINS_NEXT) > 0
    is_narrow = ply > 0 and not is_forced and beta - alpha == 1 and -WON < alpha < WON
    if fives == 0:
        is_last = depth <= 0 or (is_narrow and _is_razored(params, depth, static, alpha))
        if depth <= 0 and static >= beta:
            return True, static
        vcf_nodes = params.leaf_vcf_nodes if is_last else params.vcf_nodes if ply <= VCF_PLIES else 0
        fours = count_of(v, me, FOUR_AND_TWO) + count_of(v, me, FOUR_AND_THREE)
        if not is_last:
            fours += count_of(v, me, A_FOUR)
        if fours and vcf_nodes and finds_vcf(v, c, me, vcf_nodes) == WIN:
            r.frame[f + BEST_MOVE] = c.line[0]
            value = SURE - ply - c.state[PLIES]
            data = packed(value + ply, np.int64(c.line[0]), WITHOUT_DEPTH, EXACT, r.state[GENERATION])
            keep(table, mask, key, data)
            return True, value
        if is_last:
            return True, static
    is_null_due = False
    if is_narrow:
        if params.reverse_futility and depth <= REVERSE_DEPTH and static - params.reverse_futility * depth >= beta:
            return True, static
        is_null_due = params.null_move > 0 and depth >= params.null_move and static >= beta
        is_null_due &= r.frame[f - FIELDS + NULL] != IN_NULL
    if ply > 0 and not is_forced and params.iir and depth >= params.iir and known_move == 0:
        depth -= 1
    r.frame[f + ALPHA], r.frame[f + BETA], r.frame[f + FLOOR] = alpha, beta, alpha
    r.frame[f + BEST], r.frame[f + BEST_MOVE] = -SURE, 0
    r.frame[f + DEPTH] = depth
    r.frame[f + NEXT] = NOT_LISTED
    r.frame[f + KNOWN], r.frame[f + THREAT] = known_move, 0
    r.frame[f + NULL] = NULL_DUE if is_null_due else NO_NULL
    r.frame[f + IS_FORCED] = is_forced
    return False, 0


@njit(inline="always")
def _is_razored(params: NegaScoutParams, depth: int, static: int, alpha: int) -> bool:
    """Whether the evaluation is so far below alpha that only a VCF can help."""
    return params.razoring > 0 and depth <= RAZOR_DEPTH and static + params.razoring * depth <= alpha


@njit(inline="always")
def _pass(r: NegaScoutView, ply: int) -> None:
    """Begin a null move: if the opponent, with two moves in a row, cannot do better than beta, a move need not either.

    In Gomoku a further stone never harms, except in renju, where a null move's cutoff is a guess like any other.
    """
    f = ply * FIELDS
    g, depth = f + FIELDS, np.int64(r.frame[f + DEPTH])
    r.frame[f + NULL] = IN_NULL
    r.frame[g + ALPHA], r.frame[g + BETA] = -r.frame[f + BETA], 1 - r.frame[f + BETA]
    r.frame[g + DEPTH] = depth - NULL_PLIES - depth // NULL_SHARE
    r.frame[g + BEST_MOVE] = 0


@njit(inline="always")
def _is_over(r: NegaScoutView, params: NegaScoutParams, ply: int) -> bool:
    """Whether no move is left to search: there is a cutoff, all are done, or the rest is futile."""
    f = ply * FIELDS
    done, best = np.int64(r.frame[f + NEXT]), np.int64(r.frame[f + BEST])
    alpha, beta, depth = np.int64(r.frame[f + ALPHA]), np.int64(r.frame[f + BETA]), np.int64(r.frame[f + DEPTH])
    if done >= r.frame[f + END] or best >= beta:
        return True
    if params.futility == 0 or done < FUTILITY_MOVES or depth > FUTILITY_DEPTH or ply == 0 or r.frame[f + IS_FORCED]:
        return False
    return beta - alpha == 1 and best > -WON and np.int64(r.frame[f + STATIC]) + params.futility * depth <= alpha


@njit(inline="always")
def _close(v: View, r: NegaScoutView, table: NDArray[Any], mask: int, me: int, ply: int) -> int:
    """The value of a position whose moves are done, which is stored in the table."""
    f = ply * FIELDS
    value = np.int64(r.frame[f + BEST])
    if value < -DECIDED and not r.frame[f + IS_FORCED]:
        value += DOUBT
        r.frame[f + BEST] = value
    if ply == 0 and not r.state[IS_WHOLE]:
        return value
    bound = EXACT
    if value >= r.frame[f + BETA]:
        bound = AT_LEAST
    elif value <= r.frame[f + FLOOR]:
        bound = AT_MOST
    stored = value + (ply if value > WON else -ply if value < -WON else 0)
    key = v.state[HASH] ^ ATTACKER[me]
    move, depth = np.int64(r.frame[f + BEST_MOVE]), np.int64(r.frame[f + DEPTH])
    keep(table, mask, key, packed(stored, move, depth, bound, r.state[GENERATION]))
    return value


@njit(inline="always")
def _go_down(v: View, r: NegaScoutView, params: NegaScoutParams, me: int, ply: int) -> None:
    """Play the next move, less deep if it comes late (late-move reduction)."""
    f = ply * FIELDS
    done, depth, is_forced = np.int64(r.frame[f + NEXT]), np.int64(r.frame[f + DEPTH]), r.frame[f + IS_FORCED]
    alpha, beta = np.int64(r.frame[f + ALPHA]), np.int64(r.frame[f + BETA])
    move = pick_move(r, ply, done)
    child = depth if is_forced and r.frame[f + LISTED] == 1 else depth - 1
    stage, less = FIRST, np.int64(0)
    if done > 0:
        less = np.int64(params.reductions[max(0, min(DEPTHS - 1, depth)), min(COUNTS - 1, done)])
        if less > 0:
            mine, theirs = kind_at(v, move, me), kind_at(v, move, 3 - me)
            less -= LESS_FOR_FOUR if mine >= A_FOUR else LESS_FOR_THREE if mine >= A_THREE else 0
            less -= LESS_FOR_STOP if mine < A_THREE and theirs >= A_FOUR else 0
            less -= LESS_IF_FORCED if is_forced else 0
            less += np.int64(not is_improving(r, ply)) - np.int64(beta - alpha > 1)
        less = max(0, min(less, child))
        stage = REDUCED if less > 0 else SCOUT
    r.frame[f + STAGE] = stage
    r.frame[f + CHILD_DEPTH] = child
    g = f + FIELDS
    r.frame[g + ALPHA] = -beta if stage == FIRST else -alpha - 1
    r.frame[g + BETA] = -alpha
    r.frame[g + DEPTH] = child - less
    play(v, move, me)


@njit(inline="always")
def _come_back(v: View, r: NegaScoutView, me: int, ply: int, value: int) -> bool:
    """Process a move's value; whether the move must be searched again, deeper or with a wider window."""
    f, start = ply * FIELDS, ply * MOST_MOVES
    done = np.int64(r.frame[f + NEXT])
    move = np.int64(r.moves[start + done])
    stage = r.frame[f + STAGE]
    alpha, beta = np.int64(r.frame[f + ALPHA]), np.int64(r.frame[f + BETA])
    g = f + FIELDS
    if value > alpha and (stage == REDUCED or (stage == SCOUT and value < beta)):
        r.frame[f + STAGE] = SCOUT if stage == REDUCED else AGAIN
        r.frame[g + ALPHA] = -alpha - 1 if stage == REDUCED else -beta
        r.frame[g + BETA] = -alpha
        r.frame[g + DEPTH] = r.frame[f + CHILD_DEPTH]
        return True
    undo(v, move)
    if value > r.frame[f + BEST]:
        r.frame[f + BEST] = value
        if value > alpha or done == 0:
            r.frame[f + BEST_MOVE] = move
        if value > alpha:
            r.frame[f + ALPHA] = value
            if value >= beta:
                reward(r, me, ply, done)
    r.frame[f + NEXT] = done + 1
    return False

"""NegaScout (principal variation search) over the pattern board, with its stack in arrays.

Each move costs one ply of depth, except the only reply to a four, which costs none. Against a threatened open four,
only defences and own fours are searched. At the last ply, and wherever there are fours to play, a VCF search
(board/vcf.py) is made.

Because the stack is in arrays, a search can pause at any node, when nodes or time run out, and resume there.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import is_raised, monotonic_ns, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros
from plyd.engines.gomoku.board.board import (
    FREE,
    HASH,
    MARGIN,
    NOBODY,
    POINTS,
    SIZE,
    STRIDE,
    Board,
    View,
    count_of,
    evaluation,
    first_of,
    kind_at,
    list_near,
    play,
    undo,
    view,
)
from plyd.engines.gomoku.board.fouls import any_legal, is_foul, without_fouls
from plyd.engines.gomoku.board.patterns import (
    A_FOUR,
    A_THREE,
    COMBINATION_MASK,
    FOUR_AND_THREE,
    FOUR_AND_TWO,
    MAKES_FIVE,
    WINS_NEXT,
)
from plyd.engines.gomoku.board.vcf import ATTACKER, PLIES, WIN, Vcf, VcfView, finds_vcf, vcf_view
from plyd.engines.gomoku.board.vct import list_answers

MOST_PLIES, MOST_MOVES = 128, 400
SURE = 30_000  # value of a win now; a win in n plies is n less
DECIDED = 29_000  # a value beyond this is a proven result
DOUBT = 5_000  # added to the value of a loss that is proven only for the moves that were searched
WON = 24_000  # values beyond this count plies
LARGEST_GUESS = 20_000
ALPHA, BETA, FLOOR, BEST, BEST_MOVE, DEPTH, NEXT, END, LISTED, STAGE, CHILD_DEPTH, IS_FORCED = range(12)  # in a frame
FIELDS = 12
FIRST, REDUCED, SCOUT, AGAIN = range(4)  # stages of a move: full window, reduced null window, null window, full again
ENTER, NEXT_MOVE, BACK = range(3)
PLY, PHASE, VALUE, NODES, ROOT_MOVES, IS_WHOLE = range(6)  # indices in a workspace's state
FINISHED, OUT_OF_NODES, OUT_OF_TIME = range(3)
EXACT, AT_LEAST, AT_MOST = 1, 2, 3
POLL = 255
ENTRY = np.dtype(
    [("key", np.uint64), ("value", np.int16), ("move", np.int16), ("depth", np.int8), ("bound", np.uint8)], align=True
)


class NegaScoutWorkspace(NamedTuple):
    """The workspace of one thread."""

    frame: NDArray[np.int32]  # by ply and field
    moves: NDArray[np.int32]  # by ply
    scores: NDArray[np.int32]  # by ply
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
    """Parameters of the search."""

    width: int  # maximum moves of a position at the last ply; two more for each ply before it
    leaf_vcf_nodes: int  # of a VCF search at the last ply
    vcf_nodes: int  # of a VCF search at earlier plies


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


def table_for(entries: int) -> NDArray[Any]:
    """An empty transposition table; `entries` is a power of two."""
    return dense_zeros(entries, ENTRY)


@njit(inline="always")
def _workspace_view(space: NegaScoutWorkspace) -> NegaScoutView:
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


def begin_search(space: NegaScoutWorkspace, depth: int, alpha: int, beta: int) -> None:
    """Make the next call of `search_slice` start a new search of this depth and window."""
    space.state[PLY] = 0
    space.state[PHASE] = ENTER
    space.state[ROOT_MOVES] = 0
    space.frame[ALPHA] = alpha
    space.frame[BETA] = beta
    space.frame[DEPTH] = depth
    space.frame[BEST_MOVE] = 0


@njit(cache=True, nogil=True)
def search_slice(
    board: Board,
    vcf: Vcf,
    space: NegaScoutWorkspace,
    table: NDArray[Any],
    params: NegaScoutParams,
    colour: int,
    limit: NegaScoutLimit,
) -> int:
    """Search until finished or a limit is reached. `state[VALUE]` is the value for the side to move."""
    v, c, r = view(board), vcf_view(vcf), _workspace_view(space)
    mask = np.uint64(table.size - 1)
    ply, phase, value, nodes = r.state[PLY], r.state[PHASE], r.state[VALUE], r.state[NODES]
    while True:
        f = ply * FIELDS
        me = colour if ply % 2 == 0 else 3 - colour
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
            is_known, value = _enter(v, c, r, table, mask, params, me, ply)
            phase = BACK if is_known else NEXT_MOVE
            if is_known:
                if ply == 0:
                    break
                ply -= 1
            continue
        if phase == NEXT_MOVE:
            best = r.frame[f + BEST]
            done = r.frame[f + NEXT]
            if done >= r.frame[f + END] or best >= r.frame[f + BETA]:
                if best < -DECIDED and not r.frame[f + IS_FORCED]:
                    best += DOUBT
                    r.frame[f + BEST] = best
                value = np.int64(best)
                if ply > 0 or r.state[IS_WHOLE]:
                    _store(v, r, table, mask, me, ply)
                if ply == 0:
                    break
                phase = BACK
                ply -= 1
                continue
            _go_down(v, r, me, ply, done)
            ply += 1
            phase = ENTER
            continue
        value = _come_back(v, r, me, ply, -value)
        if value == 1:  # search again, deeper or with a wider window
            ply += 1
            phase = ENTER
        else:
            phase = NEXT_MOVE
            if ply == 0:
                r.state[ROOT_MOVES] += 1
    r.state[PLY], r.state[PHASE], r.state[VALUE], r.state[NODES] = 0, ENTER, value, nodes
    return FINISHED


@njit(inline="always")
def _enter(
    v: View, c: VcfView, r: NegaScoutView, table: NDArray[Any], mask: int, params: NegaScoutParams, me: int, ply: int
) -> tuple[bool, int]:
    """Visit a position for the first time: set its value if it is clear, else list its moves."""
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
        return True, _guess(v, me)
    alpha = max(np.int64(r.frame[f + ALPHA]), -(SURE - ply - 2))
    beta = min(np.int64(r.frame[f + BETA]), SURE - ply - 3)
    if ply > 0 and alpha >= beta:
        return True, alpha
    key = v.state[HASH] ^ ATTACKER[me]
    entry = table[key & mask]
    known_move = -1
    if entry.key == key:
        known_move = np.int64(entry.move)
        if v.stone[known_move] != NOBODY:
            known_move = -1
        elif ply > 0 and entry.depth >= depth:
            value = np.int64(entry.value)
            value += -ply if value > WON else ply if value < -WON else 0
            bound = entry.bound
            if bound == EXACT or (bound == AT_LEAST and value >= beta) or (bound == AT_MOST and value <= alpha):
                return True, value
    if fives == 0:
        if depth <= 0 and _guess(v, me) >= beta:
            return True, _guess(v, me)
        fours = count_of(v, me, FOUR_AND_TWO) + count_of(v, me, FOUR_AND_THREE)
        if depth > 0:
            fours += count_of(v, me, A_FOUR)
        if fours and finds_vcf(v, c, me, params.vcf_nodes if depth > 0 else params.leaf_vcf_nodes) == WIN:
            r.frame[f + BEST_MOVE] = c.line[0]
            value = SURE - ply - c.state[PLIES]
            _keep(table, mask, key, value + ply, np.int64(c.line[0]), 100, EXACT)
            return True, value
        if depth <= 0:
            return True, _guess(v, me)
    threats = count_of(v, you, WINS_NEXT)
    r.frame[f + ALPHA] = alpha
    r.frame[f + BETA] = beta
    r.frame[f + FLOOR] = alpha
    r.frame[f + BEST] = -SURE
    r.frame[f + BEST_MOVE] = 0
    r.frame[f + NEXT] = 0
    r.frame[f + IS_FORCED] = fives == 1 or threats > 0
    _list_moves(v, r, params, me, ply, fives, threats, known_move)
    if r.frame[f + END] == 0:  # no defence against an open four, or all moves are forbidden
        return True, -(SURE - ply - 4 if threats else SURE - ply)
    return False, 0


@njit(inline="always")
def _guess(v: View, me: int) -> int:
    return max(-LARGEST_GUESS, min(LARGEST_GUESS, evaluation(v, me)))


@njit(inline="always")
def _list_moves(
    v: View, r: NegaScoutView, params: NegaScoutParams, me: int, ply: int, fives: int, threats: int, known_move: int
) -> None:
    """List the moves to try, each with a score for move ordering."""
    f, you, start = ply * FIELDS, 3 - me, ply * MOST_MOVES
    end = start
    if fives:
        r.moves[end] = first_of(v, you, MAKES_FIVE)
        end += 1
    elif threats:
        end = list_answers(v, you, r.marks, r.moves, end)
        if end == start and ply == 0:  # lost, but the root needs a move
            r.moves[end] = any_legal(v, me, first_of(v, you, WINS_NEXT))
            end += 1
    else:
        end = without_fouls(v, me, r.moves, start, list_near(v, r.moves, end))
    if end == start and not threats:
        end = without_fouls(v, me, r.moves, start, _list_all(v, r, end))
    if ply == 0:
        kept = start
        for i in range(start, end):
            if not r.barred[r.moves[i]]:
                r.moves[kept] = r.moves[i]
                kept += 1
        r.state[IS_WHOLE] = kept == end
        end = kept
    for i in range(start, end):
        move = np.int64(r.moves[i])
        mine, theirs = np.int64(v.combo[2 * move + me - 1]), np.int64(v.combo[2 * move + you - 1])
        score = np.int64(v.ordering[2 * (mine & COMBINATION_MASK) + 1])
        score += np.int64(v.ordering[2 * (theirs & COMBINATION_MASK)])
        score = 8 * score + np.int64(r.history[(me - 1) * POINTS + move])
        if move == r.killers[2 * ply] or move == r.killers[2 * ply + 1]:
            score += 400
        if move == known_move:
            score = 1 << 28
        r.scores[i] = score
    r.frame[f + LISTED] = end - start
    width = params.width + 2 * np.int64(r.frame[f + DEPTH])
    r.frame[f + END] = end - start if ply == 0 or fives or threats else min(end - start, width)


@njit(inline="always")
def _list_all(v: View, r: NegaScoutView, end: int) -> int:
    """Every empty point; only the centre if the board is empty."""
    size = np.int64(v.state[SIZE])
    middle = (MARGIN + size // 2) * STRIDE + MARGIN + size // 2
    if v.stone[middle] == NOBODY and np.int64(v.state[FREE]) == size * size and not r.barred[middle]:
        r.moves[end] = middle
        return end + 1
    for row in range(MARGIN, MARGIN + size):
        for point in range(row * STRIDE + MARGIN, row * STRIDE + MARGIN + size):
            if v.stone[point] == NOBODY:
                r.moves[end] = point
                end += 1
    return end


@njit(inline="always")
def _go_down(v: View, r: NegaScoutView, me: int, ply: int, done: int) -> None:
    """Play the remaining move with the highest score."""
    f, start = ply * FIELDS, ply * MOST_MOVES
    chosen = start + done
    for i in range(chosen + 1, start + r.frame[f + LISTED]):
        if r.scores[i] > r.scores[chosen]:
            chosen = i
    r.moves[start + done], r.moves[chosen] = r.moves[chosen], r.moves[start + done]
    r.scores[start + done], r.scores[chosen] = r.scores[chosen], r.scores[start + done]
    move = np.int64(r.moves[start + done])
    depth = np.int64(r.frame[f + DEPTH])
    is_forced = r.frame[f + IS_FORCED]
    child = depth if is_forced and r.frame[f + LISTED] == 1 else depth - 1
    stage, less = FIRST, 0
    if done > 0:
        stage = SCOUT
        if (
            depth >= 3
            and done >= 4
            and not is_forced
            and kind_at(v, move, me) < A_THREE
            and kind_at(v, move, 3 - me) < A_THREE
        ):
            less = 1 + (done >= 12) + (done >= 12 and depth >= 6)
            stage = REDUCED
    r.frame[f + STAGE] = stage
    r.frame[f + CHILD_DEPTH] = child
    alpha, beta = r.frame[f + ALPHA], r.frame[f + BETA]
    g = f + FIELDS
    r.frame[g + ALPHA] = -beta if stage == FIRST else -alpha - 1
    r.frame[g + BETA] = -alpha
    r.frame[g + DEPTH] = child - less
    play(v, move, me)


@njit(inline="always")
def _come_back(v: View, r: NegaScoutView, me: int, ply: int, value: int) -> int:
    """Process a move's value; returns 1 if the move must be searched again, deeper or with a wider window."""
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
        return 1
    undo(v, move)
    if value > r.frame[f + BEST]:
        r.frame[f + BEST] = value
        if value > alpha or done == 0:
            r.frame[f + BEST_MOVE] = move
        if value > alpha:
            r.frame[f + ALPHA] = value
            if value >= beta:
                _reward(r, me, ply, done)
    r.frame[f + NEXT] = done + 1
    return 0


@njit(inline="always")
def _reward(r: NegaScoutView, me: int, ply: int, done: int) -> None:
    """Update killers and history after a beta cutoff: a bonus for the move, a malus for those tried before it."""
    start = ply * MOST_MOVES
    move = np.int64(r.moves[start + done])
    depth = max(1, np.int64(r.frame[ply * FIELDS + DEPTH]))
    bonus = min(400, depth * depth)
    if move != r.killers[2 * ply]:
        r.killers[2 * ply + 1] = r.killers[2 * ply]
        r.killers[2 * ply] = move
    for i in range(start, start + done + 1):
        at = (me - 1) * POINTS + np.int64(r.moves[i])
        change = bonus if i == start + done else -bonus
        r.history[at] += change - np.int64(r.history[at]) * bonus // 1024


@njit(inline="always")
def _store(v: View, r: NegaScoutView, table: NDArray[Any], mask: int, me: int, ply: int) -> None:
    f = ply * FIELDS
    value = np.int64(r.frame[f + BEST])
    bound = EXACT
    if value >= r.frame[f + BETA]:
        bound = AT_LEAST
    elif value <= r.frame[f + FLOOR]:
        bound = AT_MOST
    value += ply if value > WON else -ply if value < -WON else 0
    key = v.state[HASH] ^ ATTACKER[me]
    _keep(table, mask, key, value, np.int64(r.frame[f + BEST_MOVE]), np.int64(r.frame[f + DEPTH]), bound)


@njit(inline="always")
def _keep(table: NDArray[Any], mask: int, key: int, value: int, move: int, depth: int, bound: int) -> None:
    entry = table[key & mask]
    entry.key = key
    entry.value = value
    entry.move = move
    entry.depth = max(-8, min(127, depth))
    entry.bound = bound


@njit(cache=True, nogil=True)
def follow(board: Board, table: NDArray[Any], colour: int, move: int, most: int) -> NDArray[np.int32]:
    """A line of at most `most` moves: a move, then the table's best moves. They stay on the board."""
    v = view(board)
    mask = np.uint64(table.size - 1)
    line = np.zeros(most, np.int32)
    count = 0
    while True:
        line[count] = move
        count += 1
        is_five = kind_at(v, move, colour) == MAKES_FIVE
        play(v, move, colour)
        colour = 3 - colour
        if count == most or is_five:
            break
        entry = table[(v.state[HASH] ^ ATTACKER[colour]) & mask]
        move = np.int64(entry.move)
        if entry.key != v.state[HASH] ^ ATTACKER[colour] or move <= 0 or v.stone[move] != NOBODY:
            break
    return line[:count]

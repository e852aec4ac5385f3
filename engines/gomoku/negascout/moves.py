"""The moves of a position in NegaScout: which are searched, in what order, and what is learned from cutoffs."""

import numpy as np

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    FREE,
    MARGIN,
    NOBODY,
    POINTS,
    SIZE,
    STRIDE,
    View,
    count_of,
    first_of,
    list_near,
)
from plyd.engines.gomoku.board.fouls import any_legal, without_fouls
from plyd.engines.gomoku.board.patterns import COMBINATION_MASK, MAKES_FIVE, WINS_NEXT
from plyd.engines.gomoku.board.vct import list_answers
from plyd.engines.gomoku.negascout.workspace import (
    DEPTH,
    DEPTHS,
    END,
    FIELDS,
    IS_EVERY,
    IS_FORCED,
    IS_WHOLE,
    KNOWN,
    LAST,
    LISTED,
    MOST_MOVES,
    NEXT,
    SURE,
    THREAT,
    NegaScoutParams,
    NegaScoutView,
)

KILLER_BONUS, THREAT_BONUS, KNOWN_BONUS = 400, 800, 540_000
POINT_BITS = 10  # of a score: its lowest bits are the move
LARGEST_SCORE = (1 << 20) - 1  # learned weights have 16 bits: 16 times the largest is half of it
LEAST_SCORE, NO_SCORE = -(2**31), 2**31 - 1


@njit(inline="always")
def list_moves(v: View, r: NegaScoutView, params: NegaScoutParams, me: int, ply: int) -> tuple[bool, int]:
    """List the moves to search, each with a score for move ordering; True and the value if there is none."""
    f, you, start = ply * FIELDS, 3 - me, ply * MOST_MOVES
    fives, threats = count_of(v, you, MAKES_FIVE), count_of(v, you, WINS_NEXT)
    end = start
    if fives:
        r.moves[end] = first_of(v, you, MAKES_FIVE)
        end += 1
    elif threats:
        end = list_answers(v, you, r.marks, r.moves, end)
        if end == start and ply == 0:  # lost, but the root needs a move
            r.moves[end] = any_legal(v, me, first_of(v, you, WINS_NEXT))
            end += 1
    elif ply > 0 or not r.state[IS_EVERY]:
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
        r.frame[f + IS_FORCED] |= r.state[IS_EVERY] and kept == end
        end = kept
    _score_moves(v, r, me, ply, start, end)
    r.frame[f + NEXT] = 0
    r.frame[f + LISTED] = end - start
    r.frame[f + END] = end - start
    if ply > 0 and not fives and not threats:
        depth = max(0, min(DEPTHS - 1, np.int64(r.frame[f + DEPTH])))
        r.frame[f + END] = min(end - start, np.int64(params.counts[depth]))
    if end == start:  # no defence against an open four, or all moves are forbidden
        return True, -(SURE - ply - 4 if threats else SURE - ply)
    return False, 0


@njit(inline="always")
def _score_moves(v: View, r: NegaScoutView, me: int, ply: int, start: int, end: int) -> None:
    """The score of each move: learned weights of what it makes and prevents, history, killers, the table's move.

    Bonuses are added to the history for the time of the loop, so that the loop has no branches.
    """
    f, history = ply * FIELDS, (me - 1) * POINTS
    _add_bonuses(r, history, ply, 1)
    for i in range(start, end):
        move = np.int64(r.moves[i])
        mine, theirs = np.int64(v.combo[2 * move + me - 1]), np.int64(v.combo[2 * move + 2 - me])
        score = np.int64(v.ordering[2 * (mine & COMBINATION_MASK) + 1])
        score += np.int64(v.ordering[2 * (theirs & COMBINATION_MASK)])
        score = 8 * score + np.int64(r.history[history + move])
        r.scores[i] = min(score, LARGEST_SCORE) << POINT_BITS | move
    _add_bonuses(r, history, ply, -1)
    r.frame[f + LAST] = NO_SCORE


@njit(inline="always")
def _add_bonuses(r: NegaScoutView, history: int, ply: int, sign: int) -> None:
    """Add the bonuses of the table's move, the threat and the killers, or take them back; point 0 stands for none."""
    r.history[history + r.frame[ply * FIELDS + KNOWN]] += sign * KNOWN_BONUS
    r.history[history + r.frame[ply * FIELDS + THREAT]] += sign * THREAT_BONUS
    r.history[history + r.killers[2 * ply]] += sign * KILLER_BONUS
    r.history[history + r.killers[2 * ply + 1]] += sign * KILLER_BONUS


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
def pick_move(r: NegaScoutView, ply: int, done: int) -> int:
    """The move with the highest score below the last one's, put next in the list.

    No two scores are equal, because a score has its point in it. So nothing is swapped, and the loop has no branches.
    """
    start, last = ply * MOST_MOVES, np.int32(r.frame[ply * FIELDS + LAST])
    best = np.int32(LEAST_SCORE)
    for i in range(start, start + r.frame[ply * FIELDS + LISTED]):
        score = np.int32(r.scores[i])
        best = max(best, score if score < last else np.int32(LEAST_SCORE))
    r.frame[ply * FIELDS + LAST] = best
    move = np.int64(best) & (1 << POINT_BITS) - 1
    r.moves[start + done] = move
    return move


@njit(inline="always")
def reward(r: NegaScoutView, me: int, ply: int, done: int) -> None:
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

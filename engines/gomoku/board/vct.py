"""VCT, victory by continuous threats (fours and open threes), by proof-number search.

An open three leaves the defender a few replies, and any four of its own. The stack is in arrays, as in vcf.py. While a
search is unfinished, the board shows its current position; `leave_vct` undoes that.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    HASH,
    NOBODY,
    POINTS,
    RADIUS,
    Board,
    View,
    code_of,
    count_of,
    first_of,
    list_of,
    play,
    step_of,
    undo,
    view,
)
from plyd.engines.gomoku.board.fouls import is_foul, without_fouls
from plyd.engines.gomoku.board.patterns import (
    A_FOUR,
    A_THREE,
    FOUR,
    FOUR_AND_THREE,
    FOUR_AND_TWO,
    MAKES_FIVE,
    MAYBE_FOUL_WITH_FOUR,
    WINS_NEXT,
)
from plyd.engines.gomoku.board.vcf import ATTACKER, FAIL, IS_NEW, LEVEL, LEVELS, NODES, ROOM, UNDECIDED, WIN, begin

INFINITE = 1 << 30
FOURS = (A_FOUR, FOUR_AND_TWO, FOUR_AND_THREE, WINS_NEXT, MAYBE_FOUL_WITH_FOUR)  # kinds of points that make a four
SEEN_POINTS = 4  # winning points of the attacker that are considered, at most


class Vct(NamedTuple):
    """Memory of a proof-number search."""

    line: NDArray[np.int32]
    moves: NDArray[np.int32]
    frame: NDArray[np.int64]  # by level: first move, end, proof and disproof thresholds
    key: NDArray[np.uint64]
    numbers: NDArray[np.int32]  # by slot: proof number and disproof number
    marks: NDArray[np.int32]  # by point
    state: NDArray[np.int64]


class VctView(NamedTuple):
    """A Vct by address."""

    line: Any
    moves: Any
    frame: Any
    key: Any
    numbers: Any
    marks: Any
    state: Any
    mask: Any


def vct_for(slots: int = 1 << 16) -> Vct:
    """An empty memory; `slots` is a power of two."""
    return Vct(
        np.zeros(LEVELS + 4, np.int32),
        np.zeros(ROOM, np.int32),
        np.zeros(4 * LEVELS, np.int64),
        np.zeros(slots, np.uint64),
        np.zeros(2 * slots, np.int32),
        np.zeros(POINTS, np.int32),
        np.zeros(4, np.int64),
    )


@njit(inline="always")
def vct_view(vct: Vct) -> VctView:
    """A Vct by address."""
    return VctView(
        pointer_to(vct.line),
        pointer_to(vct.moves),
        pointer_to(vct.frame),
        pointer_to(vct.key),
        pointer_to(vct.numbers),
        pointer_to(vct.marks),
        pointer_to(vct.state),
        np.uint64(vct.key.size - 1),
    )


@njit(nogil=True)
def list_answers(v: View, attacker: int, marks: Any, into: Any, count: int) -> int:
    """Append the possible defences against the attacker's points that win next, if neither side can make five.

    Only points in line with a winning point can change it, so a defence is in line with all of them, or is a four of
    the defender's own. Points forbidden to the defender are left out.
    """
    defender = 3 - attacker
    start = count
    end = list_of(v, attacker, np.int64(WINS_NEXT), into, start)
    points = min(end - start, SEEN_POINTS)
    for k in range(points):
        point = np.int64(into[start + k])
        code = code_of(v, point, attacker)
        marks[point] = marks[point] + 1 if marks[point] == k else marks[point]
        for line in range(4):
            if (code >> (4 * line)) & 15 >= FOUR:
                step = step_of(line)
                for i in range(-np.int64(v.state[RADIUS]), np.int64(v.state[RADIUS]) + 1):
                    near = point + i * step
                    if v.stone[near] == NOBODY and marks[near] == k:
                        marks[near] = k + 1
    # Every defence is the first winning point, or in line with it.
    point = np.int64(into[start])
    code = code_of(v, point, attacker)
    count = start
    if marks[point] == points:
        into[count] = point
        count += 1
    marks[point] = 0
    for line in range(4):
        if (code >> (4 * line)) & 15 >= FOUR:
            step = step_of(line)
            for i in range(-np.int64(v.state[RADIUS]), np.int64(v.state[RADIUS]) + 1):
                near = point + i * step
                if marks[near] == points and v.stone[near] == NOBODY:
                    into[count] = near
                    count += 1
                marks[near] = 0
    saved = count
    for kind in FOURS:
        before = count
        count = list_of(v, defender, kind, into, count)
        # Skip duplicates.
        kept = before
        for i in range(before, count):
            is_new = True
            for j in range(start, saved):
                if into[j] == into[i]:
                    is_new = False
                    break
            if is_new:
                into[kept] = into[i]
                kept += 1
        count = kept
    return without_fouls(v, defender, into, start, count)


@njit(nogil=True)
def search_vct(v: View, p: VctView, attacker: int, nodes: int) -> int:
    """Whether the attacker, to move, wins by fours and open threes: WIN, FAIL, or UNDECIDED after `nodes` nodes.

    Proof-number search, depth first (df-pn): each level follows the child with the least left to prove until another
    child has less. After a WIN, line[0] is a winning move.
    """
    level = p.state[LEVEL]
    while True:
        is_attack = level % 2 == 0
        stones = v.state[HASH] ^ ATTACKER[attacker]
        key = stones if is_attack else ~stones
        if p.state[IS_NEW]:
            p.state[IS_NEW] = 0
            p.state[NODES] += 1
            nodes -= 1
            start = 0 if level == 0 else np.int64(p.frame[4 * level - 3])
            end = start
            verdict = UNDECIDED
            if level >= LEVELS - 2 or start > ROOM - 1024:
                verdict = FAIL
            elif is_attack:
                verdict, end = _attacks(v, p, attacker, start)
            else:
                verdict, end = _answers(v, p, attacker, start)
            if verdict != UNDECIDED:
                if level == 0:
                    p.state[LEVEL] = 0
                    p.line[0] = p.moves[0]
                    return verdict
                _remember(p, key, 0 if verdict == WIN else INFINITE, INFINITE if verdict == WIN else 0)
                level -= 1
                undo(v, np.int64(p.line[level]))
                continue
            p.frame[4 * level] = start
            p.frame[4 * level + 1] = end
            if level == 0:
                p.frame[2] = INFINITE
                p.frame[3] = INFINITE
        mover = attacker if is_attack else 3 - attacker
        least, second, total, at = INFINITE, INFINITE, 0, -1
        chosen_other = 0
        i = p.frame[4 * level]
        while i < p.frame[4 * level + 1]:
            move = np.int64(p.moves[i])
            child = stones ^ v.random[move * 2 + mover - 1]
            if is_attack:
                child = ~child
            slot = child & p.mask
            proof, disproof = 1, 1
            if p.key[slot] == child:
                proof, disproof = np.int64(p.numbers[2 * slot]), np.int64(p.numbers[2 * slot + 1])
            mine, theirs = (proof, disproof) if is_attack else (disproof, proof)
            if mine == INFINITE:  # refuted: drop the move
                p.frame[4 * level + 1] -= 1
                p.moves[i] = p.moves[p.frame[4 * level + 1]]
                continue
            total = min(INFINITE, total + theirs)
            if mine < least:
                least, second, at, chosen_other = mine, least, i, theirs
            elif mine < second:
                second = mine
            i += 1
        limit_mine, limit_theirs = p.frame[4 * level + 2], p.frame[4 * level + 3]
        if not is_attack:
            limit_mine, limit_theirs = limit_theirs, limit_mine
        if least >= limit_mine or total >= limit_theirs or least == 0 or total == 0:
            if is_attack:
                _remember(p, key, least, total)
            else:
                _remember(p, key, total, least)
            if level == 0:
                p.state[LEVEL] = 0
                if least == 0:
                    p.line[0] = p.moves[at]
                    return WIN
                return FAIL
            level -= 1
            undo(v, np.int64(p.line[level]))
            continue
        if nodes <= 0:
            p.state[LEVEL] = level
            return UNDECIDED
        next_mine = min(limit_mine, second + 1 + second // 4)  # a margin, against frequent switching
        next_theirs = min(INFINITE, limit_theirs - total + chosen_other)
        p.line[level] = p.moves[at]
        play(v, np.int64(p.moves[at]), mover)
        level += 1
        p.frame[4 * level + 2] = next_mine if is_attack else next_theirs
        p.frame[4 * level + 3] = next_theirs if is_attack else next_mine
        p.state[IS_NEW] = 1


@njit(inline="always")
def _remember(p: VctView, key: int, proof: int, disproof: int) -> None:
    slot = key & p.mask
    p.key[slot] = key
    p.numbers[2 * slot] = proof
    p.numbers[2 * slot + 1] = disproof


@njit(inline="always")
def _attacks(v: View, p: VctView, attacker: int, start: int) -> tuple[int, int]:
    """Status of a position with the attacker to move, and the end of the list of threats to try."""
    defender = 3 - attacker
    if count_of(v, attacker, MAKES_FIVE):
        p.moves[start] = first_of(v, attacker, MAKES_FIVE)
        return WIN, start
    fives = count_of(v, defender, MAKES_FIVE)
    if fives > 1:
        return FAIL, start
    end = start
    if fives == 1:
        p.moves[end] = first_of(v, defender, MAKES_FIVE)
        return (FAIL if is_foul(v, np.int64(p.moves[end]), attacker) else UNDECIDED), end + 1
    if count_of(v, attacker, WINS_NEXT):
        p.moves[start] = first_of(v, attacker, WINS_NEXT)
        return WIN, start
    for kind in range(FOUR_AND_THREE, A_THREE - 1, -1):
        end = list_of(v, attacker, kind, p.moves, end)
    return (UNDECIDED if end > start else FAIL), end


@njit(inline="always")
def _answers(v: View, p: VctView, attacker: int, start: int) -> tuple[int, int]:
    """Status of a position with the defender to move, and the end of the list of replies to try."""
    if count_of(v, 3 - attacker, MAKES_FIVE):
        return FAIL, start
    fives = count_of(v, attacker, MAKES_FIVE)
    if fives > 1:
        return WIN, start
    if fives == 1:
        p.moves[start] = first_of(v, attacker, MAKES_FIVE)
        return (WIN if is_foul(v, np.int64(p.moves[start]), 3 - attacker) else UNDECIDED), start + 1
    if count_of(v, attacker, WINS_NEXT) == 0:
        return FAIL, start
    end = list_answers(v, attacker, p.marks, p.moves, start)
    return (UNDECIDED if end > start else WIN), end


@njit(inline="always")
def leave_vct(v: View, p: VctView) -> None:
    """Undo the moves that a VCT search has played on the board."""
    for i in range(p.state[LEVEL] - 1, -1, -1):
        undo(v, np.int64(p.line[i]))
    p.state[LEVEL] = 0


@njit(inline="always")
def finds_vct(v: View, p: VctView, attacker: int, nodes: int) -> int:
    """Like `search_vct`, but always a new search, and the board is unchanged afterwards."""
    begin(p)
    found = search_vct(v, p, attacker, nodes)
    leave_vct(v, p)
    return found


@njit(cache=True, nogil=True)
def continue_vct(board: Board, vct: Vct, attacker: int, nodes: int, is_new: bool) -> tuple[int, int, int]:
    """A slice of `search_vct`: the result, the winning move, the nodes. The board must be the one of this search."""
    v, p = view(board), vct_view(vct)
    if is_new:
        begin(p)
    before = p.state[NODES]
    found = search_vct(v, p, attacker, nodes)
    return found, np.int64(p.line[0]), p.state[NODES] - before

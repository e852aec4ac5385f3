"""VCF, victory by continuous fours: a depth-first search for one side; each four leaves the defender one reply.

The stack is in arrays: a search that ran out of nodes can resume later, and failed positions are remembered. While a
search is unfinished, the board shows its current position; `leave_vcf` undoes that.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    HASH,
    NOBODY,
    RADIUS,
    WALL,
    Board,
    View,
    around,
    code_of,
    count_of,
    first_of,
    kind_at,
    line_of,
    list_of,
    play,
    reach_of,
    step_of,
    undo,
    view,
)
from plyd.engines.gomoku.board.fouls import is_foul_after
from plyd.engines.gomoku.board.patterns import A_FOUR, DEAD, FIVE, FOUR, FOUR_AND_THREE, MAKES_FIVE, WINS_NEXT

UNDECIDED, WIN, FAIL = 0, 1, 2
LEVELS, ROOM = 128, 1 << 13
LEVEL, IS_NEW, PLIES, NODES = range(4)  # indices in the state of a VCF or VCT
ATTACKER = np.array([0, 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)


class Vcf(NamedTuple):
    """Memory of a VCF search."""

    line: NDArray[np.int32]  # attacks and replies, alternately
    moves: NDArray[np.int32]  # fours still to try, by level
    frame: NDArray[np.int32]  # by level: index of the next move, and the end
    failed: NDArray[np.uint64]  # hash table of positions without a VCF
    state: NDArray[np.int64]


class VcfView(NamedTuple):
    """A Vcf by address."""

    line: Any
    moves: Any
    frame: Any
    failed: Any
    state: Any
    mask: Any


def vcf_for(slots: int = 1 << 17) -> Vcf:
    """An empty memory; `slots` is a power of two."""
    return Vcf(
        np.zeros(2 * LEVELS + 4, np.int32),
        np.zeros(ROOM, np.int32),
        np.zeros(2 * LEVELS, np.int32),
        np.zeros(slots, np.uint64),
        np.zeros(4, np.int64),
    )


@njit(inline="always")
def vcf_view(vcf: Vcf) -> VcfView:
    """A Vcf by address."""
    return VcfView(
        pointer_to(vcf.line),
        pointer_to(vcf.moves),
        pointer_to(vcf.frame),
        pointer_to(vcf.failed),
        pointer_to(vcf.state),
        np.uint64(vcf.failed.size - 1),
    )


@njit(inline="always")
def begin(c: Any) -> None:
    """Make the next call start a new search from the position on the board."""
    c.state[LEVEL] = 0
    c.state[IS_NEW] = 1
    c.state[PLIES] = 0
    c.state[NODES] = 0


@njit(inline="always")
def answer_to(v: View, move: int, attacker: int) -> int:
    """The only reply to the four that the attacker's move would make: the point where five would be next."""
    code, line = code_of(v, move, attacker), 0
    while (code >> (4 * line)) & 15 != FOUR:
        line += 1
    at, place = line_of(move, line)
    word = v.lines[at] ^ np.uint64(attacker) << np.uint64(2 * place)
    other = place - np.int64(v.state[RADIUS]) - 1
    found = DEAD
    while found != FIVE:
        other += 1
        bit = np.uint64(2 * other)
        if word >> bit & np.uint64(WALL) == NOBODY:
            both = np.int64(v.classes[around(word, bit, reach_of(v))])
            found = both >> (4 * (attacker - 1)) & 15
    return move + (other - place) * step_of(line)


@njit(nogil=True)
def search_vcf(v: View, c: VcfView, attacker: int, nodes: int) -> int:
    """Whether the attacker, to move, wins by fours alone: WIN, FAIL, or UNDECIDED after `nodes` nodes.

    After a WIN, `line` has a win in PLIES plies; after an open four, the last two plies are not written.
    """
    defender = 3 - attacker
    level = c.state[LEVEL]
    while True:
        if c.state[IS_NEW]:
            c.state[IS_NEW] = 0
            c.state[NODES] += 1
            nodes -= 1
            start = 0 if level == 0 else np.int64(c.frame[2 * level - 1])
            end = start
            if count_of(v, attacker, MAKES_FIVE):
                c.line[2 * level] = first_of(v, attacker, MAKES_FIVE)
                c.state[PLIES] = 2 * level + 1
                c.state[LEVEL] = level
                return WIN
            key = v.state[HASH] ^ ATTACKER[attacker]
            if c.failed[key & c.mask] != key:
                threats = count_of(v, defender, MAKES_FIVE)
                winner = -1
                if threats == 1:
                    point = first_of(v, defender, MAKES_FIVE)
                    kind = kind_at(v, point, attacker)
                    if kind == WINS_NEXT:
                        winner = point
                    elif A_FOUR <= kind < WINS_NEXT:
                        c.moves[end] = point
                        end += 1
                elif threats == 0:
                    if count_of(v, attacker, WINS_NEXT):
                        winner = first_of(v, attacker, WINS_NEXT)
                    elif start < ROOM - 512:
                        for kind in range(FOUR_AND_THREE, A_FOUR - 1, -1):
                            end = list_of(v, attacker, kind, c.moves, end)
                if winner >= 0:
                    c.line[2 * level] = winner
                    c.state[PLIES] = 2 * level + 3
                    c.state[LEVEL] = level
                    return WIN
            c.frame[2 * level] = start
            c.frame[2 * level + 1] = end
        at = np.int64(c.frame[2 * level])
        if at >= c.frame[2 * level + 1] or level == LEVELS - 1:
            key = v.state[HASH] ^ ATTACKER[attacker]
            c.failed[key & c.mask] = key
            if level == 0:
                c.state[LEVEL] = 0
                return FAIL
            level -= 1
            undo(v, np.int64(c.line[2 * level + 1]))
            undo(v, np.int64(c.line[2 * level]))
            continue
        if nodes <= 0:
            c.state[LEVEL] = level
            return UNDECIDED
        c.frame[2 * level] = at + 1
        move = np.int64(c.moves[at])
        answer = answer_to(v, move, attacker)
        if is_foul_after(v, answer, defender, move):
            c.line[2 * level] = move
            c.state[PLIES] = 2 * level + 3
            c.state[LEVEL] = level
            return WIN
        key = v.state[HASH] ^ ATTACKER[attacker]
        key ^= v.random[2 * move + attacker - 1] ^ v.random[2 * answer + defender - 1]
        if c.failed[key & c.mask] == key:  # known to fail: skip it without playing it
            c.state[NODES] += 1
            nodes -= 1
            continue
        play(v, move, attacker)
        play(v, answer, defender)
        c.line[2 * level] = move
        c.line[2 * level + 1] = answer
        level += 1
        c.state[IS_NEW] = 1


@njit(inline="always")
def leave_vcf(v: View, c: VcfView) -> None:
    """Undo the moves that a VCF search has played on the board."""
    for i in range(2 * c.state[LEVEL] - 1, -1, -1):
        undo(v, np.int64(c.line[i]))
    c.state[LEVEL] = 0


@njit(inline="always")
def finds_vcf(v: View, c: VcfView, attacker: int, nodes: int) -> int:
    """Like `search_vcf`, but always a new search, and the board is unchanged afterwards."""
    begin(c)
    found = search_vcf(v, c, attacker, nodes)
    leave_vcf(v, c)
    return found


@njit(cache=True, nogil=True)
def continue_vcf(board: Board, vcf: Vcf, attacker: int, nodes: int, is_new: bool) -> tuple[int, int]:
    """A slice of `search_vcf`: the result and the winning move. The board must be the one of this search."""
    v, c = view(board), vcf_view(vcf)
    if is_new:
        begin(c)
    found = search_vcf(v, c, attacker, nodes)
    return found, np.int64(c.line[0])

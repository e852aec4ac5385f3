"""VCF, victory by continuous fours: a search for one side, depth first, since a four leaves the defender one answer.

Its stack is in arrays: a search that ran out of nodes is continued later, and what it found out about a position serves
again. While a search has more to do, the board shows the position it has come to; `leave_vcf` takes that back.
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
LEVEL, IS_NEW, PLIES, NODES = range(4)  # items of a VCF's and a VCT's state
ATTACKER = np.array([0, 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)


class Vcf(NamedTuple):
    """What a search for fours remembers."""

    line: NDArray[np.int32]  # the attack and the answers, by turns
    moves: NDArray[np.int32]  # fours still to try, level by level
    frame: NDArray[np.int32]  # by level: the next of them, and their end
    failed: NDArray[np.uint64]  # positions that are known to hold no win
    state: NDArray[np.int64]


class VcfView(NamedTuple):
    """A VCF by address."""

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
    """The VCF by address."""
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
    """Have the next call search anew, from the position on the board."""
    c.state[LEVEL] = 0
    c.state[IS_NEW] = 1
    c.state[PLIES] = 0
    c.state[NODES] = 0


@njit(inline="always")
def answer_to(v: View, move: int, attacker: int) -> int:
    """The only point that stops the four which a stone of the attacker's would make: where he would make five next."""
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
    """Whether the attacker, who is to move, wins by fours alone: WIN, FAIL, or UNDECIDED after so many nodes.

    After a WIN, `line` has a way to it of PLIES moves; after an open four, the last two speak for themselves.
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
        if c.failed[key & c.mask] == key:  # seen before, and no need to go there to see it again
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
    """Take back what a VCF has put on the board."""
    for i in range(2 * c.state[LEVEL] - 1, -1, -1):
        undo(v, np.int64(c.line[i]))
    c.state[LEVEL] = 0


@njit(inline="always")
def finds_vcf(v: View, c: VcfView, attacker: int, nodes: int) -> int:
    """As `search_vcf`, from the beginning, and the board is as before."""
    begin(c)
    found = search_vcf(v, c, attacker, nodes)
    leave_vcf(v, c)
    return found


@njit(cache=True, nogil=True)
def continue_vcf(board: Board, vcf: Vcf, attacker: int, nodes: int, is_new: bool) -> tuple[int, int]:
    """A slice of `search_vcf`: what it found, and the move that wins. The board is the VCF's."""
    v, c = view(board), vcf_view(vcf)
    if is_new:
        begin(c)
    found = search_vcf(v, c, attacker, nodes)
    return found, np.int64(c.line[0])

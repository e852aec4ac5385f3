"""Where x may not play in renju, by the board's tables: what `renju.py` says, fast.

By other rules no point is ever of the kinds that are asked for here, so that searches need not know the rule.
"""

from typing import Any

import numpy as np
from numba import njit

from plyd.engines.gomoku.board import (
    MARGIN,
    NOBODY,
    SIZE,
    STRIDE,
    View,
    X,
    code_of,
    kind_at,
    play,
    step_of,
    undo,
)
from plyd.engines.gomoku.patterns import MAKES_FIVE, MAYBE_FOUL, NO_COMBO, OPEN_FOUR, OPEN_THREE, OPEN_THREE_1

DEEPEST = 32  # points whose being forbidden hangs on one another
POINT, CODE, LINE, NEAR, THREES = range(5)  # what is kept of each
REACH = 3  # from a stone of an open four to another


@njit(inline="always")
def may_be_foul(v: View, point: int, colour: int) -> bool:
    """Whether an empty point could be forbidden to a colour."""
    return colour == X and (v.combo[2 * point] == NO_COMBO or kind_at(v, point, X) >= MAYBE_FOUL)


@njit(inline="always")
def is_foul(v: View, point: int, colour: int) -> bool:
    """Whether an empty point is forbidden to a colour. The board is as before."""
    return may_be_foul(v, point, colour) and (v.combo[2 * point] == NO_COMBO or makes_two_threes(v, point))


@njit(inline="always")
def is_foul_after(v: View, point: int, colour: int, move: int) -> bool:
    """Whether an empty point will be forbidden to a colour after a move of the other's. The board is as before."""
    if not may_be_foul(v, point, colour):  # nor will it be: another's stone makes nothing of it
        return False
    play(v, move, 3 - colour)
    found = is_foul(v, point, colour)
    undo(v, move)
    return found


@njit(nogil=True)
def makes_two_threes(v: View, point: int) -> bool:
    """Whether a stone of x's makes two open threes, where its lines look as if it did. The board is as before.

    A three is open if x could make an open four of it on a point that is not forbidden, which may be the same question
    again: the board then has that stone too, and a level more is kept of where the question came from.
    """
    kept = np.zeros((DEEPEST, 5), np.int64)
    level = 0
    _ask(v, kept, level, point)
    while True:
        asked = kept[level]
        if asked[THREES] == 2 or asked[LINE] == 4:
            undo(v, asked[POINT])
            if level == 0:
                return bool(asked[THREES] == 2)
            level -= 1
            if asked[THREES] < 2:  # what was asked for is no foul, so the three it came from is open
                _count_three(kept[level])
            continue
        line, near = asked[LINE], asked[NEAR]
        found = asked[CODE] >> (4 * line) & 15
        if near > REACH or (found != OPEN_THREE and found != OPEN_THREE_1):
            asked[LINE], asked[NEAR] = line + 1, -REACH
            continue
        asked[NEAR] = near + 1
        other = asked[POINT] + near * step_of(line)
        if not _opens_four(v, asked[POINT], other, line, near):
            continue
        kind = kind_at(v, other, X)
        if kind == MAKES_FIVE or v.combo[2 * other] == NO_COMBO:
            continue
        if kind < MAYBE_FOUL:
            _count_three(asked)
        elif level < DEEPEST - 1:
            level += 1
            _ask(v, kept, level, other)


@njit(inline="always")
def _ask(v: View, kept: Any, level: int, point: int) -> None:
    kept[level, POINT], kept[level, CODE] = point, code_of(v, point, X)
    kept[level, LINE], kept[level, NEAR], kept[level, THREES] = 0, -REACH, 0
    play(v, point, X)


@njit(inline="always")
def _count_three(asked: Any) -> None:
    """One more open three; the next line, then."""
    asked[THREES] += 1
    asked[LINE] += 1
    asked[NEAR] = -REACH


@njit(inline="always")
def _opens_four(v: View, point: int, other: int, line: int, near: int) -> bool:
    """Whether a stone on another point of a line would make an open four with the one on a point."""
    if v.stone[other] != NOBODY or code_of(v, other, X) >> (4 * line) & 15 != OPEN_FOUR:
        return False
    step = step_of(line) if near > 0 else -step_of(line)
    is_one_row = True
    for i in range(1, abs(near)):
        is_one_row &= v.stone[point + i * step] == X
    return is_one_row


@njit(nogil=True)
def without_fouls(v: View, colour: int, moves: Any, start: int, end: int) -> int:
    """Leave out what is forbidden to a colour from a part of a list; where that part ends then."""
    if colour != X:
        return end
    kept = start
    for i in range(start, end):
        if not is_foul(v, int(moves[i]), colour):
            moves[kept] = moves[i]
            kept += 1
    return kept


@njit(nogil=True)
def any_legal(v: View, colour: int, wish: int) -> int:
    """An empty point that is not forbidden to a colour: the one wished for, if it may be; 0 if there is none."""
    if wish and not is_foul(v, wish, colour):
        return wish
    size = np.int64(v.state[SIZE])
    for row in range(MARGIN, MARGIN + size):
        for point in range(row * STRIDE + MARGIN, row * STRIDE + MARGIN + size):
            if v.stone[point] == NOBODY and not is_foul(v, point, colour):
                return point
    return 0

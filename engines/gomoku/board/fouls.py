"""Points that renju forbids to x, by the board's tables: a fast version of `renju.py`.

With other rules HAS_FOULS is 0 and nothing is tested, so searches need not know the rule.
"""

from typing import Any

import numpy as np

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import (
    HAS_FOULS,
    KEPT,
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
from plyd.engines.gomoku.board.patterns import MAKES_FIVE, MAYBE_FOUL, NO_COMBO, OPEN_FOUR, OPEN_THREE, OPEN_THREE_1
from plyd.engines.gomoku.renju import MOST_ASKED

POINT, CODE, LINE, NEAR, THREES = range(KEPT)  # fields of a point on the stack
REACH = 3  # largest distance between two stones of an open four


@njit(inline="always")
def may_be_foul(v: View, point: int, colour: int) -> bool:
    """Whether an empty point may be forbidden to a colour, by its kind alone."""
    if colour != X or v.state[HAS_FOULS] == 0:
        return False
    return bool(v.combo[2 * point] == NO_COMBO or kind_at(v, point, X) >= MAYBE_FOUL)


@njit(nogil=True)
def is_foul(v: View, point: int, colour: int) -> bool:
    """Whether an empty point is forbidden to a colour. Leaves the board unchanged."""
    return may_be_foul(v, point, colour) and (v.combo[2 * point] == NO_COMBO or makes_two_threes(v, point))


@njit(nogil=True)
def is_foul_after(v: View, point: int, colour: int, move: int) -> bool:
    """Whether an empty point is forbidden to a colour after an opponent's move. Leaves the board unchanged."""
    if not may_be_foul(v, point, colour):  # an opponent's stone cannot make it forbidden
        return False
    play(v, move, 3 - colour)
    found = is_foul(v, point, colour)
    undo(v, move)
    return found


@njit(nogil=True)
def makes_two_threes(v: View, point: int) -> bool:
    """Whether x's stone makes two open threes, if its line patterns say so. Leaves the board unchanged.

    A three is open if x could make an open four of it on a point that is not itself forbidden. That may be the same
    question again: then that stone is played too, and the stack gets one level more.
    """
    asked, at = v.asked, 0  # start of the current point's fields on the stack
    is_new, questions = True, 0
    while True:
        if is_new:
            is_new = False
            questions += 1
            asked[at + POINT], asked[at + CODE] = point, code_of(v, point, X)
            asked[at + LINE], asked[at + NEAR], asked[at + THREES] = 0, -REACH, 0
            play(v, point, np.int64(X))
        here, line, near = asked[at + POINT], asked[at + LINE], asked[at + NEAR]
        if asked[at + THREES] == 2 or line == 4:
            undo(v, here)
            is_legal = asked[at + THREES] < 2
            if at == 0:
                return not is_legal
            at -= KEPT
            if is_legal:  # so the three that led here is open
                asked[at + THREES] += 1
                asked[at + NEAR] = REACH + 1
            continue
        found = asked[at + CODE] >> (4 * line) & 15
        if near > REACH or (found != OPEN_THREE and found != OPEN_THREE_1):
            asked[at + LINE], asked[at + NEAR] = line + 1, -REACH
            continue
        asked[at + NEAR] = near + 1
        point = here + near * step_of(line)
        if not _opens_four(v, here, point, line, near):
            continue
        kind = kind_at(v, point, X)
        if kind == MAKES_FIVE or v.combo[2 * point] == NO_COMBO:
            continue
        if kind < MAYBE_FOUL:
            asked[at + THREES] += 1
            asked[at + NEAR] = REACH + 1
        elif questions < MOST_ASKED:
            at += KEPT
            is_new = True


@njit(inline="always")
def _opens_four(v: View, point: int, other: int, line: int, near: int) -> bool:
    """Whether x on `other` would make an open four in a line with the stone on `point`."""
    if v.stone[other] != NOBODY or code_of(v, other, X) >> (4 * line) & 15 != OPEN_FOUR:
        return False
    step = step_of(line) if near > 0 else -step_of(line)
    is_one_row = True
    for i in range(1, abs(near)):
        is_one_row &= v.stone[point + i * step] == X
    return is_one_row


@njit(nogil=True)
def without_fouls(v: View, colour: int, moves: Any, start: int, end: int) -> int:
    """Remove the points forbidden to a colour from moves[start:end]; returns the new end."""
    if colour != X or v.state[HAS_FOULS] == 0:
        return end
    kept = start
    for i in range(start, end):
        move = np.int64(moves[i])
        if not is_foul(v, move, colour):
            moves[kept] = move
            kept += 1
    return kept


@njit(nogil=True)
def any_legal(v: View, colour: int, wish: int) -> int:
    """An empty point that is not forbidden to a colour, preferably `wish`; 0 if there is none."""
    if wish and not is_foul(v, wish, colour):
        return wish
    size = np.int64(v.state[SIZE])
    for row in range(MARGIN, MARGIN + size):
        for point in range(row * STRIDE + MARGIN, row * STRIDE + MARGIN + size):
            if v.stone[point] == NOBODY and not is_foul(v, point, colour):
                return point
    return 0

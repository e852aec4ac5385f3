"""All positions of a board after each number of plies, in numba: for making opening books.

A level is an array (positions, 4): mine, yours, taken and the key shared with the mirror image, sorted by that key.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.words import (
    CELLS,
    COLUMN,
    MINE,
    NO_STONE,
    TAKEN,
    YOURS,
    ZERO,
    least_key,
    playable,
    winning_cells,
)
from plyd.engines.core.intrinsics import count_bits
from plyd.engines.core.kernel_cache import njit

KEY = 3
UNKNOWN = 127


def levels_of(board: NDArray[np.uint64], width: int, plies: int) -> list[NDArray[np.uint64]]:
    """The positions after 0, 1, ... plies from a board, without those where the game is over; mirrored ones once."""
    lopsided = bool(board[NO_STONE])
    key = least_key(board[MINE], board[TAKEN], width, lopsided)
    levels = [np.array([[board[MINE], board[YOURS], board[TAKEN], key]], np.uint64)]
    for _ in range(plies):
        grown = successors(levels[-1], width, lopsided)
        levels.append(grown[np.unique(grown[:, KEY], return_index=True)[1]])
    return levels


@njit(cache=True, nogil=True)
def successors(level: Any, width: int, lopsided: bool) -> Any:
    """Every position one ply later where the game goes on."""
    found = np.empty((len(level) * width, 4), np.uint64)
    count = 0
    for i in range(len(level)):
        mine, yours, taken = level[i, MINE], level[i, YOURS], level[i, TAKEN]
        moves = playable(taken) & ~winning_cells(mine)
        for column in range(width):
            move = moves & COLUMN[column]
            if move != ZERO and taken | move != CELLS:
                found[count, MINE], found[count, YOURS], found[count, TAKEN] = yours, mine | move, taken | move
                found[count, KEY] = least_key(yours, taken | move, width, lopsided)
                count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def is_open(level: Any) -> Any:
    """Of each position whether the mover cannot win at once, so that a book lists it."""
    found = np.empty(len(level), np.bool_)
    for i in range(len(level)):
        found[i] = playable(level[i, TAKEN]) & winning_cells(level[i, MINE]) == ZERO
    return found


@njit(cache=True, nogil=True)
def values_from(level: Any, width: int, lopsided: bool, keys: Any, values: Any) -> Any:
    """The value of each open position from those one ply later, UNKNOWN if one of these is; keys are sorted."""
    found = np.full(len(level), UNKNOWN, np.int8)
    for i in range(len(level)):
        yours, taken = level[i, YOURS], level[i, TAKEN]
        cells = playable(taken)
        best = -UNKNOWN
        for column in range(width):
            move = cells & COLUMN[column]
            if move == ZERO:
                continue
            grown = taken | move
            left = np.int64(count_bits(CELLS & ~grown))
            value = UNKNOWN
            if left == 0:
                value = 0
            elif playable(grown) & winning_cells(yours) != ZERO:
                value = left
            else:
                key = least_key(yours, grown, width, lopsided)
                place = np.searchsorted(keys, key)
                if place < len(keys) and keys[place] == key:
                    value = values[place]
            if value == UNKNOWN:
                best = UNKNOWN
                break
            best = max(best, -value)
        found[i] = best
    return found

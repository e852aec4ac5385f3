"""Boards of at most 8 columns and 6 rows as 64-bit words: seven bits a column, the lowest row in the lowest bit.

    6 13 20 27 34 41 48 55    guard: always empty, it keeps columns apart
    5 12 19 26 33 40 47 54    sixth row
    ...
    0  7 14 21 28 35 42 49    bottom row

    mine     the stones of the side to move
    yours    the stones of the other side
    taken    every cell that cannot take a stone: both sides' stones, the forbidden cell, and cells off the board

`taken + BOTTOM` carries through the stones of each column, so it yields the cell where the next stone rests, and skips
the forbidden cell.
"""

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.rules import EMPTY, FORBIDDEN, STONES, Position, mover
from plyd.engines.core.intrinsics import lowest_bit_index
from plyd.engines.core.kernel_cache import njit

COLUMNS, ROWS, COLUMN_BITS = 8, 6, 7
KEY_BITS = COLUMNS * COLUMN_BITS
ZERO, ONE, TWO, THREE = (np.uint64(n) for n in range(4))
BOTTOM = np.uint64(sum(1 << COLUMN_BITS * column for column in range(COLUMNS)))
CELLS = np.uint64(int(BOTTOM) * 63)
WITH_GUARD = np.uint64(int(BOTTOM) * 127)
COLUMN = np.array([127 << COLUMN_BITS * column for column in range(COLUMNS)], np.uint64)
MINE, YOURS, TAKEN, NO_STONE, UPPER, DEEP = range(6)  # items of a board's array; DEEP is the first of ROWS + 1


def fits(position: Position) -> bool:
    """Whether a board has at most 8 columns and 6 rows."""
    return len(position.rows) <= ROWS and len(position.rows[0]) <= COLUMNS


def board_words(position: Position) -> NDArray[np.uint64]:
    """A position as an array for kernels: MINE, YOURS, TAKEN, NO_STONE (the forbidden cell), UPPER, DEEP...

    UPPER is every second cell of a column counted from the top, without the forbidden one: the cells of the side that
    moves last if each of its moves answers in the column of the opponent's (see parity.py). DEEP + n is every cell with
    at least n cells above it in its column, without the forbidden one.
    """
    me, board = STONES[mover(position)], [0] * (DEEP + ROWS + 1)
    board[TAKEN] = int(CELLS)
    for column in range(len(position.rows[0])):
        from_top = 0
        for row, cells in enumerate(position.rows):
            cell, bit = cells[column], 1 << COLUMN_BITS * column + len(position.rows) - 1 - row
            if cell == FORBIDDEN:
                board[NO_STONE] = bit
                continue
            board[UPPER] |= bit if from_top % 2 == 0 else 0
            for above in range(from_top + 1):
                board[DEEP + above] |= bit
            from_top += 1
            if cell == EMPTY:
                board[TAKEN] ^= bit
            else:
                board[MINE if cell == me else YOURS] |= bit
    return np.array(board, np.uint64)


@njit(cache=True, nogil=True, inline="always")
def playable(taken: np.uint64) -> np.uint64:
    """The cells where a stone would rest now, one per column that is not full."""
    return (taken + BOTTOM) & ~taken & CELLS


@njit(cache=True, nogil=True, inline="always")
def key_of(mine: np.uint64, taken: np.uint64) -> np.uint64:
    """A number of 56 bits that no other position of a board has: the mover's stones, and each column's next cell."""
    return mine | ((taken + BOTTOM) & ~taken & WITH_GUARD)


@njit(cache=True, nogil=True)
def mirrored(word: np.uint64, width: int) -> np.uint64:
    """A word with its first `width` columns in reverse order."""
    found = ZERO
    for _ in range(width):
        found = (found << np.uint64(COLUMN_BITS)) | (word & np.uint64(127))
        word >>= np.uint64(COLUMN_BITS)
    return found


@njit(cache=True, nogil=True)
def least_key(mine: np.uint64, taken: np.uint64, width: int, is_lopsided: bool) -> np.uint64:
    """The key of a position or of its mirror image, whichever is less; its own on a board with a forbidden cell."""
    key = key_of(mine, taken) & ((ONE << np.uint64(COLUMN_BITS * width)) - ONE)
    return key if is_lopsided else min(key, mirrored(key, width))


@njit(cache=True, nogil=True, inline="always")
def under(cells: np.uint64, no_stone: np.uint64) -> np.uint64:
    """The cells directly below these in their columns, skipping the forbidden cell."""
    below = cells >> ONE
    return (below & ~no_stone) | ((below & no_stone) >> ONE)


@njit(cache=True, nogil=True, inline="always")
def over(cells: np.uint64, no_stone: np.uint64) -> np.uint64:
    """The cells directly above these in their columns, skipping the forbidden cell."""
    above = cells << ONE
    return (above & ~no_stone) | ((above & no_stone) << ONE)


@njit(cache=True, nogil=True, inline="always")
def gaps(stones: np.uint64, one: np.uint64, two: np.uint64, three: np.uint64) -> np.uint64:
    """The cells in line with three stones along one direction; the steps are one to three times the same."""
    before, after = (stones << one) & (stones << two), (stones >> one) & (stones >> two)
    return (before & ((stones << three) | (stones >> one))) | (after & ((stones << one) | (stones >> three)))


@njit(cache=True, nogil=True, inline="always")
def winning_cells(stones: np.uint64) -> np.uint64:
    """The cells that would complete four of these stones, whether empty or not, on the board or not."""
    found = (stones << ONE) & (stones << TWO) & (stones << THREE)
    found |= gaps(stones, np.uint64(7), np.uint64(14), np.uint64(21))
    found |= gaps(stones, np.uint64(6), np.uint64(12), np.uint64(18))
    return found | gaps(stones, np.uint64(8), np.uint64(16), np.uint64(24))


@njit(cache=True, nogil=True, inline="always")
def fours(stones: np.uint64) -> np.uint64:
    """The first cell of each four in line among these stones."""
    pairs = stones & (stones >> ONE)
    found = pairs & (pairs >> TWO)
    pairs = stones & (stones >> np.uint64(7))
    found |= pairs & (pairs >> np.uint64(14))
    pairs = stones & (stones >> np.uint64(6))
    found |= pairs & (pairs >> np.uint64(12))
    pairs = stones & (stones >> np.uint64(8))
    return found | (pairs & (pairs >> np.uint64(16)))


@njit(cache=True, nogil=True, inline="always")
def several(cells: np.uint64) -> bool:
    """Whether there are two or more cells."""
    return cells & (cells - ONE) != ZERO


@njit(cache=True, nogil=True, inline="always")
def safe_moves(cells: np.uint64, your_wins: np.uint64, no_stone: np.uint64) -> np.uint64:
    """The playable cells after which the opponent cannot win at once."""
    forced = cells & your_wins
    if several(forced):
        return ZERO
    return (cells if forced == ZERO else forced) & ~under(your_wins, no_stone)


@njit(cache=True, nogil=True, inline="always")
def column_of(cell: np.uint64) -> np.int64:
    """The column of the lowest of these cells."""
    return np.int64(lowest_bit_index(cell)) // COLUMN_BITS

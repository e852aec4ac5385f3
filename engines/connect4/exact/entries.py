"""Entries of the transposition table, in numba.

An entry of the table is one word, so that threads can share it: 40 bits that identify the position together with its
place, then lower bound, upper bound, stones, and the column of the best move.
Entries come in pairs: the first keeps positions with few stones, the second the latest.
"""

from typing import Any

import numpy as np

from plyd.engines.connect4.exact.words import KEY_BITS, ONE, ZERO
from plyd.engines.core.kernel_cache import njit

OFFSET = 64  # added to a value to make it positive
SCATTER = np.uint64(0x9E3779B97F4A7C15)
KEY_MASK, CHECK_MASK = np.uint64((1 << KEY_BITS) - 1), np.uint64((1 << 40) - 1)
CHECK_SHIFT, LOWER_SHIFT, UPPER_SHIFT, STONES_SHIFT = (np.uint64(n) for n in (24, 17, 10, 4))
SEVEN, SIX, FOUR = np.uint64(127), np.uint64(63), np.uint64(15)
LEAST_BITS = 17  # of a table's size: a pair's place has 16 bits or more of a key's 56, the check 40
NO_COLUMN = 15


@njit(cache=True, nogil=True, inline="always")
def place_of(key: np.uint64, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The place of a position's first entry in a table of 2**bits, and its check."""
    scattered = (key * SCATTER) & KEY_MASK
    return (scattered >> (np.uint64(KEY_BITS + 1) - bits)) << ONE, scattered & CHECK_MASK


@njit(cache=True, nogil=True, inline="always")
def entry_of(entries: Any, place: int, check: int) -> int:
    """A position's entry, 0 if there is none."""
    entry = entries[place]
    if entry >> CHECK_SHIFT != check:
        entry = entries[place + ONE]
    return entry if entry >> CHECK_SHIFT == check else ZERO


@njit(cache=True, nogil=True, inline="always")
def bounds_of(entry: int) -> tuple[int, int]:
    """Lower and upper bound of an entry."""
    low = np.int64((entry >> LOWER_SHIFT) & SEVEN) - OFFSET
    return low, np.int64((entry >> UPPER_SHIFT) & SEVEN) - OFFSET


@njit(cache=True, nogil=True, inline="always")
def remember(
    entries: Any, place: int, check: int, value: int, is_lower: bool, column: int, stones: int, oldest: int
) -> None:
    """Store a bound: in the first entry if that has more stones or is out of date, else in the second."""
    entry = entries[place]
    if entry >> CHECK_SHIFT != check:
        kept = np.int64((entry >> STONES_SHIFT) & SIX)
        if kept != 0 and kept >= oldest and kept < stones:
            place += ONE
            entry = entries[place]
    low, high = -OFFSET, OFFSET - 1
    if entry >> CHECK_SHIFT == check:
        low = np.int64((entry >> LOWER_SHIFT) & SEVEN) - OFFSET
        high = np.int64((entry >> UPPER_SHIFT) & SEVEN) - OFFSET
    if is_lower:
        low = value
    else:
        high = value
        column = np.int64(NO_COLUMN)
    entries[place] = (
        (check << CHECK_SHIFT)
        | (np.uint64(low + OFFSET) << LOWER_SHIFT)
        | (np.uint64(high + OFFSET) << UPPER_SHIFT)
        | (np.uint64(stones) << STONES_SHIFT)
        | np.uint64(column)
    )


@njit(cache=True, nogil=True)
def spread(table: Any, bits: int, more_bits: int) -> None:
    """Move the entries of a table of 2**bits to their places in one of 2**more_bits, in the same array.

    A pair's new place is never lower than its old one, so the highest goes first.
    """
    for pair in range((1 << (bits - 1)) - 1, -1, -1):
        for old in range(2 * pair, 2 * pair + 2):
            entry = table[old]
            if entry == ZERO:
                continue
            table[old] = ZERO
            high = np.uint64(pair) >> np.uint64(bits - LEAST_BITS)
            scattered = (high << np.uint64(40)) | (entry >> CHECK_SHIFT)
            place = np.int64(scattered >> np.uint64(KEY_BITS + 1 - more_bits)) << 1
            table[place if table[place] == ZERO else place + 1] = entry

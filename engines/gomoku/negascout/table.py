"""The transposition table of NegaScout: buckets of four entries, which threads share without locks.

An entry is two words, `data` and `check` = key XOR data. If two threads write an entry at once, the words of a mixture
do not agree with any key, so it is never believed: a proof cannot come from half of another position's entry.

    data   bits 0-15   value        bits 32-39  depth, plus LEAST_DEPTH       bits 48-55  generation of the search
           bits 16-31  move         bits 40-47  bound

A new position takes the place of the entry of its bucket that is worth least: the shallowest, and of earlier searches
first. The evaluation is not stored, because the board has it for nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros
from plyd.engines.gomoku.board.board import HASH, NOBODY, Board, kind_at, play, view
from plyd.engines.gomoku.board.patterns import MAKES_FIVE
from plyd.engines.gomoku.board.vcf import ATTACKER

EXACT, AT_LEAST, AT_MOST = 1, 2, 3
WITHOUT_DEPTH = 100  # depth of a proven result
LEAST_DEPTH, MOST_DEPTH = -8, 127
BUCKET = 4  # entries
GENERATIONS = 256
PLIES_A_GENERATION = 4  # an entry of the search before is worth as much as one so much shallower
ENTRY = np.dtype([("check", np.uint64), ("data", np.uint64)])
NOTHING = np.uint64(0)
LOW_16 = np.uint64(0xFFFF)


def table_for(entries: int) -> NDArray[Any]:
    """An empty transposition table; `entries` is a power of two, at least BUCKET."""
    return dense_zeros(entries, ENTRY)


@njit(inline="always")
def packed(value: int, move: int, depth: int, bound: int, generation: int) -> int:
    """An entry's data."""
    low = np.uint64(np.uint16(value)) | np.uint64(move) << np.uint64(16)
    return (
        low
        | np.uint64(max(LEAST_DEPTH, min(MOST_DEPTH, depth)) - LEAST_DEPTH) << np.uint64(32)
        | np.uint64(bound) << np.uint64(40)
        | np.uint64(generation % GENERATIONS) << np.uint64(48)
    )


@njit(inline="always")
def value_in(data: int) -> int:
    """The value of an entry."""
    return np.int64(np.int16(data & LOW_16))


@njit(inline="always")
def move_in(data: int) -> int:
    """The best move of an entry."""
    return np.int64(data >> np.uint64(16) & LOW_16)


@njit(inline="always")
def depth_in(data: int) -> int:
    """The depth of an entry."""
    return np.int64(data >> np.uint64(32) & np.uint64(255)) + LEAST_DEPTH


@njit(inline="always")
def bound_in(data: int) -> int:
    """The bound of an entry."""
    return np.int64(data >> np.uint64(40) & np.uint64(255))


@njit(inline="always")
def probe(table: NDArray[Any], mask: int, key: int) -> int:
    """The data of a position, or NOTHING."""
    first = key & mask & ~np.uint64(BUCKET - 1)
    for i in range(BUCKET):
        entry = table[first + np.uint64(i)]
        data = entry.data
        if entry.check ^ data == key:
            return data
    return NOTHING


@njit(inline="always")
def keep(table: NDArray[Any], mask: int, key: int, data: int) -> None:
    """Put a position into the table."""
    first = key & mask & ~np.uint64(BUCKET - 1)
    chosen, least = first, np.int64(1 << 30)
    generation = np.int64(data >> np.uint64(48))
    for i in range(BUCKET):
        entry = table[first + np.uint64(i)]
        old = entry.data
        age = generation - np.int64(old >> np.uint64(48)) & GENERATIONS - 1
        worth = depth_in(old) - PLIES_A_GENERATION * age
        if old == NOTHING or entry.check ^ old == key:
            worth = np.int64(-(1 << 30))
        if worth < least:
            chosen, least = first + np.uint64(i), worth
    table[chosen].check = key ^ data
    table[chosen].data = data


@njit(cache=True, nogil=True)
def store_win(table: NDArray[Any], key: int, value: int, move: int, generation: int) -> None:
    """Put a proven win of the side to move into the table."""
    keep(table, np.uint64(table.size - 1), np.uint64(key), packed(value, move, WITHOUT_DEPTH, EXACT, generation))


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
        move = move_in(probe(table, mask, v.state[HASH] ^ ATTACKER[colour]))
        if move <= 0 or v.stone[move] != NOBODY:
            break
    return line[:count]

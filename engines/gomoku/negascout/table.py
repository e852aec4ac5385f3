"""The transposition table of NegaScout: one entry per slot, which the newest position takes."""

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
ENTRY = np.dtype(
    [("key", np.uint64), ("value", np.int16), ("move", np.int16), ("depth", np.int8), ("bound", np.uint8)], align=True
)


def table_for(entries: int) -> NDArray[Any]:
    """An empty transposition table; `entries` is a power of two."""
    return dense_zeros(entries, ENTRY)


@njit(inline="always")
def keep(table: NDArray[Any], mask: int, key: int, value: int, move: int, depth: int, bound: int) -> None:
    """Put a position into the table."""
    entry = table[key & mask]
    entry.key = key
    entry.value = value
    entry.move = move
    entry.depth = max(-8, min(127, depth))
    entry.bound = bound


def store_win(table: NDArray[Any], key: np.uint64, value: int, move: int) -> None:
    """Put a proven win of the side to move into the table."""
    table[int(key) & (table.size - 1)] = (key, value, move, WITHOUT_DEPTH, EXACT)


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
        entry = table[(v.state[HASH] ^ ATTACKER[colour]) & mask]
        move = np.int64(entry.move)
        if entry.key != v.state[HASH] ^ ATTACKER[colour] or move <= 0 or v.stone[move] != NOBODY:
            break
    return line[:count]

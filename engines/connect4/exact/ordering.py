"""The order in which the exact solver tries moves, in numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.parity import RANK
from plyd.engines.connect4.exact.words import CELLS, COLUMN, KEY_BITS, MINE, ONE, TAKEN, YOURS, ZERO, column_of
from plyd.engines.core.intrinsics import lowest_bit_index
from plyd.engines.core.kernel_cache import njit

KNOWN_MOVE = 100_000  # rank of the table's move
MOST_HISTORY, HISTORY_STEP, HISTORY_WEIGHT = 4096, 16, 64  # the most is worth four lines through a cell


def lines_through(board: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Of each cell by its bit, in how many lines of four cells it is."""
    cells = int(board[MINE] | board[YOURS] | (CELLS & ~board[TAKEN]))
    found = np.zeros(64, np.int64)
    for cell in range(KEY_BITS):
        for step in (1, 6, 7, 8):
            line = [cell + step * i for i in range(4)]
            if all(cells >> bit & 1 for bit in line):
                found[line] += 1
    return found


@njit(cache=True, nogil=True, inline="always")
def rank_moves(
    orders: Any, row: int, lanes: Any, lane: int, lines: Any, history: Any, side: int, moves: int, known: int
) -> int:
    """Order the moves: the table's move last, before it by winning cells made, lines through the cell, and history."""
    number = 0
    while moves != ZERO:
        bit = np.int64(lowest_bit_index(moves))
        column = column_of(moves)
        moves &= moves - ONE
        rank = np.int64(lanes[lane + RANK + column]) * 16 + lines[bit] * 16 + history[side * 64 + bit] // HISTORY_WEIGHT
        rank += KNOWN_MOVE if column == known else 0
        place = number
        while place > 0 and orders[row + place - 1] >> 3 >= rank:
            orders[row + place] = orders[row + place - 1]
            place -= 1
        orders[row + place] = rank << 3 | column
        number += 1
    return number


@njit(cache=True, nogil=True, inline="always")
def praise(history: Any, side: int, orders: Any, row: int, found: int, number: int, cells: int) -> None:
    """Update the history: the move orders[found] is good, those tried before it, up to `number`, are not."""
    for i in range(found, number):
        at = side * 64 + np.int64(lowest_bit_index(cells & COLUMN[orders[row + i] & 7]))
        step = HISTORY_STEP * (number - 1 - found) if i == found else -HISTORY_STEP
        history[at] += step - history[at] * abs(step) // MOST_HISTORY

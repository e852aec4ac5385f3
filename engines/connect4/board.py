"""Boards within kernels: a SIMD value with one column per lane, the lowest row in the lowest bit.

    mine     the stones of the side to move
    yours    the stones of the other side
    taken    every cell that cannot take a stone: both sides' stones, the forbidden cell, and cells off the board

`taken + 1`, lane by lane, carries through the stones at the bottom, so it yields the cell where the next stone rests.
It also skips the forbidden cell:

    lane      0111 (two stones, the forbidden cell above them)
    lane + 1  1000 -> the fourth cell
"""

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.rules import EMPTY, FORBIDDEN, STONES, Position, mover
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import Lanes, aside, is_any, up, used_lanes, words_of

OPEN, WIN, DRAW, LOSS = range(4)  # status of a position for the side to move; OPEN: undecided
GLANCE_PLIES = 3  # plies that `glance` looks ahead
MINE, YOURS, TAKEN, BELOW, ONES = range(5)  # rows of a board's array
ROWS_OF_BOARD = 5


def board_array(position: Position) -> NDArray[np.uint16]:
    """A position as an array for kernels: (5, 16), a row for each of MINE, YOURS, TAKEN, BELOW, ONES.

    BELOW is the cell under the forbidden one, ONES the lowest cell of every lane.
    """
    me = STONES[mover(position)]
    board = np.zeros((ROWS_OF_BOARD, 16), np.uint16)
    board[TAKEN], board[ONES] = 0xFFFF, 1
    for height, row in enumerate(reversed(position.rows)):
        for column, cell in enumerate(row):
            bit = 1 << height
            if cell == EMPTY:
                board[TAKEN, column] ^= bit
            elif cell == FORBIDDEN:
                board[BELOW, column] = bit >> 1
            else:
                board[MINE if cell == me else YOURS, column] |= bit
    return board


@njit(cache=True, nogil=True)
def playable(taken: Lanes, ones: Lanes) -> Lanes:
    """The cells where a stone would rest now, one per column."""
    return (taken + ones) & ~taken


@njit(cache=True, nogil=True)
def winning_cells(stones: Lanes) -> Lanes:
    """The cells that would complete four of these stones, whether empty or not."""
    below_1, below_2, below_3 = up(stones, 1), up(stones, 2), up(stones, 3)
    found = below_1 & below_2 & below_3
    left_1, left_2, left_3 = aside(stones, 1), aside(stones, 2), aside(stones, 3)
    right_1, right_2, right_3 = aside(stones, -1), aside(stones, -2), aside(stones, -3)
    found |= _gaps(left_1, left_2, left_3, right_1, right_2, right_3)
    found |= _gaps(up(left_1, 1), up(left_2, 2), up(left_3, 3), up(right_1, -1), up(right_2, -2), up(right_3, -3))
    found |= _gaps(up(left_1, -1), up(left_2, -2), up(left_3, -3), up(right_1, 1), up(right_2, 2), up(right_3, 3))
    return found


@njit(cache=True, nogil=True)
def _gaps(before_1: Lanes, before_2: Lanes, before_3: Lanes, after_1: Lanes, after_2: Lanes, after_3: Lanes) -> Lanes:
    """The cells with the other three of a line of four: three before, two and one, one and two, or three after."""
    before, after = before_1 & before_2, after_1 & after_2
    return (before & (before_3 | after_1)) | (after & (before_1 | after_3))


@njit(cache=True, nogil=True)
def has_four(stones: Lanes) -> bool:
    """Whether four of these stones stand in line."""
    pairs = stones & up(stones, 1)
    found = pairs & up(pairs, 2)
    beside = aside(stones, 1)
    pairs = stones & beside
    found |= pairs & aside(pairs, 2)
    pairs = stones & up(beside, 1)
    found |= pairs & up(aside(pairs, 2), 2)
    pairs = stones & up(beside, -1)
    found |= pairs & up(aside(pairs, 2), -2)
    return is_any(found)


@njit(cache=True, nogil=True)
def under(cells: Lanes, below: Lanes) -> Lanes:
    """The cells directly below these cells in their columns, skipping the forbidden cell."""
    return (up(cells, -1) & ~up(below, 1)) | (up(cells, -2) & below)


@njit(cache=True, nogil=True)
def several(cells: Lanes) -> bool:
    """Whether there are two or more cells; there must be at most one per column."""
    lanes = used_lanes(cells)
    return lanes & (lanes - np.uint64(1)) != np.uint64(0)


@njit(cache=True, nogil=True)
def key_of(mine: Lanes, taken: Lanes) -> np.uint64:
    """A hash key of a position: equal positions have equal keys, and collisions are very unlikely."""
    key = np.uint64(0x9E3779B97F4A7C15)
    for word in words_of(mine) + words_of(taken):
        key = (key ^ word) * np.uint64(0xD6E8FEB86659FD93)
        key ^= key >> np.uint64(32)
    return key


@njit(cache=True, nogil=True)
def glance(cells: Lanes, my_wins: Lanes, your_wins: Lanes, below: Lanes) -> tuple[int, int, Lanes]:
    """Status of a position as far as three plies decide it, the plies to the end, and the moves worth searching."""
    if not is_any(cells):
        return DRAW, 0, cells
    if is_any(cells & my_wins):
        return WIN, 1, cells
    moves = cells & your_wins  # Step 1. Winning cells of the opponent: one can be blocked, two cannot.
    if several(moves):
        return LOSS, 2, moves
    if not is_any(moves):
        moves = cells
    moves &= ~under(your_wins, below)  # Step 2. Drop moves below a winning cell of the opponent.
    if not is_any(moves):
        return LOSS, 2, moves
    above = under(my_wins, below)  # Step 3. Two of my winning cells, one above the other: one block is not enough.
    if is_any(moves & above & under(above, below)):
        return WIN, 3, moves
    return OPEN, 0, moves

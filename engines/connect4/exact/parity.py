"""What can be said of all moves of a position at once, without a search: one column a lane of a vector.

The loops over columns have no branches, so that they compile to vector instructions: eight moves cost as much as one.
Their results are in rows of 32 words, four for each column:

    WINS       the winning cells that the mover has after the move
    SAFE       the opponent's replies after which the mover cannot win at once
    TARGETS    winning cells that may decide the game by parity
    RANK       how soon to try the move

Parity: the side that moves last if the board fills can answer each move in the same column, and then gets UPPER, every
second cell from the top. Where a column has an odd number of empty cells, its next cell may become anyone's: the number
of such columns is even with the opponent to move, so that an answer is always possible. If the opponent has no four
with all he can get, he cannot win; if UPPER makes four, he loses. That four is complete when its last cell is taken,
with all cells above that one still empty: so the distance has a bound too (DEEP, see words.py).
"""

from typing import Any

import numpy as np

from plyd.engines.connect4.exact.words import (
    BOTTOM,
    CELLS,
    COLUMN,
    COLUMNS,
    DEEP,
    NO_STONE,
    ONE,
    ROWS,
    UPPER,
    ZERO,
    column_of,
    fours,
    playable,
    under,
    winning_cells,
)
from plyd.engines.core.intrinsics import count_bits
from plyd.engines.core.kernel_cache import njit

WINS, SAFE, TARGETS, RANK = (COLUMNS * part for part in range(4))
LANE_WORDS = 4 * COLUMNS
GOOD_CELL, OTHER_CELL = np.uint64(16), np.uint64(12)  # ranks of winning cells, see `look_at_moves`


@njit(cache=True, nogil=True, inline="always")
def look_at_moves(
    lanes: Any, row: int, mine: int, taken: int, cells: int, moves: int, no_stone: int, good_cells: int
) -> int:
    """Fill WINS, SAFE and RANK; returns the moves that win in three plies: the opponent has no safe reply.

    The rank counts winning cells, those at a good height (`good_cells`) more than the others; all that the opponent
    must block at once count as one.
    """
    won = ZERO
    for i in range(COLUMNS):
        move = cells & COLUMN[i]
        grown = taken | move
        free = CELLS & ~grown
        replies = (grown + BOTTOM) & free
        wins = winning_cells(mine | move) & free
        forced = replies & wins
        later = wins & ~replies
        safe = (replies if forced == ZERO else forced) & ~under(wins, no_stone)
        safe = safe if forced & (forced - ONE) == ZERO else ZERO
        others = np.uint64(count_bits(later & ~good_cells)) + (ZERO if forced == ZERO else ONE)
        lanes[row + WINS + i] = wins
        lanes[row + SAFE + i] = safe
        lanes[row + RANK + i] = np.uint64(count_bits(later & good_cells)) * GOOD_CELL + others * OTHER_CELL
        won |= move if safe == ZERO else ZERO
    return won & moves


@njit(cache=True, nogil=True, inline="always")
def told_by_parity(
    lanes: Any,
    row: int,
    mine: int,
    yours: int,
    taken: int,
    your_wins: int,
    moves: int,
    board: Any,
    alpha: int,
    moves_last: bool,
) -> tuple[int, int]:
    """The moves whose value is certainly greater than alpha, and those whose value certainly is not.

    WINS must be filled. `moves_last` says whether the mover is the side that moves last if the board fills. If one move
    is certainly greater, the others may be missing.
    """
    upper, no_stone = board[UPPER], board[NO_STONE]
    deep = board[DEEP + min(max(alpha, -alpha - 1), ROWS)]
    if moves_last:
        far = board[DEEP + min(max(0, -alpha - 1), ROWS)]
        greater, other = fill_as_last(lanes, row, mine, yours, taken, your_wins, upper, deep, far, alpha)
    else:
        far = board[DEEP + min(max(0, alpha), ROWS)]
        greater, other = fill_as_first(lanes, row, mine, yours, taken, upper, deep, far, alpha)
    greater &= moves
    other &= moves
    left = moves & ~other if greater == ZERO else ZERO
    while left != ZERO:
        move = left & (ZERO - left)
        left ^= move
        targets = lanes[row + TARGETS + column_of(move)]
        if targets == ZERO:
            continue
        if moves_last:
            if lasting_threat_wins(targets, mine | move, taken | move, upper, no_stone):
                other |= move
        elif lasting_threat_wins(targets, yours, taken | move, upper, no_stone):
            greater |= move
            break
    return greater, other


@njit(cache=True, nogil=True, inline="always")
def fill_as_last(
    lanes: Any,
    row: int,
    mine: int,
    yours: int,
    taken: int,
    your_wins: int,
    upper: int,
    deep: int,
    far: int,
    alpha: int,
) -> tuple[int, int]:
    """What the pairs of UPPER tell if the mover moves last; TARGETS are the opponent's."""
    cells = playable(taken)
    greater, other = ZERO, ZERO
    for i in range(COLUMNS):
        move = cells & COLUMN[i]
        grown = taken | move
        free = CELLS & ~grown
        replies = (grown + BOTTOM) & free
        threat = fours(yours | (free & ~upper) | (replies & upper))
        lanes[row + TARGETS + i] = your_wins & free & ~upper & ~replies & far
        if alpha < 0:
            greater |= move if threat == ZERO else ZERO
        else:
            four = fours(mine | move | (free & upper & ~replies & deep))
            greater |= move if (threat == ZERO) & (four != ZERO) else ZERO
            other |= move if fours(mine | move | free) == ZERO else ZERO
    return greater, other


@njit(cache=True, nogil=True, inline="always")
def fill_as_first(
    lanes: Any, row: int, mine: int, yours: int, taken: int, upper: int, deep: int, far: int, alpha: int
) -> tuple[int, int]:
    """What the pairs of UPPER tell if the opponent moves last; TARGETS are the mover's."""
    cells = playable(taken)
    greater, other = ZERO, ZERO
    for i in range(COLUMNS):
        move = cells & COLUMN[i]
        grown = taken | move
        free = CELLS & ~grown
        replies = (grown + BOTTOM) & free
        threat = fours(mine | move | (free & ~upper) | (replies & upper))
        lanes[row + TARGETS + i] = lanes[row + WINS + i] & ~upper & ~replies & far
        if alpha >= 0:
            other |= move if threat == ZERO else ZERO
        else:
            four = fours(yours | (free & upper & ~replies & deep))
            other |= move if (threat == ZERO) & (four != ZERO) else ZERO
            greater |= move if fours(yours | free) == ZERO else ZERO
    return greater, other


@njit(cache=True, nogil=True)
def lasting_threat_wins(targets: int, other: int, taken: int, upper: int, no_stone: int) -> bool:
    """Whether one of these winning cells outside of UPPER decides the game for the side that does not move last.

    Nobody wants to play under such a cell: its owner would be blocked, the opponent would let him win. Without that
    part of the column the number of cells left is odd, so its owner moves last elsewhere, and the opponent runs out of
    other moves: unless the cells that he can get by then make four. The cells above the winning cell stay empty.
    """
    empty, cells = CELLS & ~taken, playable(taken)
    while targets != ZERO:
        target = targets & (ZERO - targets)
        targets ^= target
        last = under(target, no_stone)
        column = COLUMN[column_of(target)]
        below = column & (last | (last - ONE))
        elsewhere = (empty & ~upper) | (cells & upper)
        within = ((empty & upper) | (cells & ~upper)) & below
        if fours(other | (elsewhere & ~column) | within) == ZERO:
            return True
    return False

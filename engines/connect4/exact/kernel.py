"""Alpha-beta search to the end of the game, in numba: decides exactly whether a position's value exceeds a bound.

A value tells the winner and when: the cells that are still empty at the end plus one if the side to move wins, the
negative of that if it loses, 0 for a draw. So it does not depend on the path to a position:

    1   a win with the last stone of a full board          -3   a loss with two cells left          0   a draw

All windows are null windows: the bound is `alpha` at the root and at every second ply, and -alpha - 1 in between. The
stack is explicit: one row per open position, the root's first, so that `search_slice` can pause at any node.

An entry of the table is one word, so that threads can share it: 40 bits that identify the position together with its
place, then lower bound, upper bound, stones, and the column of the best move.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.words import (
    CELLS,
    COLUMN,
    COLUMN_BITS,
    COLUMNS,
    KEY_BITS,
    MINE,
    NO_STONE,
    ONE,
    ROWS,
    TAKEN,
    UPPER,
    YOURS,
    ZERO,
    claims,
    key_of,
    over,
    playable,
    safe_moves,
    winning_cells,
)
from plyd.engines.core.intrinsics import count_bits, is_raised, lowest_bit_index, monotonic_ns, pointer_to, prefetch
from plyd.engines.core.kernel_cache import njit

PLIES = COLUMNS * ROWS + 1
ENTER, NEXT, LEAVE = range(3)  # next task at the top of the stack
KEY = 5  # item of a row of Stack.board
POLL = 1023
OFFSET = 64  # added to a value to make it positive
SCATTER = np.uint64(0x9E3779B97F4A7C15)
KEY_MASK, CHECK_MASK = np.uint64((1 << KEY_BITS) - 1), np.uint64((1 << 40) - 1)
CHECK_SHIFT, LOWER_SHIFT, UPPER_SHIFT, STONES_SHIFT = (np.uint64(n) for n in (24, 17, 10, 4))
SEVEN, SIX, FOUR = np.uint64(127), np.uint64(63), np.uint64(15)
LEAST_BITS = 17  # of a table's size: a pair's place has 16 bits or more of a key's 56, the check 40
WON, KNOWN = 1000, 100_000  # ranks of a move that wins in three plies, and of the table's move
CENTRE = 6  # twice the middle column of the standard board


class Stack(NamedTuple):
    """State of the search, so that it can resume."""

    board: NDArray[np.uint64]  # (PLIES * 8,): of each open position mine, yours, taken, my wins, your wins, key
    child: NDArray[np.uint64]  # (PLIES * 8,): the winning cells that a stone in each column leaves
    order: NDArray[np.int64]  # (PLIES * 8,): columns to try, best last, with their ranks
    count: NDArray[np.int64]  # (PLIES,): number of columns left in `order`
    best: NDArray[np.int64]  # (PLIES,): best value so far
    scratch: NDArray[np.int64]  # (8,): for sorting
    at: NDArray[np.int64]  # (8,): depth, task, value of the last child, nodes so far, best column at the root


def stack_for() -> Stack:
    """An empty stack."""
    words, numbers = np.uint64, np.int64
    return Stack(
        np.zeros(PLIES * 8, words),
        np.zeros(PLIES * 8, words),
        np.zeros(PLIES * 8, numbers),
        np.zeros(PLIES, numbers),
        np.zeros(PLIES, numbers),
        np.zeros(8, numbers),
        np.zeros(8, numbers),
    )


@njit(cache=True, nogil=True, inline="always")
def place_of(key: np.uint64, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The place of a position's first entry in a table of 2**bits, and its check."""
    scattered = (key * SCATTER) & KEY_MASK
    return (scattered >> (np.uint64(KEY_BITS + 1) - bits)) << ONE, scattered & CHECK_MASK


@njit(cache=True, nogil=True, inline="always")
def rank_moves(
    children: Any,
    orders: Any,
    scratch: Any,
    row: int,
    mine: int,
    taken: int,
    cells: int,
    moves: int,
    no_stone: int,
    known: int,
) -> tuple[int, int]:
    """Order the moves: the table's move, then by winning cells made, then by distance from the centre.

    Returns their number, and a column that wins in three plies, -1 if there is none: it makes two winning cells at
    once, or two above each other of which one is within reach. The first loop compiles to vector instructions.
    """
    free = CELLS & ~taken
    for i in range(COLUMNS):
        move = cells & COLUMN[i]
        wins = winning_cells(mine | move) & free & ~move
        at_once = wins & ((cells & ~move) | over(move, no_stone))
        twice = (at_once & (at_once - ONE)) | (over(at_once, no_stone) & wins)
        children[row + i] = wins
        orders[row + i] = np.int64(count_bits(wins)) if twice == ZERO else np.int64(WON)
    number, winner = 0, -1
    while moves != ZERO:
        column = np.int64(lowest_bit_index(moves)) // COLUMN_BITS
        moves &= moves - ONE
        rank = orders[row + column]
        if rank == WON:
            winner = column
            break
        rank = rank * 64 - abs(2 * column - CENTRE) + (KNOWN if column == known else 0)
        place = number
        while place > 0 and scratch[place - 1] >> 3 >= rank:
            scratch[place] = scratch[place - 1]
            place -= 1
        scratch[place] = rank << 3 | column
        number += 1
    for i in range(number):
        orders[row + i] = scratch[i]
    return number, winner


@njit(cache=True, nogil=True)
def search_slice(
    stack: Stack, table: Any, bits: int, board: Any, alpha: int, deadline_ns: int, nodes: int, stop: Any
) -> bool:
    """Search until the question is answered, time or nodes run out, or `stop` is set; returns whether it is answered.

    The root must have no win at once. The answer is at[2]: greater than alpha means yes, by the column at[4].
    """
    boards, children, orders = pointer_to(stack.board), pointer_to(stack.child), pointer_to(stack.order)
    counts, bests, scratch = pointer_to(stack.count), pointer_to(stack.best), pointer_to(stack.scratch)
    entries = pointer_to(table)
    no_stone, upper_cells = board[NO_STONE], board[UPPER]
    all_cells = np.int64(count_bits((~board[TAKEN]) & CELLS) + count_bits(board[MINE] | board[YOURS]))
    root_stones = np.int64(count_bits(board[MINE] | board[YOURS]))
    depth, task, value = stack.at[0], stack.at[1], stack.at[2]
    table_bits = np.uint64(bits)
    count, is_answered = 0, False
    while True:
        row = depth * 8
        bound = alpha if depth & 1 == 0 else -alpha - 1
        if task == ENTER:
            # Step 1. Stop?
            if count == nodes or (count & POLL == POLL and (is_raised(stop) or monotonic_ns() >= deadline_ns)):
                break
            count += 1
            mine, yours, taken = boards[row], boards[row + 1], boards[row + 2]
            my_wins, your_wins = boards[row + 3], boards[row + 4]
            left = all_cells - root_stones - depth
            task = LEAVE
            # Step 2. Moves after which the opponent cannot win at once.
            cells = playable(taken)
            moves = safe_moves(cells, your_wins, no_stone)
            if moves == ZERO:
                value = 1 - left
                continue
            # Step 3. The earliest win is in three plies, the earliest loss in four.
            if left <= 2:
                value = 0
                continue
            if bound >= left - 2:
                value = left - 2
                continue
            if bound < 3 - left:
                value = 3 - left
                continue
            key = key_of(mine, taken)
            place, check = place_of(key, table_bits)
            prefetch(entries, np.int64(place))
            # Step 4. Parity.
            told = claims(mine, yours, taken, my_wins, your_wins, upper_cells, no_stone, bound) if depth > 0 else 0
            if told != 0:
                value = max(0, bound + 1) if told > 0 else min(bound, 0)
                continue
            # Step 5. Transposition table.
            known = 15
            entry = entries[place]
            if entry >> CHECK_SHIFT != check:
                entry = entries[place + ONE]
            if entry >> CHECK_SHIFT == check and entry != ZERO:
                low = np.int64((entry >> LOWER_SHIFT) & SEVEN) - OFFSET
                high = np.int64((entry >> UPPER_SHIFT) & SEVEN) - OFFSET
                known = np.int64(entry & FOUR)
                if low > bound:
                    value = low
                    if depth == 0:
                        stack.at[4] = known
                    if depth > 0 or known < 15:
                        continue
                elif high <= bound:
                    value = high
                    continue
            # Step 6. Rank the moves; one of them may win in three plies.
            boards[row + KEY] = key
            number, winner = rank_moves(children, orders, scratch, row, mine, taken, cells, moves, no_stone, known)
            if winner >= 0:
                value = left - 2
                if depth == 0:
                    stack.at[4] = winner
                continue
            counts[depth], bests[depth] = number, 1 - left
            task = NEXT
        elif task == NEXT:
            counts[depth] -= 1
            column = orders[row + counts[depth]] & 7
            mine, yours, taken = boards[row], boards[row + 1], boards[row + 2]
            move = playable(taken) & COLUMN[column]
            wins = children[row + column]
            your_wins = boards[row + 4]
            depth += 1
            row += 8
            boards[row], boards[row + 1], boards[row + 2] = yours, mine | move, taken | move
            boards[row + 3], boards[row + 4] = your_wins & ~move, wins
            task = ENTER
        else:
            if depth == 0:
                is_answered = True
                break
            depth -= 1
            row -= 8
            bound = -bound - 1
            value, task = -value, NEXT
            if value > bests[depth]:
                bests[depth] = value
            if value > bound or counts[depth] == 0:
                column = orders[row + counts[depth]] & 7
                value, task = bests[depth], LEAVE
                if depth == 0 and value > bound:
                    stack.at[4] = column
                place, check = place_of(boards[row + KEY], table_bits)
                remember(entries, place, check, value, value > bound, column, root_stones + depth, root_stones)
    stack.at[0], stack.at[1], stack.at[2] = depth, task, value
    stack.at[3] += count
    return is_answered


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
        column = np.int64(15)
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


def ask(stack: Stack, board: NDArray[np.uint64]) -> None:
    """Prepare a question about a position."""
    stack.board[:3] = board[:3]
    free = CELLS & ~board[TAKEN]
    stack.board[3] = winning_cells(board[MINE]) & free
    stack.board[4] = winning_cells(board[YOURS]) & free
    stack.at[:3] = 0, ENTER, 0
    stack.at[4] = -1

"""Alpha-beta search to the end of the game, in numba: decides exactly whether a position's value exceeds a bound.

A value tells the winner and when: the cells that are still empty at the end plus one if the side to move wins, the
negative of that if it loses, 0 for a draw. So it does not depend on the path to a position:

    1   a win with the last stone of a full board          -3   a loss with two cells left          0   a draw

All windows are null windows: the bound is `alpha` at the root and at every second ply, and -alpha - 1 in between. The
stack is explicit: one row per open position, the root's first, so that `search_slice` can pause at any node. A position
is entered only if its parent could not decide it without a search (see parity.py).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.entries import FOUR, NO_COLUMN, OFFSET, bounds_of, entry_of, place_of, remember
from plyd.engines.connect4.exact.ordering import lines_through, praise, rank_moves
from plyd.engines.connect4.exact.parity import LANE_WORDS, SAFE, WINS, look_at_moves, told_by_parity
from plyd.engines.connect4.exact.words import (
    CELLS,
    COLUMN,
    COLUMNS,
    MINE,
    NO_STONE,
    ROWS,
    TAKEN,
    UPPER,
    YOURS,
    ZERO,
    column_of,
    key_of,
    least_key,
    playable,
    safe_moves,
    winning_cells,
)
from plyd.engines.core.intrinsics import count_bits, is_raised, monotonic_ns, pointer_to, prefetch
from plyd.engines.core.kernel_cache import njit

PLIES = COLUMNS * ROWS + 1
ENTER, NEXT, LEAVE = range(3)  # next task at the top of the stack
YOUR_WINS, MOVES, KEY = 3, 4, 5  # items of a row of Stack.board after mine, yours and taken
POLL = 1023
TABLE_CELLS = 10  # with so many empty cells or fewer a search is cheaper than a look at the table
LOOK_AHEAD_CELLS = 14  # with more empty cells all replies are looked up in the table before one is searched


class Listed(NamedTuple):
    """An opening book for the search: see book.py."""

    keys: NDArray[np.uint64]  # (positions,): sorted
    values: NDArray[np.int8]  # (positions,)
    plies: np.int64  # the most stones of a position; -1 if there is none
    width: np.int64  # columns of the board
    is_lopsided: bool  # whether it has a forbidden cell


NOTHING_LISTED = Listed(np.zeros(0, np.uint64), np.zeros(0, np.int8), np.int64(-1), np.int64(COLUMNS), False)
NOT_LISTED = 127


class Stack(NamedTuple):
    """State of the search, so that it can resume."""

    board: NDArray[np.uint64]  # (PLIES * 8,): of each open position mine, yours, taken, your wins, safe moves, key
    lanes: NDArray[np.uint64]  # (PLIES * LANE_WORDS,): what is known of its moves, see parity.py
    order: NDArray[np.int64]  # (PLIES * 8,): columns to try, best last, with their ranks
    count: NDArray[np.int64]  # (PLIES * 2,): number of columns left in `order`, and number at first
    best: NDArray[np.int64]  # (PLIES,): best value so far
    lines: NDArray[np.int64]  # (64,): of each cell how many lines of four it is in
    history: NDArray[np.int64]  # (2 * 64,): of each side and cell how often it was better than moves tried before it
    at: NDArray[np.int64]  # (8,): depth, task, value of the last child, nodes so far, best column at the root


def stack_for(board: NDArray[np.uint64]) -> Stack:
    """An empty stack for a position's board."""
    words, numbers = np.uint64, np.int64
    return Stack(
        np.zeros(PLIES * 8, words),
        np.zeros(PLIES * LANE_WORDS, words),
        np.zeros(PLIES * 8, numbers),
        np.zeros(PLIES * 2, numbers),
        np.zeros(PLIES, numbers),
        lines_through(board),
        np.zeros(2 * 64, numbers),
        np.zeros(8, numbers),
    )


@njit(cache=True, nogil=True, inline="always")
def look_up_replies(
    entries: Any, bits: int, orders: Any, row: int, number: int, yours: int, taken: int, cells: int, bound: int
) -> tuple[int, int, int]:
    """What the table knows of the replies to `number` moves in order; drops the moves that it refutes.

    Returns the number of moves left, the best value of those dropped, and a column that exceeds the bound, else -1;
    then the value is that column's.
    """
    left, best = 0, -OFFSET
    for i in range(number):
        column = orders[row + i] & 7
        grown = taken | (cells & COLUMN[column])
        place, check = place_of(key_of(yours, grown), bits)
        entry = entry_of(entries, place, check)
        if entry != ZERO:
            low, high = bounds_of(entry)
            if -high > bound:
                return left, -high, column
            if -low <= bound:
                best = max(best, -low)
                continue
        orders[row + left] = orders[row + i]
        left += 1
    return left, best, -1


@njit(cache=True, nogil=True)
def listed_value(listed: Listed, mine: int, taken: int) -> int:
    """A position's value in the book, NOT_LISTED if it has none."""
    key = least_key(mine, taken, listed.width, listed.is_lopsided)
    place = np.searchsorted(listed.keys, key)
    if place < len(listed.keys) and listed.keys[place] == key:
        return np.int64(listed.values[place])
    return NOT_LISTED


@njit(cache=True, nogil=True)
def search_slice(
    stack: Stack, table: Any, bits: int, board: Any, listed: Listed, alpha: int, deadline_ns: int, nodes: int, stop: Any
) -> bool:
    """Search until the question is answered, time or nodes run out, or `stop` is set; returns whether it is answered.

    The root must have three empty cells or more, no win at once, a safe move, and an alpha that leaves it open whether
    the side to move wins in three plies or loses in four. The answer is at[2]: greater than alpha means yes, by the
    column at[4].
    """
    boards, lanes, orders = pointer_to(stack.board), pointer_to(stack.lanes), pointer_to(stack.order)
    counts, bests, lines = pointer_to(stack.count), pointer_to(stack.best), pointer_to(stack.lines)
    history = pointer_to(stack.history)
    entries, words = pointer_to(table), pointer_to(board)
    no_stone, upper_cells = board[NO_STONE], board[UPPER]
    root_stones = np.int64(count_bits(board[MINE] | board[YOURS]))
    root_left = np.int64(count_bits((~board[TAKEN]) & CELLS))
    depth, task, value = stack.at[0], stack.at[1], stack.at[2]
    table_bits = np.uint64(bits)
    count, is_answered = 0, False
    while True:
        row = depth * 8
        bound = alpha if depth & 1 == 0 else -alpha - 1
        left = root_left - depth
        if task == ENTER:
            # Step 1. Stop?
            if count == nodes or (count & POLL == POLL and (is_raised(stop) or monotonic_ns() >= deadline_ns)):
                break
            count += 1
            mine, yours, taken = boards[row], boards[row + 1], boards[row + 2]
            moves = boards[row + MOVES]
            task = LEAVE
            # Step 2. Opening book, then transposition table.
            if root_stones + depth <= listed.plies and depth > 0:
                value = listed_value(listed, mine, taken)
                if value != NOT_LISTED:
                    continue
            known = np.int64(NO_COLUMN)
            if left > TABLE_CELLS:
                key = key_of(mine, taken)
                boards[row + KEY] = key
                place, check = place_of(key, table_bits)
                entry = entry_of(entries, place, check)
                if entry != ZERO:
                    low, high = bounds_of(entry)
                    known = np.int64(entry & FOUR)
                    if low > bound and (depth > 0 or known != NO_COLUMN):
                        value, stack.at[4] = low, known if depth == 0 else stack.at[4]
                        continue
                    if high <= bound:
                        value = high
                        continue
            # Step 3. A win in three plies? Else the earliest win is in five.
            cells = playable(taken)
            lane = depth * LANE_WORDS
            good_cells = upper_cells if left & 1 == 1 else ~upper_cells
            won = look_at_moves(lanes, lane, mine, taken, cells, moves, no_stone, good_cells)
            if won != ZERO:
                value, stack.at[4] = left - 2, column_of(won) if depth == 0 else stack.at[4]
                continue
            if left == 3:
                value = 0
                continue
            if bound >= left - 4:
                value = left - 4
                continue
            # Step 4. Parity: drop the moves that it refutes.
            told, refuted = told_by_parity(
                lanes, lane, mine, yours, taken, boards[row + YOUR_WINS], moves, words, bound, left & 1 == 1
            )
            if told != ZERO:
                value, stack.at[4] = max(0, bound + 1), column_of(told) if depth == 0 else stack.at[4]
                continue
            best = 1 - left if refuted == ZERO else min(0, bound)
            moves &= ~refuted
            # Step 5. Order the others, and fetch what the table has of their replies.
            if left - 1 > TABLE_CELLS:
                later = moves
                while later != ZERO:
                    move = later & (ZERO - later)
                    later ^= move
                    prefetch(entries, np.int64(place_of(key_of(yours, taken | move), table_bits)[0]))
            number = rank_moves(orders, row, lanes, lane, lines, history, left & 1, moves, known)
            if left > LOOK_AHEAD_CELLS:
                number, known_best, column = look_up_replies(
                    entries, table_bits, orders, row, number, yours, taken, cells, bound
                )
                best = max(best, known_best)
                if column >= 0:
                    value, stack.at[4] = known_best, column if depth == 0 else stack.at[4]
                    continue
            if number == 0:
                value = best
                continue
            counts[depth], counts[PLIES + depth], bests[depth] = number, number, best
            task = NEXT
        elif task == NEXT:
            counts[depth] -= 1
            column = orders[row + counts[depth]] & 7
            mine, yours, taken = boards[row], boards[row + 1], boards[row + 2]
            move = playable(taken) & COLUMN[column]
            lane = depth * LANE_WORDS + column
            depth += 1
            row += 8
            boards[row], boards[row + 1], boards[row + 2] = yours, mine | move, taken | move
            boards[row + YOUR_WINS], boards[row + MOVES] = lanes[lane + WINS], lanes[lane + SAFE]
            task = ENTER
        else:
            if depth == 0:
                is_answered = True
                break
            depth -= 1
            row -= 8
            bound = -bound - 1
            value, task = -value, NEXT
            bests[depth] = max(bests[depth], value)
            if value > bound or counts[depth] == 0:
                column = orders[row + counts[depth]] & 7
                value, task = bests[depth], LEAVE
                if depth == 0 and value > bound:
                    stack.at[4] = column
                if value > bound:
                    cells, side = playable(boards[row + TAKEN]), (left + 1) & 1
                    praise(history, side, orders, row, counts[depth], counts[PLIES + depth], cells)
                if left + 1 > TABLE_CELLS:
                    place, check = place_of(boards[row + KEY], table_bits)
                    remember(entries, place, check, value, value > bound, column, root_stones + depth, root_stones)
    stack.at[0], stack.at[1], stack.at[2] = depth, task, value
    stack.at[3] += count
    return is_answered


def ask(stack: Stack, board: NDArray[np.uint64]) -> None:
    """Prepare a question about a position."""
    stack.board[:3] = board[:3]
    your_wins = winning_cells(board[YOURS]) & CELLS & ~board[TAKEN]
    stack.board[YOUR_WINS] = your_wins
    stack.board[MOVES] = safe_moves(playable(board[TAKEN]), your_wins, board[NO_STONE])
    stack.at[:3] = 0, ENTER, 0
    stack.at[4] = -1

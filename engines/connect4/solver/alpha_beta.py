"""Alpha-beta search to the end of the game, in numba: decides exactly whether a position's value exceeds a bound.

A value encodes the winner and the time: TOP minus the stones on the board at the end if the side to move wins, the
negative of that if it loses, 0 for a draw. Values do not depend on the path to a position:

    TOP - 9   a win with the ninth stone          -(TOP - 10)   a loss with the tenth stone          0   a draw

The stack is explicit: one row per open position, the root's first. `work` can pause at any node and resume later.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.board import DRAW, OPEN, WIN, glance, has_four, key_of, playable, winning_cells
from plyd.engines.connect4.graph.kernel import LONGEST
from plyd.engines.core.intrinsics import is_raised, lowest_bit_index, monotonic_ns
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros
from plyd.engines.core.simd import Lanes, count_all, lane_of, load, only_lane, store, used_lanes

TOP = 300
ENTER, NEXT, LEAVE = range(3)  # next task at the top of the stack
POLL = 511
OFFSET = 512  # added to a value to make it positive


class Stack(NamedTuple):
    """State of the search, so that it can resume."""

    board: NDArray[np.uint16]  # (3 * LONGEST, 16): mine, yours, taken of each open position
    key: NDArray[np.uint64]  # (LONGEST,)
    alpha: NDArray[np.int32]  # (LONGEST,)
    beta: NDArray[np.int32]  # (LONGEST,)
    order: NDArray[np.int8]  # (LONGEST, 16): columns to try, best first
    count: NDArray[np.int8]  # (LONGEST,): number of columns in `order`
    turn: NDArray[np.int8]  # (LONGEST,): index in `order` of the next column
    best: NDArray[np.int8]  # (LONGEST,): the column that exceeded alpha, -1 if none did
    rank: NDArray[np.float64]  # (16,): scratch for move ordering
    at: NDArray[np.int64]  # (4,): depth, task, value returned by the last child, nodes so far


class SolverTable(NamedTuple):
    """Transposition table: a value, whether it is a lower or an upper bound, and the move that proved it."""

    key: NDArray[np.uint64]  # (power of two,)
    entry: NDArray[np.int32]  # (value + OFFSET) | 1024 if a lower bound | 4096 * (column + 1)


def stack_for() -> Stack:
    """An empty stack."""
    return Stack(
        np.zeros((3 * LONGEST, 16), np.uint16),
        np.zeros(LONGEST, np.uint64),
        np.zeros(LONGEST, np.int32),
        np.zeros(LONGEST, np.int32),
        np.zeros((LONGEST, 16), np.int8),
        np.zeros(LONGEST, np.int8),
        np.zeros(LONGEST, np.int8),
        np.zeros(LONGEST, np.int8),
        np.zeros(16),
        np.zeros(4, np.int64),
    )


def table_for(entries: int) -> SolverTable:
    """An empty table; entries is a power of two."""
    return SolverTable(dense_zeros(entries, np.uint64), dense_zeros(entries, np.int32))


def ask(stack: Stack, board: NDArray[np.uint16], alpha: int) -> None:
    """Prepare the question whether the position's value exceeds alpha."""
    stack.board[:3] = board[:3]
    stack.alpha[0], stack.beta[0] = alpha, alpha + 1
    stack.best[0] = -1
    stack.at[:3] = 0, ENTER, 0


@njit(cache=True, nogil=True)
def work(
    stack: Stack, table: SolverTable, board: Any, stones: int, lines: Any, deadline_ns: int, nodes: int, stop: Any
) -> bool:
    """Search until the question is answered, time or nodes run out, or `stop` is set; returns whether it is answered.

    The answer is at[2]: greater than alpha means yes, by the move best[0].
    """
    below, ones = load(board, 3), load(board, 4)
    depth, task, value = stack.at[0], stack.at[1], stack.at[2]
    count, is_answered = 0, False
    while True:
        if task == ENTER:
            # Step 1. Stop?
            if count == nodes or (count & POLL == POLL and (is_raised(stop) or monotonic_ns() >= deadline_ns)):
                break
            count += 1
            # Step 2. Decided by `glance`, or every possible value on one side of the window?
            mine, yours = load(stack.board, 3 * depth), load(stack.board, 3 * depth + 1)
            taken = load(stack.board, 3 * depth + 2)
            my_wins, your_wins = winning_cells(mine) & ~taken, winning_cells(yours) & ~taken
            status, plies, moves = glance(playable(taken, ones), my_wins, your_wins, below)
            alpha, beta = stack.alpha[depth], stack.beta[depth]
            most = TOP - (stones + depth + 3)  # a win in three plies; the earliest loss is in four
            task = LEAVE
            if status != OPEN:
                value = 0 if status == DRAW else most + 3 - plies if status == WIN else plies - 3 - most
                continue
            if alpha >= most or beta <= 1 - most:
                value = most if alpha >= most else 1 - most
                continue
            # Step 3. Draw if the side that needs a win has no line of four left.
            if (alpha >= 0 and not has_four(mine | ~taken)) or (beta <= 0 and not has_four(yours | ~taken)):
                value = 0
                continue
            # Step 4. Transposition table.
            key = key_of(mine, taken)
            entry = table.entry[key & np.uint64(table.key.size - 1)]
            known = -1
            if table.key[key & np.uint64(table.key.size - 1)] == key:
                value, known = (entry & 1023) - OFFSET, (entry >> 12) - 1
                if value >= beta if entry & 1024 else value <= alpha:
                    if depth == 0:
                        stack.best[0] = known
                    continue
            # Step 5. Search the moves in order.
            stack.key[depth] = key
            stack.turn[depth], stack.best[depth] = 0, -1
            stack.count[depth] = rank_moves(stack, depth, moves, mine, taken, lines, known)
            task = NEXT
        elif task == NEXT:
            if stack.turn[depth] == stack.count[depth]:
                value = stack.alpha[depth]
                remember(table, stack.key[depth], value, False, stack.order[depth, 0])
                task = LEAVE
                continue
            mine, yours = load(stack.board, 3 * depth), load(stack.board, 3 * depth + 1)
            taken = load(stack.board, 3 * depth + 2)
            move = only_lane(playable(taken, ones), np.int64(stack.order[depth, stack.turn[depth]]))
            stack.turn[depth] += 1
            depth += 1
            store(stack.board, 3 * depth, yours)
            store(stack.board, 3 * depth + 1, mine | move)
            store(stack.board, 3 * depth + 2, taken | move)
            stack.alpha[depth], stack.beta[depth] = -stack.beta[depth - 1], -stack.alpha[depth - 1]
            task = ENTER
        else:
            if depth == 0:
                is_answered = True
                break
            depth -= 1
            value, task = -value, NEXT
            if value >= stack.beta[depth]:
                stack.best[depth] = stack.order[depth, stack.turn[depth] - 1]
                remember(table, stack.key[depth], value, True, stack.best[depth])
                task = LEAVE
    stack.at[0], stack.at[1], stack.at[2] = depth, task, value
    stack.at[3] += count
    return is_answered


@njit(cache=True, nogil=True)
def remember(table: SolverTable, key: np.uint64, value: int, is_at_least: bool, column: int) -> None:
    """Store a lower or upper bound of a position's value."""
    slot = key & np.uint64(table.key.size - 1)
    table.key[slot] = key
    table.entry[slot] = (value + OFFSET) | (1024 if is_at_least else 0) | (column + 1) << 12


@njit(cache=True, nogil=True)
def rank_moves(stack: Stack, depth: int, moves: Lanes, mine: Lanes, taken: Lanes, lines: Any, known: int) -> int:
    """Order the moves: the table's move, then by winning cells made, then by lines; returns their number."""
    lanes, count = used_lanes(moves), 0
    while lanes != np.uint64(0):
        column = lowest_bit_index(lanes)
        lanes &= lanes - np.uint64(1)
        move = only_lane(moves, column)
        row = lowest_bit_index(lane_of(move, column))
        rank = count_all(winning_cells(mine | move) & ~(taken | move)) + 0.99 * lines[16 * column + row]
        rank = 1000.0 if column == known else rank
        place = count
        while place > 0 and stack.rank[place - 1] < rank:
            stack.order[depth, place], stack.rank[place] = stack.order[depth, place - 1], stack.rank[place - 1]
            place -= 1
        stack.order[depth, place], stack.rank[place] = column, rank
        count += 1
    return count

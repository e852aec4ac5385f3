"""Playouts: games played to the end with random moves, either blind or informed.

In an informed playout a side wins at once if it can, blocks an immediate win, never plays below a winning cell of the
opponent, and plays below its own winning cell only if it must. The game ends as soon as its result is certain within
three plies.
"""

from typing import Any

import numpy as np

from plyd.engines.connect4.board import has_four, playable, several, under, winning_cells
from plyd.engines.core.intrinsics import count_bits, nth_bit_index
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import Lanes, is_any, load, only_lane, used_lanes

LOSS, DRAW, WIN = 0, 1, 2  # in half points, for the side to move at the start


@njit(cache=True, nogil=True)
def next_random(random: np.uint64) -> np.uint64:
    """The next number of an xorshift generator; never 0 if the seed is not 0."""
    random ^= random << np.uint64(13)
    random ^= random >> np.uint64(7)
    return random ^ (random << np.uint64(17))


@njit(cache=True, nogil=True)
def any_of(cells: Lanes, random: np.uint64) -> Lanes:
    """One cell chosen by a random number; there must be at most one per column."""
    lanes = used_lanes(cells)
    n = ((random >> np.uint64(32)) * np.uint64(count_bits(lanes))) >> np.uint64(32)
    return only_lane(cells, nth_bit_index(lanes, np.int64(n)))


@njit(cache=True, nogil=True)
def blind_playout(mine: Lanes, yours: Lanes, taken: Lanes, ones: Lanes, random: np.uint64) -> tuple[int, np.uint64]:
    """Result of random moves from a position in which neither side has four, and the next random number."""
    winning = WIN  # points if the side to move makes four
    while True:
        cells = playable(taken, ones)
        if not is_any(cells):
            return DRAW, random
        random = next_random(random)
        move = any_of(cells, random)
        mine |= move
        taken |= move
        if has_four(mine):
            return winning, random
        mine, yours = yours, mine
        winning = WIN - winning


@njit(cache=True, nogil=True)
def playout(
    mine: Lanes, yours: Lanes, taken: Lanes, below: Lanes, ones: Lanes, random: np.uint64
) -> tuple[int, np.uint64]:
    """Result of an informed playout, and the next random number."""
    winning = WIN  # points if the side to move wins
    my_wins, your_wins = winning_cells(mine) & ~taken, winning_cells(yours) & ~taken
    while True:
        cells = playable(taken, ones)
        if is_any(cells & my_wins):
            return winning, random
        move = cells & your_wins
        if is_any(move):
            if several(move):
                return WIN - winning, random
        else:
            safe = cells & ~under(your_wins, below)
            if not is_any(safe):
                return (WIN - winning if is_any(cells) else DRAW), random
            random = next_random(random)
            mine_above = under(my_wins, below)
            wasting = safe & mine_above
            if is_any(wasting):
                if is_any(wasting & under(mine_above, below)):
                    return winning, random  # two winning cells, one above the other: only the lower can be blocked
                if is_any(safe & ~mine_above):
                    safe &= ~mine_above
            move = any_of(safe, random)
        mine |= move
        taken |= move
        mine, yours = yours, mine
        my_wins, your_wins = your_wins & ~taken, winning_cells(yours) & ~taken
        winning = WIN - winning


@njit(cache=True, nogil=True)
def many_playouts(board: Any, count: int, is_blind: bool) -> int:
    """Total half points of the side to move over `count` playouts."""
    mine, yours, taken, below, ones = load(board, 0), load(board, 1), load(board, 2), load(board, 3), load(board, 4)
    random, total = np.uint64(88172645463325252), 0
    for _ in range(count):
        if is_blind:
            points, random = blind_playout(mine, yours, taken, ones, random)
        else:
            points, random = playout(mine, yours, taken, below, ones, random)
        total += points
    return total

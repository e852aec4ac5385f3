"""Playouts: a game played to its end by chance, either blindly or with open eyes.

Eyes open, a side wins at once if it can, blocks what would lose at once, never plays under a cell that wins for the
other side, and under one that wins for itself only if it must. What is certain two or three plies ahead ends the game.
"""

from typing import Any

import numpy as np

from plyd.engines.connect4.board import has_four, playable, several, under, winning_cells
from plyd.engines.core.intrinsics import count_bits, nth_bit_index
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.simd import Lanes, is_any, load, only_lane, used_lanes

LOSS, DRAW, WIN = 0, 1, 2  # for the side to move first; in half points


@njit(cache=True, nogil=True)
def next_random(random: np.uint64) -> np.uint64:
    """The number after a random number (xorshift); never 0, if it was not."""
    random ^= random << np.uint64(13)
    random ^= random >> np.uint64(7)
    return random ^ (random << np.uint64(17))


@njit(cache=True, nogil=True)
def any_of(cells: Lanes, random: np.uint64) -> Lanes:
    """One of the cells, which are at most one a column, by a random number."""
    lanes = used_lanes(cells)
    n = ((random >> np.uint64(32)) * np.uint64(count_bits(lanes))) >> np.uint64(32)
    return only_lane(cells, nth_bit_index(lanes, np.int64(n)))


@njit(cache=True, nogil=True)
def blind_playout(mine: Lanes, yours: Lanes, taken: Lanes, ones: Lanes, random: np.uint64) -> tuple[int, np.uint64]:
    """How random moves end from a position where nobody has four yet, and the next random number."""
    winning = WIN  # what the side to move would get by four
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
    """How a game ends that both sides go on with by chance but with open eyes, and the next random number."""
    winning = WIN  # what the side to move gets if it wins
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
                    return winning, random  # two cells above one another: he can take only the first
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
    """Half points of the side to move over so many playouts."""
    mine, yours, taken, below, ones = load(board, 0), load(board, 1), load(board, 2), load(board, 3), load(board, 4)
    random, total = np.uint64(88172645463325252), 0
    for _ in range(count):
        if is_blind:
            points, random = blind_playout(mine, yours, taken, ones, random)
        else:
            points, random = playout(mine, yours, taken, below, ones, random)
        total += points
    return total

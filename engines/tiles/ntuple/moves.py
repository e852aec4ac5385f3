"""Moves of tile games, in numba: the environment's drops, the player's slides, and the best slide one move ahead."""

from typing import Any, NamedTuple

import numpy as np

from plyd.engines.core.intrinsics import count_bits
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import (
    DOWN,
    LEFT,
    RIGHT,
    TO_BACK,
    TO_FRONT,
    UP,
    Slides,
    Word,
    cell_at,
    drop_at,
    empties,
    nth_empty,
    slide_rows,
    transpose,
    with_tile,
)
from plyd.engines.tiles.ntuple.network import Network, find_places, sum_of_places


class Spawns(NamedTuple):
    """The two tiles that the environment drops: a common one and a rare one."""

    common: np.uint64
    rare: np.uint64
    rare_chance: np.float64


@njit(cache=True, nogil=True)
def random_word(seed: Any) -> Word:
    """The next 64 random bits (SplitMix64)."""
    seed[0] += Word(0x9E3779B97F4A7C15)
    z = seed[0]
    z = (z ^ z >> Word(30)) * Word(0xBF58476D1CE4E5B9)
    z = (z ^ z >> Word(27)) * Word(0x94D049BB133111EB)
    return z ^ z >> Word(31)


@njit(cache=True, nogil=True)
def drop(board: Any, spawns: Spawns, seed: Any) -> Any:
    """Board after the environment's drop; every empty cell is equally likely."""
    free = empties(board)
    chance = random_word(seed)
    n = (chance >> Word(32)) * Word(count_bits(free)) >> Word(32)
    is_rare = np.float64(chance & Word(0xFFFFFFFF)) < spawns.rare_chance * 4294967296.0
    return drop_at(board, nth_empty(free, n), spawns.rare if is_rare else spawns.common)


@njit(cache=True, nogil=True)
def slide(board: Any, direction: int, slides: Slides) -> Any:
    """Board after a slide and the points it gains; the same board if the slide is not legal."""
    if direction == UP or direction == DOWN:
        after, points = slide_rows(transpose(board), TO_FRONT if direction == UP else TO_BACK, slides)
        return transpose(after), points
    return slide_rows(board, TO_FRONT if direction == LEFT else TO_BACK, slides)


@njit(cache=True, nogil=True)
def best_slide(board: Any, slides: Slides, net: Network) -> Any:
    """The slide with the highest points + value, that sum, the after-state and the points; -1 and 0 if no slide is
    legal.
    """
    # Step 1. All four slides. A transposed board has the same value, so up and down are left transposed.
    turned = transpose(board)
    up, up_points = slide_rows(turned, TO_FRONT, slides)
    right, right_points = slide_rows(board, TO_BACK, slides)
    down, down_points = slide_rows(turned, TO_BACK, slides)
    left, left_points = slide_rows(board, TO_FRONT, slides)

    # Step 2. Compute all weight addresses before any value, so that the weights are prefetched meanwhile.
    if up != turned:
        find_places(up, UP, net)
    if right != board:
        find_places(right, RIGHT, net)
    if down != turned:
        find_places(down, DOWN, net)
    if left != board:
        find_places(left, LEFT, net)

    # Step 3. The best by points + value; of equals, the first by opcode.
    best, best_worth, best_after, best_points = -1, np.float32(-np.inf), board, 0
    if up != turned:
        best, best_worth, best_after, best_points = UP, np.float32(up_points) + sum_of_places(UP, net), up, up_points
    if right != board:
        worth = np.float32(right_points) + sum_of_places(RIGHT, net)
        if worth > best_worth:
            best, best_worth, best_after, best_points = RIGHT, worth, right, right_points
    if down != turned:
        worth = np.float32(down_points) + sum_of_places(DOWN, net)
        if worth > best_worth:
            best, best_worth, best_after, best_points = DOWN, worth, down, down_points
    if left != board:
        worth = np.float32(left_points) + sum_of_places(LEFT, net)
        if worth > best_worth:
            best, best_worth, best_after, best_points = LEFT, worth, left, left_points
    if best < 0:
        return best, np.float32(0), board, 0
    if best == UP or best == DOWN:
        best_after = transpose(best_after)
    return best, best_worth, best_after, best_points


@njit(cache=True, nogil=True)
def worst_cell(after: Any, index: Word, slides: Slides, net: Network) -> int:
    """The empty cell where a tile is worst for the player: the minimum over cells of the maximum over slides."""
    worst, least = -1, np.inf
    for cell in range(16):
        if cell_at(after, cell) == 0:
            _, worth, _, _ = best_slide(with_tile(after, cell, index), slides, net)
            if worth < least:
                worst, least = cell, np.float64(worth)
    return worst


@njit(cache=True, nogil=True)
def evil_drop(board: Any, spawns: Spawns, seed: Any, slides: Slides, net: Network) -> Any:
    """Board after a random tile is dropped on the cell where it is worst for the player."""
    is_rare = np.float64(random_word(seed) & Word(0xFFFFFFFF)) < spawns.rare_chance * 4294967296.0
    index = spawns.rare if is_rare else spawns.common
    return with_tile(board, worst_cell(board, index, slides, net), index)

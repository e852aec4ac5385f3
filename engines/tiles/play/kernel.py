"""Games of a trained player, in numba: whole ones without a daemon, and moves in a game that a daemon follows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import count_bits, is_raised, monotonic_ns
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import Word, cell_at, empties, largest, slides_of, with_tile
from plyd.engines.tiles.ntuple.downgrade import NEVER_DOWNGRADE, downgraded
from plyd.engines.tiles.ntuple.moves import Spawns, best_slide, random_word, slide, worst_cell
from plyd.engines.tiles.ntuple.network import network_of
from plyd.engines.tiles.search.expectimax import (
    COMPLETED,
    MAX_DEPTH,
    DepthPolicy,
    ExpectimaxLimit,
    ExpectimaxMemory,
    SearchView,
    TileModel,
    search_of,
)
from plyd.engines.tiles.search.root import search_slides


class Pace(NamedTuple):
    """Depth or time per move, and when a game ends."""

    policy: DepthPolicy
    move_ns: np.int64  # time per move; 0: fixed depth
    until: np.int64  # a game ends with a tile of this index; 0: play to the end
    downgrade_from: np.int64 = np.int64(NEVER_DOWNGRADE)  # sum of tiles from which a board is downgraded; 0: never


@njit(cache=True, nogil=True)
def chosen_slide(
    before: Any, pace: Pace, limit: ExpectimaxLimit, search: SearchView, values: NDArray[np.float64]
) -> int:
    """The slide to play, or -1."""
    best, _, _, _ = best_slide(before, search.slides, search.net)
    if best < 0 or (pace.move_ns == 0 and pace.policy.depth == 1):
        return best
    first, last, until = pace.policy.depth, pace.policy.depth, limit
    if pace.move_ns > 0:
        first, last = 2, MAX_DEPTH
        until = ExpectimaxLimit(monotonic_ns() + pace.move_ns, limit.nodes, limit.flag)
    for depth in range(first, last + 1):
        if search_slides(before, depth, until, search, values) != COMPLETED:
            break
        best, most = -1, -np.inf
        for direction in range(4):
            if values[direction] > most:
                best, most = direction, values[direction]
    return best


@njit(cache=True, nogil=True)
def nth_empty_cell(after: Any, n: int) -> int:
    """The n-th empty cell, from 0."""
    for cell in range(16):
        if cell_at(after, cell) == 0:
            if n == 0:
                return cell
            n -= 1
    return -1


@njit(cache=True, nogil=True)
def random_drop(after: Any, spawns: Spawns, seed: NDArray[np.uint64]) -> tuple[int, int]:
    """The cell and the index of the tile that chance drops."""
    chance = random_word(seed)
    is_rare = np.float64(chance & Word(0xFFFFFFFF)) < spawns.rare_chance * 4294967296.0
    free = Word(count_bits(empties(after)))
    cell = nth_empty_cell(after, np.int64((chance >> Word(32)) * free >> Word(32)))
    return cell, np.int64(spawns.rare if is_rare else spawns.common)


@njit(cache=True, nogil=True)
def play_on(
    model: TileModel,
    downgrade_from: int,
    flag: NDArray[np.uint8],
    scratch: NDArray[np.uint64],
    before: Any,
    seed: NDArray[np.uint64],
    actions: NDArray[np.int16],
) -> int:
    """Slides at depth 1, each with chance's answer, from a board where the player is to move; the number of actions.

    Ends if `actions` is full, at the end of the game, or if the flag is raised.
    """
    net, slides = network_of(model.weights, model.shape, scratch), slides_of(model.rows)
    board, length = before, 0
    while length + 2 <= actions.size and not is_raised(flag):
        best, _, _, _ = best_slide(downgraded(board, downgrade_from), slides, net)
        if best < 0:
            break
        after, _ = slide(board, best, slides)
        cell, index = random_drop(after, model.spawns, seed)
        board = with_tile(after, cell, Word(index))
        actions[length], actions[length + 1] = best, index << 4 | cell
        length += 2
    return length


@njit(cache=True, nogil=True)
def play_game(
    model: TileModel,
    pace: Pace,
    evil_drops: bool,
    limit: ExpectimaxLimit,
    memory: ExpectimaxMemory,
    empty: Any,
    seed: NDArray[np.uint64],
    actions: NDArray[np.int16],
) -> tuple[int, int, int, int]:
    """Plays one game; returns the number of actions, the points, the moves and the largest index. `actions` gets the
    opcodes; the game ends early if it is full or if the limit's flag is raised.
    """
    board, length, points, moves = empty, 0, 0, 0
    values = np.empty(4)
    while length + 2 <= actions.size and not is_raised(limit.flag):
        # Step 1. The environment drops a tile, or two at the start.
        search = search_of(model, pace.policy, memory)
        chance = random_word(seed)
        is_rare = np.float64(chance & Word(0xFFFFFFFF)) < model.spawns.rare_chance * 4294967296.0
        index = model.spawns.rare if is_rare else model.spawns.common
        if evil_drops and length > 1:
            cell = worst_cell(board, index, search.slides, search.net)
        else:
            free = Word(count_bits(empties(board)))
            cell = nth_empty_cell(board, np.int64((chance >> Word(32)) * free >> Word(32)))
        board = with_tile(board, cell, index)
        actions[length] = np.int64(index) << 4 | cell
        length += 1
        if length == 1:
            continue

        # Step 2. The player slides.
        best = chosen_slide(downgraded(board, pace.downgrade_from), pace, limit, search, values)
        if best < 0:
            break
        board, gained = slide(board, best, search.slides)
        actions[length] = best
        length += 1
        points += gained
        moves += 1
        if 0 < pace.until <= largest(board):
            break
    return length, points, moves, largest(board)

"""The last layer of a search, in numba: the worth of every before-state after the drops on a board.

    W(before, 1) = max over slides of points + the network's value

Far fewer boards are evaluated than there are drops and slides:

- A tile slides to the same cell wherever in a gap it was dropped, so neighbouring drops share a *leaf*:

      8 . . 4        drop 2       8 2 . 4    8 . 2 4        slide       8 2 4 .
      . . . .      ---------->    . . . .    . . . .      -------->     . . . .

- Other orders of drops and slides lead to the same boards. A small table has the values of the boards evaluated last;
  each thread has its own.

The weights of the next leaves are prefetched while one is added up.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import lowest_bit_index, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import (
    ONE,
    Slides,
    Word,
    drop_at,
    empties,
    load,
    slide_rows,
    store,
    transpose,
    turned_bit,
    upper_half,
)
from plyd.engines.tiles.ntuple.moves import Spawns
from plyd.engines.tiles.ntuple.network import SLOTS, Network, find_places, sum_of_places
from plyd.engines.tiles.search.keys import key_of

VALUES = 1 << 12  # entries of the table of values, 48 KB: it should not push weights out of the cache of a core
TILES = 2
GROUPS = 2 * TILES  # of leaves: by the tile that was dropped, after slides along rows or along columns
MOST_LEAVES = TILES * 4 * 16  # tiles, slides, cells
BITS = 64  # of `empties`
COMMON, RARE = 0, 1  # tiles of a chance layer, in search order
NO_SLIDE = np.float32(-np.inf)


class LeafMemory(NamedTuple):
    """A thread's memory for its leaves."""

    keys: NDArray[np.uint64]  # (VALUES,): the table
    values: NDArray[np.float32]  # (VALUES,)
    boards: NDArray[np.uint64]  # (MOST_LEAVES, words): the leaves at hand
    points: NDArray[np.float32]  # (MOST_LEAVES,): of the slide
    drops: NDArray[np.uint64]  # (MOST_LEAVES,): the cells where a drop leads to the leaf, as bits of `empties`
    groups: NDArray[np.int64]  # (MOST_LEAVES,)
    waiting: NDArray[np.int64]  # (SLOTS,): leaves whose weights are on their way
    waiting_keys: NDArray[np.uint64]  # (SLOTS,)
    worths: NDArray[np.float32]  # (GROUPS, BITS): of the best slide after the drop at a bit


class Leaves(NamedTuple):
    """The same by address, for kernels; see `pointer_to`."""

    keys: Any
    values: Any
    boards: Any
    points: Any
    drops: Any
    groups: Any
    waiting: Any
    waiting_keys: Any
    worths: Any  # of a bit and a group at BITS * group + bit
    salt: Word  # tells entries to use from those to ignore


def leaf_memory(words: int) -> LeafMemory:
    """Memory for the leaves of boards of one word or two."""
    return LeafMemory(
        np.zeros(VALUES, np.uint64),
        np.zeros(VALUES, np.float32),
        np.zeros((MOST_LEAVES, words), np.uint64),
        np.zeros(MOST_LEAVES, np.float32),
        np.zeros(MOST_LEAVES, np.uint64),
        np.zeros(MOST_LEAVES, np.int64),
        np.zeros(SLOTS, np.int64),
        np.zeros(SLOTS, np.uint64),
        np.zeros((GROUPS, BITS), np.float32),
    )


@njit(cache=True, nogil=True)
def leaves_of(memory: LeafMemory, salt: Word) -> Leaves:
    """The memory by address."""
    return Leaves(
        pointer_to(memory.keys),
        pointer_to(memory.values),
        pointer_to(memory.boards),
        pointer_to(memory.points),
        pointer_to(memory.drops),
        pointer_to(memory.groups),
        pointer_to(memory.waiting),
        pointer_to(memory.waiting_keys),
        pointer_to(memory.worths),
        salt,
    )


@njit(cache=True, nogil=True)
def add_leaves(board: Any, index: Word, group: int, count: int, slides: Slides, leaves: Leaves) -> int:
    """Adds the leaves of a group, after both slides along the rows, to `count` others; returns the new count."""
    for way in range(2):
        for half in range(2):
            last = board
            free = empties(board) & (upper_half(board) if half == 0 else ~upper_half(board))
            while free != Word(0):
                bit = lowest_bit_index(free)
                before = drop_at(board, bit, index)
                after, points = slide_rows(before, way, slides)
                if after != before:
                    if after != last:  # else the drop before was in the same gap
                        store(leaves.boards, count, after)
                        leaves.points[count], leaves.groups[count] = np.float32(points), group
                        leaves.drops[count] = Word(0)
                        last, count = after, count + 1
                    leaves.drops[count - 1] |= ONE << Word(bit)
                leaves.worths[BITS * group + bit] = NO_SLIDE
                free &= free - ONE
    return count


@njit(cache=True, nogil=True)
def settle(leaf: int, result: np.float32, leaves: Leaves) -> None:
    """Tells the before-states of a leaf its value."""
    worth, drops, first = leaves.points[leaf] + result, leaves.drops[leaf], BITS * leaves.groups[leaf]
    while drops != Word(0):
        at = first + lowest_bit_index(drops)
        leaves.worths[at] = max(leaves.worths[at], worth)
        drops &= drops - ONE


@njit(cache=True, nogil=True)
def settle_waiting(slot: int, net: Network, leaves: Leaves) -> None:
    """Adds up the leaf whose places are in a slot; the table gets its value, too."""
    key, result = leaves.waiting_keys[slot], np.float32(sum_of_places(slot, net))
    at = key & Word(VALUES - 1)
    leaves.keys[at], leaves.values[at] = key, result
    settle(leaves.waiting[slot], result, leaves)


@njit(cache=True, nogil=True)
def evaluate_drops(after: Any, first: int, spawns: Spawns, slides: Slides, net: Network, leaves: Leaves) -> None:
    """Evaluates the slides after the drops of each tile from `first` on; see `worth_of_drop`."""
    # Step 1. All leaves. A transposed board has the same value, so those of slides along columns are left transposed.
    turned, count = transpose(after), 0
    for tile in range(first, TILES):
        index = spawns.common if tile == COMMON else spawns.rare
        count = add_leaves(after, index, 2 * tile, count, slides, leaves)
        count = add_leaves(turned, index, 2 * tile + 1, count, slides, leaves)

    # Step 2. Their values, from the table or from the network, where up to SLOTS leaves wait for their weights.
    begun = done = 0
    for leaf in range(count):
        board = load(leaves.boards, leaf, after)
        key = key_of(board, 0) ^ leaves.salt
        at = key & Word(VALUES - 1)
        if leaves.keys[at] == key:
            settle(leaf, leaves.values[at], leaves)
            continue
        if begun - done == SLOTS:
            settle_waiting(done % SLOTS, net, leaves)
            done += 1
        find_places(board, begun % SLOTS, net)
        leaves.waiting[begun % SLOTS], leaves.waiting_keys[begun % SLOTS] = leaf, key
        begun += 1
    for waiting in range(done, begun):
        settle_waiting(waiting % SLOTS, net, leaves)


@njit(cache=True, nogil=True)
def worth_of_drop(after: Any, tile: int, bit: int, leaves: Leaves) -> np.float32:
    """W(before, 1) after a drop that was evaluated, on the cell of this bit."""
    along_rows = leaves.worths[BITS * (2 * tile) + bit]
    along_columns = leaves.worths[BITS * (2 * tile + 1) + turned_bit(after, bit)]
    worth = max(along_rows, along_columns)
    return worth if worth > NO_SLIDE else np.float32(0)

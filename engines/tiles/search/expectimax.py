"""Expectimax over after-states, in numba, with an explicit stack and a transposition table.

    V(after, 0) = the network's value
    V(after, d) = mean over drops of W(before, d)                        (evil: mean over tiles of the min over cells)
    W(before, d) = max over slides of points + V(after', d - 1), or 0 without a legal slide

Depth counts slides: a search of depth 1 evaluates the after-states of each slide. The last two layers, drops and the
slides after them, are tight loops (see `leaves`); only the layers above are on the stack.

The table stores after-states by board and depth, so a hit gives the same value as a search. Entries of earlier searches
are as good as new ones, and threads may share a table. An entry's key is mixed with the bits of its value, so that an
entry is not found if two threads wrote one half each.

An adaptive search goes less deep on open boards: an after-state with WIDE or more empty cells is in little danger and
expensive to search, so the remaining depth below it is reduced by one more. The nominal depth is then reached only on
crowded boards.

A reduced search looks at the drops of the rare tile one slide less deep.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import count_bits, is_raised, lowest_bit_index, monotonic_ns, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.core.memory import dense_zeros
from plyd.engines.tiles.bitboard import (
    ONE,
    Rows,
    Slides,
    Word,
    drop_at,
    empties,
    load,
    slides_of,
    store,
)
from plyd.engines.tiles.ntuple.moves import Spawns, slide
from plyd.engines.tiles.ntuple.network import Network, Shape, network_of, scratch_for, value
from plyd.engines.tiles.search.keys import key_of, mixed
from plyd.engines.tiles.search.leaves import (
    COMMON,
    RARE,
    TILES,
    LeafMemory,
    Leaves,
    evaluate_drops,
    leaf_memory,
    leaves_of,
    worth_of_drop,
)

COMPLETED, OUT_OF_TIME, OUT_OF_NODES, TOLD_TO_STOP = 0, 1, 2, 3
MAX_DEPTH = 24
POLL_MASK = 63  # poll the clock and the stop flag every 64 before-states
WIDE = 7  # empty cells of an open board
NO_BEFORE = 5  # a direction: the level has no before-state yet


class TileModel(NamedTuple):
    """A player's knowledge: the network, the slides, the environment's drops."""

    weights: Any  # float32, or Steps
    shape: Shape
    rows: Rows
    spawns: Spawns


class ExpectimaxMemory(NamedTuple):
    """Memory of a thread's searches. `keys` and `values` are the transposition table, which threads may share."""

    keys: NDArray[np.uint64]  # (size,), size a power of two
    values: NDArray[np.float64]  # (size,)
    boards: NDArray[np.uint64]  # (2 * MAX_DEPTH, words): after-states of the stack, then before-states
    numbers: NDArray[np.float64]  # (4, MAX_DEPTH): total, inner, best and points of each level; see SearchView
    whole: NDArray[np.int64]  # (4, MAX_DEPTH): free, tile, direction and left of each level
    scratch: NDArray[np.uint64]  # see network.scratch_for
    leaves: LeafMemory
    counts: NDArray[np.int64]  # (2,): before-states searched; a number that tells entries to use from those to ignore


class DepthPolicy(NamedTuple):
    """Depth and kind of a search."""

    depth: np.int64
    evil: bool  # the environment chooses the worst cell for the player
    adaptive: bool
    reduced: bool = False  # the rare tile's drops are searched one slide less deep


class ExpectimaxLimit(NamedTuple):
    """When to stop: at the first limit reached."""

    deadline_ns: np.int64
    nodes: np.int64
    flag: NDArray[np.uint8]


class SearchView(NamedTuple):
    """A search by address, for kernels; see `pointer_to`."""

    net: Network
    slides: Slides
    spawns: Spawns
    evil: bool
    adaptive: bool
    reduced: bool
    keys: Any
    values: Any
    mask: Word
    afters: Any
    befores: Any
    total: Any  # per level: sum over tiles so far, ...
    inner: Any  # ... over cells with this tile: their sum, or their minimum if the environment is evil ...
    best: Any  # ... maximum over slides from this before-state ...
    points: Any  # ... and the points of the current slide
    free: Any  # cells still to drop on
    tile: Any
    direction: Any
    left: Any  # remaining depth of the level
    leaves: Leaves
    counts: Any
    salt: Word  # distinguishes the table entries of this kind of search from others


def memory_for(shape: Shape, entries: int) -> ExpectimaxMemory:
    """Memory for searches, with a table of `entries` entries, a power of two."""
    assert entries & (entries - 1) == 0
    words = shape.masks.shape[1]
    return ExpectimaxMemory(
        dense_zeros(entries, np.uint64),
        dense_zeros(entries, np.float64),
        np.zeros((2 * MAX_DEPTH, words), np.uint64),
        np.zeros((4, MAX_DEPTH)),
        np.zeros((4, MAX_DEPTH), np.int64),
        scratch_for(shape),
        leaf_memory(words),
        np.zeros(2, np.int64),
    )


def shared(memory: ExpectimaxMemory, shape: Shape) -> ExpectimaxMemory:
    """Memory for another thread, with the same table."""
    other = memory_for(shape, 1)
    other.counts[1] = memory.counts[1]
    return other._replace(keys=memory.keys, values=memory.values)


@njit(cache=True, nogil=True)
def search_of(model: TileModel, policy: DepthPolicy, memory: ExpectimaxMemory) -> SearchView:
    """The search by address."""
    salt = mixed(Word(4 * memory.counts[1] + (2 if policy.reduced else 0) + (1 if policy.adaptive else 0)))
    return SearchView(
        network_of(model.weights, model.shape, memory.scratch),
        slides_of(model.rows),
        model.spawns,
        policy.evil,
        policy.adaptive,
        policy.reduced,
        pointer_to(memory.keys),
        pointer_to(memory.values),
        Word(memory.keys.size - 1),
        pointer_to(memory.boards),
        pointer_to(memory.boards[MAX_DEPTH:]),
        pointer_to(memory.numbers[0]),
        pointer_to(memory.numbers[1]),
        pointer_to(memory.numbers[2]),
        pointer_to(memory.numbers[3]),
        pointer_to(memory.whole[0]),
        pointer_to(memory.whole[1]),
        pointer_to(memory.whole[2]),
        pointer_to(memory.whole[3]),
        leaves_of(memory.leaves, salt),
        pointer_to(memory.counts),
        salt,
    )


@njit(cache=True, nogil=True)
def known_value(key: Word, search: SearchView) -> tuple[bool, float]:
    """Whether the table has an entry for a key, and its value."""
    result = search.values[key & search.mask]
    return search.keys[key & search.mask] ^ np.float64(result).view(np.uint64) == key ^ search.salt, result


@njit(cache=True, nogil=True)
def remember(key: Word, result: float, search: SearchView) -> None:
    """Stores an entry in the table."""
    search.keys[key & search.mask] = key ^ search.salt ^ np.float64(result).view(np.uint64)
    search.values[key & search.mask] = result


@njit(cache=True, nogil=True)
def is_over(befores: int, limit: ExpectimaxLimit, search: SearchView) -> int:
    """The reason to stop now, or COMPLETED; counts so many before-states."""
    count = search.counts[0]
    if count + befores > limit.nodes:
        search.counts[0] = max(count, limit.nodes) + 1
        return OUT_OF_NODES
    search.counts[0] = count + befores
    if count & POLL_MASK == 0 or (count & POLL_MASK) + befores > POLL_MASK + 1:
        if is_raised(limit.flag):
            return TOLD_TO_STOP
        if monotonic_ns() >= limit.deadline_ns:
            return OUT_OF_TIME
    return COMPLETED


@njit(cache=True, nogil=True)
def begin_tile(after: Any, level: int, tile: int, search: SearchView) -> None:
    """Prepares a level for its first drop of a tile."""
    search.tile[level] = tile
    search.inner[level] = np.inf if search.evil else 0.0
    search.free[level] = empties(after)
    search.direction[level] = NO_BEFORE


@njit(cache=True, nogil=True)
def next_drop(after: Any, level: int, search: SearchView) -> bool:
    """Makes the next drop of this level's tile its before-state; False if no cell is left."""
    free = Word(search.free[level])
    if free == Word(0):
        return False
    index = search.spawns.common if search.tile[level] == COMMON else search.spawns.rare
    store(search.befores, level, drop_at(after, lowest_bit_index(free), index))
    search.free[level] = free & (free - ONE)
    search.direction[level], search.best[level] = 0, -np.inf
    return True


@njit(cache=True, nogil=True)
def next_slide(before: Any, first: int, slides: Slides) -> Any:
    """The first legal slide at or after a direction, or 4; the after-state; the points."""
    for direction in range(first, 4):
        after, points = slide(before, direction, slides)
        if after != before:
            return direction, after, points
    return 4, before, 0


@njit(cache=True, nogil=True)
def last_layers(after: Any, first: int, limit: ExpectimaxLimit, search: SearchView) -> tuple[float, int]:
    """The part of V(after, 1) that drops of each tile from `first` on contribute, and the reason if it was stopped."""
    cells = count_bits(empties(after))
    status = is_over((TILES - first) * cells, limit, search)
    if status != COMPLETED:
        return 0.0, status
    evaluate_drops(after, first, search.spawns, search.slides, search.net, search.leaves)
    total = 0.0
    for tile in range(first, TILES):
        inner, free = (np.inf if search.evil else 0.0), empties(after)
        while free != Word(0):
            worth = np.float64(worth_of_drop(after, tile, lowest_bit_index(free), search.leaves))
            inner = min(inner, worth) if search.evil else inner + worth
            free &= free - ONE
        chance = search.spawns.rare_chance if tile == RARE else 1.0 - search.spawns.rare_chance
        total += chance * inner / (1 if search.evil else cells)
    return total, COMPLETED


@njit(cache=True, nogil=True)
def value_of_after(root: Any, depth: int, limit: ExpectimaxLimit, search: SearchView) -> tuple[float, int]:
    """V(root, depth), and the reason if it was stopped."""
    if depth == 0:
        return np.float64(value(root, search.net)), COMPLETED
    after, level, left = root, 0, depth
    while True:
        # Step 1. A new after-state: take it from the table, evaluate it in the tight loop, or open a level for it.
        if search.adaptive and left > 1 and count_bits(empties(after)) >= WIDE:
            left -= 1
        key = key_of(after, left)
        is_known, result = known_value(key, search)
        if not is_known and left == 1:
            result, status = last_layers(after, COMMON, limit, search)
            if status != COMPLETED:
                return 0.0, status
            remember(key, result, search)
            is_known = True
        if not is_known:
            store(search.afters, level, after)
            search.left[level], search.total[level] = left, 0.0
            begin_tile(after, level, COMMON, search)

        # Step 2. Return a value to its slide, and further up as long as that completes a level.
        going_up = is_known
        while True:
            if going_up:
                if level == 0:
                    return result, COMPLETED
                level -= 1
                search.best[level] = max(search.best[level], search.points[level] + result)
                search.direction[level] += 1
                if search.evil and search.best[level] >= search.inner[level]:
                    search.direction[level] = 4  # cutoff: the environment has a worse cell for the player
                going_up = False

            # Step 3. Descend into the next slide of this level's before-state.
            before = load(search.befores, level, root)
            found, after, gained = next_slide(before, search.direction[level], search.slides)
            if found < 4:
                search.direction[level], search.points[level] = found, np.float64(gained)
                left = search.left[level] - 1
                if search.reduced and search.tile[level] == RARE:
                    left -= 1
                level += 1
                break

            # Step 4. No slide is left: the before-state's value is known; go to the next drop.
            if search.direction[level] <= 4:
                worth = search.best[level] if search.best[level] > -np.inf else 0.0
                search.inner[level] = min(search.inner[level], worth) if search.evil else search.inner[level] + worth
            status = is_over(1, limit, search)
            if status != COMPLETED:
                return 0.0, status
            this_after = load(search.afters, level, root)
            if next_drop(this_after, level, search):
                continue

            # Step 5. No cell is left: the tile's value is known; after both tiles, the after-state's value is.
            chance = search.spawns.rare_chance if search.tile[level] == RARE else 1.0 - search.spawns.rare_chance
            cells = 1 if search.evil else count_bits(empties(this_after))
            search.total[level] += chance * search.inner[level] / cells
            if search.tile[level] == COMMON:
                if not search.reduced or search.left[level] > 2:
                    begin_tile(this_after, level, RARE, search)
                    continue
                worth, status = last_layers(this_after, RARE, limit, search)
                if status != COMPLETED:
                    return 0.0, status
                search.total[level] += worth
            key, result, going_up = key_of(this_after, search.left[level]), search.total[level], True
            remember(key, result, search)

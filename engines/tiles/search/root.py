"""The root of a tile search, in numba: the value of each slide or drop, and the likely line of play.

Threads share a search by its *tasks*: before-states after each drop, each with a depth. They take one after another,
and the values of slides and drops are put together from theirs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import count_bits, lowest_bit_index, pointer_to, take_number
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import ONE, Word, cell_at, drop_at, empties, load, slides_of, store, with_tile
from plyd.engines.tiles.ntuple.moves import best_slide, slide, worst_cell
from plyd.engines.tiles.search.expectimax import (
    COMPLETED,
    WIDE,
    DepthPolicy,
    ExpectimaxLimit,
    ExpectimaxMemory,
    SearchView,
    TileModel,
    search_of,
    value_of_after,
)
from plyd.engines.tiles.search.leaves import COMMON, RARE

MOST_TASKS = 4 * 2 * 16  # slides, tiles, cells


class Tasks(NamedTuple):
    """Before-states to search, which threads take one after another."""

    boards: NDArray[np.uint64]  # (MOST_TASKS, words)
    depths: NDArray[np.int64]  # (MOST_TASKS,): in slides
    values: NDArray[np.float64]  # (MOST_TASKS,): the results
    count: NDArray[np.int64]  # (1,)
    taken: NDArray[np.int64]  # (1,)


def tasks_for(words: int) -> Tasks:
    """Room for the tasks of a search, of boards of one word or two."""
    return Tasks(
        np.zeros((MOST_TASKS, words), np.uint64),
        np.zeros(MOST_TASKS, np.int64),
        np.zeros(MOST_TASKS),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def best_of(slides: NDArray[np.float64]) -> float:
    """The largest value of slides; 0 if none is legal."""
    best = -np.inf
    for direction in range(4):
        if slides[direction] > best:
            best = slides[direction]
    return best if best > -np.inf else 0.0


@njit(cache=True, nogil=True)
def search_slides(
    before: Any, depth: int, limit: ExpectimaxLimit, search: SearchView, values: NDArray[np.float64]
) -> int:
    """Writes the value of each slide (NaN: not legal), searched to a depth; returns the reason if stopped."""
    for direction in range(4):
        after, points = slide(before, direction, search.slides)
        values[direction] = np.nan
        if after != before:
            result, status = value_of_after(after, depth - 1, limit, search)
            if status != COMPLETED:
                return status
            values[direction] = points + result
    return COMPLETED


@njit(cache=True, nogil=True)
def search_drops(
    after: Any, depth: int, limit: ExpectimaxLimit, search: SearchView, values: NDArray[np.float64]
) -> int:
    """Writes the value after each drop, `values[tile, cell]`, NaN on full cells; returns the reason if stopped."""
    slides = np.empty(4)
    for tile in range(2):
        index = search.spawns.common if tile == COMMON else search.spawns.rare
        for cell in range(16):
            values[tile, cell] = np.nan
            if cell_at(after, cell) == 0:
                before = with_tile(after, cell, index)
                status = search_slides(before, depth, limit, search, slides)
                if status != COMPLETED:
                    return status
                values[tile, cell] = best_of(slides)
    return COMPLETED


@njit(cache=True, nogil=True)
def follow(after: Any, plies: int, search: SearchView, actions: NDArray[np.int64]) -> int:
    """Writes a line of play from an after-state, by opcode; returns its length. It alternates the common tile on its
    worst cell and the best slide, both at depth 1.
    """
    length = 0
    while length + 1 < plies:
        cell = worst_cell(after, search.spawns.common, search.slides, search.net)
        if cell < 0:
            break
        before = with_tile(after, cell, search.spawns.common)
        best, _, after, _ = best_slide(before, search.slides, search.net)
        actions[length] = np.int64(search.spawns.common) << 4 | cell
        length += 1
        if best < 0:
            break
        actions[length] = best
        length += 1
    return length


@njit(cache=True, nogil=True)
def search_each_slide(
    model: TileModel,
    policy: DepthPolicy,
    before: Any,
    limit: ExpectimaxLimit,
    memory: ExpectimaxMemory,
    values: NDArray[np.float64],
) -> int:
    """`search_slides` to `policy.depth`, callable from Python."""
    return search_slides(before, policy.depth, limit, search_of(model, policy, memory), values)


@njit(cache=True, nogil=True)
def search_each_drop(
    model: TileModel,
    policy: DepthPolicy,
    after: Any,
    limit: ExpectimaxLimit,
    memory: ExpectimaxMemory,
    values: NDArray[np.float64],
) -> int:
    """`search_drops` to `policy.depth`, callable from Python."""
    return search_drops(after, policy.depth, limit, search_of(model, policy, memory), values)


@njit(cache=True, nogil=True)
def likely_line(
    model: TileModel, policy: DepthPolicy, after: Any, memory: ExpectimaxMemory, actions: NDArray[np.int64]
) -> int:
    """`follow` for as many plies as fit in `actions`, callable from Python."""
    return follow(after, actions.size, search_of(model, policy, memory), actions)


@njit(cache=True, nogil=True)
def add_task(before: Any, depth: int, tasks: Tasks) -> None:
    """Adds a before-state to search."""
    store(pointer_to(tasks.boards), tasks.count[0], before)
    tasks.depths[tasks.count[0]] = depth
    tasks.count[0] += 1


@njit(cache=True, nogil=True)
def prepare_slides(model: TileModel, policy: DepthPolicy, before: Any, tasks: Tasks) -> None:
    """Makes the tasks of `search_slides` to `policy.depth`, at least 2, in a random environment."""
    slides = slides_of(model.rows)
    tasks.count[0], tasks.taken[0] = 0, 0
    for direction in range(4):
        after, _ = slide(before, direction, slides)
        if after != before:
            left = policy.depth - 1
            if policy.adaptive and left > 1 and count_bits(empties(after)) >= WIDE:
                left -= 1
            for tile in range(2):
                index = model.spawns.common if tile == COMMON else model.spawns.rare
                depth = left - 1 if policy.reduced and tile == RARE and left > 1 else left
                free = empties(after)
                while free != Word(0):
                    add_task(drop_at(after, lowest_bit_index(free), index), depth, tasks)
                    free &= free - ONE


@njit(cache=True, nogil=True)
def prepare_drops(model: TileModel, policy: DepthPolicy, after: Any, tasks: Tasks) -> None:
    """Makes the tasks of `search_drops` to `policy.depth`."""
    tasks.count[0], tasks.taken[0] = 0, 0
    for tile in range(2):
        index = model.spawns.common if tile == COMMON else model.spawns.rare
        for cell in range(16):
            if cell_at(after, cell) == 0:
                add_task(with_tile(after, cell, index), policy.depth, tasks)


@njit(cache=True, nogil=True)
def search_tasks(
    model: TileModel, policy: DepthPolicy, like: Any, limit: ExpectimaxLimit, memory: ExpectimaxMemory, tasks: Tasks
) -> int:
    """Takes tasks and searches them until none is left; returns the reason if stopped. `like` is any board."""
    search, slides = search_of(model, policy, memory), np.empty(4)
    while True:
        task = take_number(tasks.taken)
        if task >= tasks.count[0]:
            return COMPLETED
        before = load(pointer_to(tasks.boards), task, like)
        status = search_slides(before, tasks.depths[task], limit, search, slides)
        if status != COMPLETED:
            return status
        tasks.values[task] = best_of(slides)


@njit(cache=True, nogil=True)
def collect_slides(model: TileModel, before: Any, tasks: Tasks, values: NDArray[np.float64]) -> None:
    """Writes the value of each slide (NaN: not legal), from those of its drops."""
    slides, task = slides_of(model.rows), 0
    for direction in range(4):
        after, points = slide(before, direction, slides)
        values[direction] = np.nan
        if after != before:
            cells, total = count_bits(empties(after)), 0.0
            for tile in range(2):
                inner = 0.0
                for _ in range(cells):
                    inner += tasks.values[task]
                    task += 1
                chance = model.spawns.rare_chance if tile == RARE else 1.0 - model.spawns.rare_chance
                total += chance * inner / cells
            values[direction] = points + total


@njit(cache=True, nogil=True)
def collect_drops(after: Any, tasks: Tasks, values: NDArray[np.float64]) -> None:
    """Writes the value after each drop, `values[tile, cell]`, NaN on full cells."""
    task = 0
    for tile in range(2):
        for cell in range(16):
            values[tile, cell] = np.nan
            if cell_at(after, cell) == 0:
                values[tile, cell] = tasks.values[task]
                task += 1

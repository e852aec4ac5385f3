"""A step of many boards of a tile game, in numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import Rows, cell_at, load, slides_of, store
from plyd.engines.tiles.ntuple.moves import Spawns, drop, slide

Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def reset_boards(
    which: Flags, boards: NDArray[np.uint64], seeds: NDArray[np.uint64], empty: Any, spawns: Spawns
) -> None:
    """Begin new games on some boards: two tiles on an empty board."""
    for i in range(which.size):
        if which[i]:
            seed = pointer_to(seeds[i])
            store(pointer_to(boards), i, drop(drop(empty, spawns, seed), spawns, seed))


@njit(cache=True, nogil=True)
def step_boards(
    which: Flags,
    actions: NDArray[np.int64],
    boards: NDArray[np.uint64],
    seeds: NDArray[np.uint64],
    empty: Any,
    rows: Rows,
    spawns: Spawns,
    points: NDArray[np.float64],
) -> None:
    """Slide some boards and drop a tile on each; a slide that is not legal changes nothing. Writes the points."""
    slides = slides_of(rows)
    for i in range(which.size):
        points[i] = 0.0
        if which[i]:
            board = load(pointer_to(boards), i, empty)
            after, gained = slide(board, actions[i], slides)
            if after != board:
                points[i] = gained
                store(pointer_to(boards), i, drop(after, spawns, pointer_to(seeds[i])))


@njit(cache=True, nogil=True)
def look_at_boards(
    boards: NDArray[np.uint64], empty: Any, rows: Rows, cells: NDArray[np.uint8], legal: NDArray[np.int8]
) -> None:
    """Write the tile indices of each board (boards, 16), and which slides are legal (boards, 4)."""
    slides = slides_of(rows)
    for i in range(len(cells)):
        board = load(pointer_to(boards), i, empty)
        for cell in range(16):
            cells[i, cell] = cell_at(board, cell)
        for direction in range(4):
            after, _ = slide(board, direction, slides)
            legal[i, direction] = after != board

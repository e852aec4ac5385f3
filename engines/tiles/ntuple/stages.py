"""Stages of a game, in numba: a late board has weights of its own, because it is played unlike an early one.

A stage begins with some large tiles. Its number is that of the last stage whose tiles the board has, or others that
amount to the same: the sum of all tiles as large as the smallest of them is at least theirs.

    stages 16384, 16384+8192       8192 4096 2048    0
                                  16384 4096 2048    1
                                  16384 8192 2048    2
                                  32768    8    2    2       16384 + 8192 <= 32768

A merge keeps the sum of tiles, so that a game never returns to an earlier stage.

A network may look at boards of later stages downgraded (see `downgrade`), as 2048 allows. It then begins a stage with
what it knows of boards with smaller tiles, which is more than it knows of those with large ones.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import lowest_bit_index, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import CELL_4, CELL_5, ONE, Word, is_word

ALTERNATE_4 = Word(0x0F0F0F0F0F0F0F0F)  # every second 4-bit cell of a word
ALTERNATE_LOW_4 = Word(0x0101010101010101)
ALTERNATE_LOW_5 = Word(1 | 1 << 10 | 1 << 20 | 1 << 30)  # the lowest bit of every second 5-bit cell


class Stages(NamedTuple):
    """Where each stage after the first begins."""

    least: NDArray[np.uint64]  # (stages - 1,): the smallest index that counts
    sums: NDArray[np.uint64]  # (stages - 1,): the sum of tiles from that index on
    tiles: NDArray[np.uint64]  # (indices,): the tile of each index
    are_downgraded: bool  # later stages; only for boards of one word


class StageView(NamedTuple):
    """The same by address, for kernels; see `pointer_to`."""

    later: np.int64  # stages after the first
    floor: Word  # the smallest index that counts in any stage
    least: Any
    sums: Any
    tiles: Any
    are_downgraded: bool


def no_stages() -> Stages:
    """A game of one stage."""
    none = np.zeros(0, np.uint64)
    return Stages(none, none, none, False)


def stages_of(
    stages: Sequence[Sequence[int]], tile: Callable[[int], int], max_index: int, *, are_downgraded: bool = False
) -> Stages:
    """The stages that begin with tiles of these indices; the last stage comes last."""
    if not stages:
        return no_stages()
    return Stages(
        np.array([min(indices) for indices in stages], np.uint64),
        np.array([sum(map(tile, indices)) for indices in stages], np.uint64),
        np.array([tile(index) for index in range(max_index + 1)], np.uint64),
        are_downgraded,
    )


@njit(cache=True, nogil=True)
def view_of(stages: Stages) -> StageView:
    """The stages by address."""
    floor = Word(255)
    for index in stages.least:
        floor = min(floor, index)
    least, sums, tiles = pointer_to(stages.least), pointer_to(stages.sums), pointer_to(stages.tiles)
    return StageView(stages.least.size, floor, least, sums, tiles, stages.are_downgraded)


def cells_from(board: Any, index: Word) -> Word:
    """A word with one bit for each cell with this index or a larger one; index 1 to 15, or to 31 for pairs."""


def index_at(board: Any, bit: int) -> Word:
    """The index of the cell with this bit in `cells_from`."""


@njit(cache=True, nogil=True)
def _cells_from_word(board: Word, index: Word) -> Word:
    # A cell that is large enough overflows when 16 - index is added.
    carry = ALTERNATE_LOW_4 * (Word(16) - index)
    even = ((board & ALTERNATE_4) + carry) >> Word(4) & ALTERNATE_LOW_4
    odd = ((board >> Word(4) & ALTERNATE_4) + carry) & ALTERNATE_LOW_4 << Word(4)
    return even | odd


@njit(cache=True, nogil=True)
def _cells_from_half(half: Word, index: Word) -> Word:
    carry, fields = ALTERNATE_LOW_5 * (Word(32) - index), ALTERNATE_LOW_5 * CELL_5
    even = ((half & fields) + carry) >> Word(5) & ALTERNATE_LOW_5
    odd = ((half >> Word(5) & fields) + carry) & ALTERNATE_LOW_5 << Word(5)
    return even | odd


@overload(cells_from)
def _cells_from(board, index):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, index: _cells_from_word(board, index)
    return lambda board, index: _cells_from_half(board[0], index) | _cells_from_half(board[1], index) << ONE


@njit(cache=True, nogil=True)
def _index_at_pair(board: Any, bit: int) -> Word:
    in_first = bit % 5 == 0  # cells of the second word have the bit beside it
    return (board[0] if in_first else board[1]) >> Word(bit if in_first else bit - 1) & CELL_5


@overload(index_at)
def _index_at(board, bit):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, bit: board >> Word(bit) & CELL_4
    return lambda board, bit: _index_at_pair(board, bit)


@njit(cache=True, nogil=True)
def stage_of(board: Any, stages: StageView) -> int:
    """The stage of a board, from 0."""
    if stages.later == 0:
        return 0
    large = cells_from(board, stages.floor)
    if large == Word(0):
        return 0
    for stage in range(stages.later, 0, -1):
        total, left = Word(0), large
        while left != Word(0):
            index = index_at(board, lowest_bit_index(left))
            if index >= stages.least[stage - 1]:
                total += stages.tiles[index]
            left &= left - ONE
        if total >= stages.sums[stage - 1]:
            return stage
    return 0

"""The network's input: sixteen planes of zeros and ones, from the point of view of the side to move.

    0  own stones              4..9    what an own stone would make on each empty point
    1  the opponent's stones   10..15  what an opponent's stone would make
    2  points of the board             (five, a win next move, a four, an open three, a two, two of the last two)
    3  ones if the first player is to move

The threats are those of `patterns`, so a small network need not learn to find lines. Blocked points count as off the
board, and so do points that renju forbids to the side to move.
The eight symmetries of the square: bit 1 mirrors columns, bit 2 mirrors rows, bit 4 then swaps rows and columns.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.board import MARGIN, NOBODY, STRIDE, WALL, Board, View, kind_at, play, undo, view
from plyd.engines.gomoku.board.fouls import is_foul
from plyd.engines.gomoku.board.patterns import (
    A_FOUR,
    A_THREE,
    A_TWO,
    FOUR_AND_THREE,
    FOUR_AND_TWO,
    KINDS,
    MAKES_FIVE,
    THREE_AND_TWO,
    TWO_THREES,
    TWO_TWOS,
    WINS_NEXT,
)

VERSION = 1  # version of the planes; a network works with one version
PLANES = 16
IMAGES = 8
THREATS = 6  # threat planes of each side
FIVE, SURE, FOUR, THREE, TWO, DOUBLE = (1 << i for i in range(THREATS))


def _bits_by_kind() -> NDArray[np.uint8]:
    bits = np.zeros(KINDS, np.uint8)
    bits[MAKES_FIVE], bits[WINS_NEXT] = FIVE, SURE
    bits[FOUR_AND_THREE], bits[FOUR_AND_TWO], bits[A_FOUR] = FOUR | THREE, FOUR | TWO, FOUR
    bits[TWO_THREES], bits[THREE_AND_TWO], bits[A_THREE] = THREE | DOUBLE, THREE | TWO, THREE
    bits[TWO_TWOS], bits[A_TWO] = TWO | DOUBLE, TWO
    return bits


BITS = _bits_by_kind()


@njit(inline="always")
def image_of(cell: int, size: int, image: int) -> int:
    """The cell that a cell, row * size + column, is mapped to by one of the eight symmetries."""
    row, column = cell // size, cell % size
    if image & 1:
        column = size - 1 - column
    if image & 2:
        row = size - 1 - row
    if image & 4:
        row, column = column, row
    return row * size + column


@njit(inline="always")
def point_of_cell(cell: int, size: int) -> int:
    """The number of a point on the board's grid."""
    return (cell // size + MARGIN) * STRIDE + cell % size + MARGIN


@njit(nogil=True)
def fill_planes(v: View, mover: int, is_first: bool, size: int, out: Any) -> None:
    """Write the planes for `mover` to `out`, [PLANES, size, size]."""
    for row in range(size):
        for column in range(size):
            point = (row + MARGIN) * STRIDE + column + MARGIN
            stone = v.stone[point]
            out[0, row, column] = stone == mover
            out[1, row, column] = stone == 3 - mover
            out[2, row, column] = stone != WALL and not (stone == NOBODY and is_foul(v, point, mover))
            out[3, row, column] = is_first
            mine, theirs = np.uint8(0), np.uint8(0)
            if stone == NOBODY:
                mine, theirs = BITS[kind_at(v, point, mover)], BITS[kind_at(v, point, 3 - mover)]
            for i in range(THREATS):
                out[4 + i, row, column] = (mine >> np.uint8(i)) & np.uint8(1)
                out[4 + THREATS + i, row, column] = (theirs >> np.uint8(i)) & np.uint8(1)


@njit(cache=True, nogil=True)
def planes_of_games(
    board: Board, size: int, moves: NDArray[np.int16], plies: NDArray[np.int32], images: NDArray[np.uint8], out: Any
) -> None:
    """Planes of positions given by their moves: row i of `moves` has cells, of which the first plies[i] are played.

    `board` must be empty, and is empty again afterwards; each position is shown in one of its symmetries.
    """
    v = view(board)
    for i in range(len(plies)):
        for ply in range(plies[i]):
            play(v, point_of_cell(image_of(moves[i, ply], size, images[i]), size), 1 + ply % 2)
        fill_planes(v, 1 + plies[i] % 2, plies[i] % 2 == 0, size, out[i])
        for ply in range(plies[i] - 1, -1, -1):
            undo(v, point_of_cell(image_of(moves[i, ply], size, images[i]), size))

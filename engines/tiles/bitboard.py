"""4x4 boards in machine words, in numba: slides by row table, drops, symmetries.

There are two kinds of board, and every function here takes either. Cell 0 is at the top left, in the lowest bits. The
four cells of a row are contiguous, so a row is an index into a table of slides.

    a word, 4 bits per cell               a pair of words, 5 bits per cell (no cell straddles the words)
    bits  0.. 3  4.. 7  8..11 12..15      lo, bits  0.. 4  5.. 9 10..14 15..19
         16..19 20..23 24..27 28..31               20..24 25..29 30..34 35..39
         32..35 36..39 40..43 44..47      hi, bits  0.. 4  5.. 9 10..14 15..19
         48..51 52..55 56..59 60..63               20..24 25..29 30..34 35..39

A kernel written with these functions works for both kinds: numba picks the version for the board's type.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import count_bits, lowest_bit_index, pointer_to
from plyd.engines.core.kernel_cache import njit

Word = np.uint64
ZERO, ONE = Word(0), Word(1)
UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
TO_FRONT, TO_BACK = 0, 1  # directions of a row's slide: towards its first cell, or its last


class Rows(NamedTuple):
    """Slides of every row, to its front and to its back: one number holds the new row and the points."""

    table: NDArray[np.uint64]  # (2, rows): row after the slide + points << 32


class Slides(NamedTuple):
    """The same table by address, for kernels; see `pointer_to`."""

    table: Any  # row r of direction w at w * size + r
    size: Word


def _fields(bits: int, cells: list[int]) -> Word:
    """A word with all bits of these cells set."""
    return Word(sum(((1 << bits) - 1) << (bits * cell) for cell in cells))


ROW_4, ROW_5 = Word(0xFFFF), Word(0xFFFFF)
CELL_4, CELL_5 = Word(0xF), Word(0x1F)
LOW_BITS_4 = Word(0x1111_1111_1111_1111)
LOW_BITS_5 = Word(sum(1 << (5 * cell) for cell in range(8)))
EDGE_4, INNER_4 = _fields(4, [0, 4, 8, 12]), _fields(4, [1, 5, 9, 13])
EDGE_5, INNER_5 = _fields(5, [0, 4]), _fields(5, [1, 5])
NEAR_4, FAR_4 = _fields(4, [1, 3, 9, 11]), _fields(4, [2, 3, 6, 7])
NEAR_5, FAR_5 = _fields(5, [1, 3]), _fields(5, [0, 1, 4, 5])


@njit(cache=True, nogil=True)
def slides_of(rows: Rows) -> Slides:
    """The table by address."""
    return Slides(pointer_to(rows.table), Word(rows.table.shape[1]))


@njit(cache=True, nogil=True)
def fill_rows(bits: int, merged: NDArray[np.uint8], tiles: NDArray[np.uint32], rows: Rows) -> None:
    """Fills the row tables from a game's merges: `merged[i, j]` is the index two neighbours make, 0 if none."""
    line, moved = np.zeros(4, np.int64), np.zeros(4, np.int64)
    mask = (1 << bits) - 1
    for row in range(rows.table.shape[1]):
        for way in range(2):
            for i in range(4):
                line[i] = row >> (bits * (i if way == TO_FRONT else 3 - i)) & mask
                moved[i] = 0
            count, held, points = 0, 0, 0
            for i in range(4):
                if line[i] != 0:
                    if held != 0 and merged[held, line[i]] != 0:
                        moved[count - 1] = merged[held, line[i]]
                        points += tiles[moved[count - 1]]
                        held = 0
                    else:
                        moved[count] = line[i]
                        held = line[i]
                        count += 1
            after = 0
            for i in range(4):
                after |= moved[i] << (bits * (i if way == TO_FRONT else 3 - i))
            rows.table[way, row] = after | points << 32


def is_word(board: Any) -> bool:
    """Whether a board's numba type is the one-word kind."""
    return isinstance(board, types.Integer)


# The stubs below document the functions; each has one implementation per kind of board.


def slide_rows(board: Any, way: int, slides: Slides) -> Any:
    """Board after all rows slid to their front or back, and the points gained; the same board if nothing moved."""


def transpose(board: Any) -> Any:
    """The board with rows and columns swapped."""


def symmetries(board: Any, out: Any) -> None:
    """Writes the eight symmetries of a board to an address: word w of symmetry i at `out[8 w + i]`."""


def empties(board: Any) -> Any:
    """A word with exactly one bit set for each empty cell."""


def upper_half(like: Any) -> Word:
    """The bits in `empties` of the upper two rows; in a half, bits are in the order of cells; `like` is any board."""


def drop_at(board: Any, bit: int, index: int) -> Any:
    """Board with a tile on the empty cell of this bit in `empties`."""


def turned_bit(like: Any, bit: int) -> int:
    """The bit in `empties` of a transposed board for the cell of this bit; `like` is any board."""


def with_tile(board: Any, cell: int, index: int) -> Any:
    """Board with a tile on an empty cell."""


def cell_at(board: Any, cell: int) -> int:
    """Index of the tile on a cell."""


def emptied(board: Any) -> Any:
    """The empty board of the same kind."""


def load(boards: Any, i: int, like: Any) -> Any:
    """The i-th board stored at an address; of the same kind as `like`."""


def store(boards: Any, i: int, board: Any) -> None:
    """Stores a board as the i-th at an address."""


@njit(cache=True, nogil=True)
def _slide_word(board: Word, way: int, slides: Slides) -> tuple[Word, int]:
    at = Word(way) * slides.size
    r0, r1 = slides.table[at + (board & ROW_4)], slides.table[at + (board >> Word(16) & ROW_4)]
    r2, r3 = slides.table[at + (board >> Word(32) & ROW_4)], slides.table[at + (board >> Word(48))]
    after = r0 & ROW_4 | (r1 & ROW_4) << Word(16) | (r2 & ROW_4) << Word(32) | r3 << Word(48)
    return after, np.int64((r0 >> Word(32)) + (r1 >> Word(32)) + (r2 >> Word(32)) + (r3 >> Word(32)))


@njit(cache=True, nogil=True)
def _slide_pair(board: Any, way: int, slides: Slides) -> Any:
    at = Word(way) * slides.size
    r0, r1 = slides.table[at + (board[0] & ROW_5)], slides.table[at + (board[0] >> Word(20))]
    r2, r3 = slides.table[at + (board[1] & ROW_5)], slides.table[at + (board[1] >> Word(20))]
    after = r0 & ROW_5 | (r1 & ROW_5) << Word(20), r2 & ROW_5 | (r3 & ROW_5) << Word(20)
    return after, np.int64((r0 >> Word(32)) + (r1 >> Word(32)) + (r2 >> Word(32)) + (r3 >> Word(32)))


@overload(slide_rows)
def _slide_rows(board, way, slides):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, way, slides: _slide_word(board, way, slides)
    return lambda board, way, slides: _slide_pair(board, way, slides)


@njit(cache=True, nogil=True)
def _transpose_word(b: Word) -> Word:
    # Step 1. In each 2x2 block, swap the two cells off its diagonal (cell 1 and 4: twelve bits apart).
    x = (b ^ b >> Word(12)) & NEAR_4
    b ^= x ^ x << Word(12)
    # Step 2. Swap the two blocks off the diagonal (cell 2 and 8: twenty-four bits apart).
    x = (b ^ b >> Word(24)) & FAR_4
    return b ^ x ^ x << Word(24)


@njit(cache=True, nogil=True)
def _transpose_pair(board: Any) -> Any:
    lo, hi = board
    x = (lo ^ lo >> Word(15)) & NEAR_5
    lo ^= x ^ x << Word(15)
    x = (hi ^ hi >> Word(15)) & NEAR_5
    hi ^= x ^ x << Word(15)
    x = (lo >> Word(10) ^ hi) & FAR_5
    return lo ^ x << Word(10), hi ^ x


@overload(transpose)
def _transpose(board):  # noqa: ANN001, ANN202
    if is_word(board):
        return lambda board: _transpose_word(board)
    return lambda board: _transpose_pair(board)


@njit(cache=True, nogil=True)
def _mirror_word(b: Word) -> Word:
    """Each row reversed."""
    return (b & EDGE_4) << Word(12) | (b & INNER_4) << Word(4) | b >> Word(4) & INNER_4 | b >> Word(12) & EDGE_4


@njit(cache=True, nogil=True)
def _flip_word(b: Word) -> Word:
    """The rows in reverse order."""
    return b << Word(48) | (b & ROW_4 << Word(16)) << Word(16) | b >> Word(16) & ROW_4 << Word(16) | b >> Word(48)


@njit(cache=True, nogil=True)
def _mirror_half(w: Word) -> Word:
    return (w & EDGE_5) << Word(15) | (w & INNER_5) << Word(5) | w >> Word(5) & INNER_5 | w >> Word(15) & EDGE_5


@njit(cache=True, nogil=True)
def _flip_half(w: Word) -> Word:
    return w >> Word(20) | (w & ROW_5) << Word(20)


@njit(cache=True, nogil=True)
def _symmetries_word(board: Word, out: Any) -> None:
    turned = _transpose_word(board)
    mirrored, turned_mirrored = _mirror_word(board), _mirror_word(turned)
    out[0], out[1], out[2], out[3] = board, mirrored, turned, turned_mirrored
    out[4], out[5] = _flip_word(board), _flip_word(mirrored)
    out[6], out[7] = _flip_word(turned), _flip_word(turned_mirrored)


@njit(cache=True, nogil=True)
def _symmetries_pair(board: Any, out: Any) -> None:
    lo, hi = board
    turned_lo, turned_hi = _transpose_pair(board)
    out[0], out[8] = lo, hi
    out[1], out[9] = _mirror_half(lo), _mirror_half(hi)
    out[2], out[10] = turned_lo, turned_hi
    out[3], out[11] = _mirror_half(turned_lo), _mirror_half(turned_hi)
    for image in range(4):
        out[image + 4], out[image + 12] = _flip_half(out[image + 8]), _flip_half(out[image])


@overload(symmetries)
def _symmetries(board, out):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, out: _symmetries_word(board, out)
    return lambda board, out: _symmetries_pair(board, out)


@njit(cache=True, nogil=True)
def _empties_word(b: Word) -> Word:
    return ~(b | b >> ONE | b >> Word(2) | b >> Word(3)) & LOW_BITS_4


@njit(cache=True, nogil=True)
def _empties_pair(board: Any) -> Word:
    """Cells 0 to 7 at bits 0, 5, 10, ..., cells 8 to 15 at bits 1, 6, 11, ..."""
    lo, hi = board
    lo = ~(lo | lo >> ONE | lo >> Word(2) | lo >> Word(3) | lo >> Word(4)) & LOW_BITS_5
    hi = ~(hi | hi >> ONE | hi >> Word(2) | hi >> Word(3) | hi >> Word(4)) & LOW_BITS_5
    return lo | hi << ONE


@overload(empties)
def _empties(board):  # noqa: ANN001, ANN202
    if is_word(board):
        return lambda board: _empties_word(board)
    return lambda board: _empties_pair(board)


@overload(upper_half)
def _upper_half(like):  # noqa: ANN001, ANN202
    half = Word(0xFFFFFFFF) if is_word(like) else LOW_BITS_5
    return lambda like: half  # noqa: ARG005


@njit(cache=True, nogil=True)
def _drop_at_pair(board: Any, bit: Word, index: Word) -> Any:
    field = bit - bit % Word(5)
    if bit == field:
        return board[0] | index << bit, board[1]
    return board[0], board[1] | index << field


@overload(drop_at)
def _drop_at(board, bit, index):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, bit, index: board | Word(index) << Word(bit)
    return lambda board, bit, index: _drop_at_pair(board, Word(bit), Word(index))


@njit(cache=True, nogil=True)
def _turned_bit_word(bit: int) -> int:
    return (bit & 12) << 2 | (bit >> 2 & 12)


@njit(cache=True, nogil=True)
def _turned_bit_pair(bit: int) -> int:
    half, cell = bit % 5, bit // 5
    row, column = 2 * half + (cell >> 2), cell & 3
    return 5 * (4 * (column & 1) + row) + (column >> 1)


@overload(turned_bit)
def _turned_bit(like, bit):  # noqa: ANN001, ANN202, ARG001
    if is_word(like):
        return lambda like, bit: _turned_bit_word(bit)  # noqa: ARG005
    return lambda like, bit: _turned_bit_pair(bit)  # noqa: ARG005


@njit(cache=True, nogil=True)
def _with_tile_pair(board: Any, cell: int, index: Word) -> Any:
    if cell < 8:
        return board[0] | index << Word(5 * cell), board[1]
    return board[0], board[1] | index << Word(5 * (cell - 8))


@overload(with_tile)
def _with_tile(board, cell, index):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, cell, index: board | Word(index) << Word(4 * cell)
    return lambda board, cell, index: _with_tile_pair(board, cell, Word(index))


@overload(cell_at)
def _cell_at(board, cell):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda board, cell: np.int64(board >> Word(4 * cell) & CELL_4)
    return lambda board, cell: np.int64((board[0] if cell < 8 else board[1]) >> Word(5 * (cell % 8)) & CELL_5)


@overload(emptied)
def _emptied(board):  # noqa: ANN001, ANN202
    if is_word(board):
        return lambda board: ZERO  # noqa: ARG005
    return lambda board: (ZERO, ZERO)  # noqa: ARG005


@overload(load)
def _load(boards, i, like):  # noqa: ANN001, ANN202, ARG001
    if is_word(like):
        return lambda boards, i, like: boards[i]  # noqa: ARG005
    return lambda boards, i, like: (boards[2 * i], boards[2 * i + 1])  # noqa: ARG005


@njit(cache=True, nogil=True)
def _store_pair(boards: Any, i: int, board: Any) -> None:
    boards[2 * i], boards[2 * i + 1] = board


@njit(cache=True, nogil=True)
def _store_word(boards: Any, i: int, board: Word) -> None:
    boards[i] = board


@overload(store)
def _store(boards, i, board):  # noqa: ANN001, ANN202, ARG001
    if is_word(board):
        return lambda boards, i, board: _store_word(boards, i, board)
    return lambda boards, i, board: _store_pair(boards, i, board)


@njit(cache=True, nogil=True)
def largest(board: Any) -> int:
    """The largest index on a board."""
    most = 0
    for cell in range(16):
        most = max(most, cell_at(board, cell))
    return most


@njit(cache=True, nogil=True)
def nth_empty(free: Word, n: int) -> int:
    """The n-th set bit, from 0, of a word from `empties`."""
    for _ in range(n):
        free &= free - ONE
    return lowest_bit_index(free)


@njit(cache=True, nogil=True)
def count_empty(board: Any) -> int:
    """Number of empty cells."""
    return count_bits(empties(board))

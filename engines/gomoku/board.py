"""A board that knows, for every empty point and both colours, what a stone there would make.

Each point keeps its surroundings in the four lines as numbers, two bits a neighbour. A stone changes one digit of each
point in line with it; what a stone makes there is then one look at a table (patterns.py). Sums over all empty points,
by learned tables, are the evaluation; sets of points by kind are the threats. All of it goes back the same way.

The grid has a margin, so that no loop has to look where the board ends: a point's number is its row * STRIDE + column,
both counted from the margin's corner, and one row of a set is one 32-bit word.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from plyd.engines.core.machine import lowest_bit_index, pointer_to
from plyd.engines.gomoku.evaluation import Weights, shipped
from plyd.engines.gomoku.patterns import COMBINATION_MASK, COMBINATIONS, KIND_SHIFT, KINDS, tables
from plyd.engines.gomoku.rules import BLOCKED, EMPTY, Position

MARGIN, STRIDE, ROWS = 5, 32, 30
POINTS = ROWS * STRIDE
STEPS = (1, STRIDE, STRIDE + 1, STRIDE - 1)  # along a row, a column, the diagonals
NOBODY, X, O, WALL = 0, 1, 2, 3  # what is on a point  # noqa: E741
OCCUPIED = 15  # the set of all stones stands where a sixteenth kind of x's would
NO_COMBO = COMBINATIONS  # of a point that is not empty: worth nothing
HASH, FREE, SIZE, SHIFT, MASK, RADIUS = range(6)  # items of `state`


class Board(NamedTuple):
    """The arrays of a board; kernels take them by address, as a View."""

    stone: NDArray[np.uint8]  # by point: NOBODY, X, O, WALL
    key: NDArray[np.uint32]  # by point and line: the neighbours
    code: NDArray[np.uint16]  # by point and colour: its classes in the four lines, four bits each
    combo: NDArray[np.uint16]  # by point and colour: combination and kind, of empty points
    sets: NDArray[np.uint32]  # by colour, kind and row: which points are of a kind
    many: NDArray[np.int32]  # by colour and kind: how many
    sums: NDArray[np.int32]  # by colour, and whether it is to move: the evaluation
    state: NDArray[np.uint64]  # see HASH and so on
    classes: NDArray[np.uint8]
    combined: NDArray[np.uint16]
    worth: NDArray[np.int32]  # by combination, and whether its colour is to move
    ordering: NDArray[np.int32]  # by combination, and whether its colour is to move
    random: NDArray[np.uint64]  # by point and colour, for the hash


class View(NamedTuple):
    """A board's arrays by address: cheap to pass on."""

    stone: Any
    key: Any
    code: Any
    combo: Any
    sets: Any
    many: Any
    sums: Any
    state: Any
    classes: Any
    combined: Any
    worth: Any
    ordering: Any
    random: Any


@njit(inline="always")
def view(board: Board) -> View:
    """The board by address. Whoever calls the kernel keeps the arrays alive."""
    return View(
        pointer_to(board.stone),
        pointer_to(board.key),
        pointer_to(board.code),
        pointer_to(board.combo),
        pointer_to(board.sets),
        pointer_to(board.many),
        pointer_to(board.sums),
        pointer_to(board.state),
        pointer_to(board.classes),
        pointer_to(board.combined),
        pointer_to(board.worth),
        pointer_to(board.ordering),
        pointer_to(board.random),
    )


def empty_board(size: int, *, exactly_five: bool, weights: Weights | None = None) -> Board:
    """A board with no stone on it, valued by what ships or by other weights."""
    weights = weights or shipped()
    found = tables(exactly_five=exactly_five)
    board = Board(
        stone=np.full(POINTS, WALL, np.uint8),
        key=np.zeros(POINTS * 4, np.uint32),
        code=np.zeros(POINTS * 2, np.uint16),
        combo=np.zeros(POINTS * 2, np.uint16),
        sets=np.zeros(2 * KINDS * STRIDE, np.uint32),
        many=np.zeros(2 * KINDS, np.int32),
        sums=np.zeros(4, np.int32),
        state=np.zeros(6, np.uint64),
        classes=found.classes,
        combined=found.combined,
        worth=weights.worth,
        ordering=weights.ordering,
        random=np.random.default_rng(1).integers(0, 2**64, POINTS * 2, np.uint64),
    )
    board.state[SIZE] = size
    board.state[SHIFT], board.state[MASK], board.state[RADIUS] = (0, 0xFFFFF, 5) if exactly_five else (2, 0xFFFF, 4)
    board.stone.reshape(ROWS, STRIDE)[MARGIN : MARGIN + size, MARGIN : MARGIN + size] = NOBODY
    count_anew(board)
    return board


def board_of(position: Position, *, exactly_five: bool) -> Board:
    """The board of a position."""
    board = empty_board(position.size, exactly_five=exactly_five)
    set_up(board, position)
    return board


def set_up(board: Board, position: Position) -> None:
    """Make a board of the same size show a position."""
    meaning = {EMPTY: NOBODY, "x": X, "o": O, BLOCKED: WALL}
    cells = np.array([[meaning[cell] for cell in row] for row in position.rows], np.uint8)
    size = position.size
    board.stone.reshape(ROWS, STRIDE)[MARGIN : MARGIN + size, MARGIN : MARGIN + size] = cells
    count_anew(board)


def point_at(row: int, column: int) -> int:
    """The number of a point, by row from the top and column."""
    return (row + MARGIN) * STRIDE + column + MARGIN


def place_of(point: int) -> tuple[int, int]:
    """The row from the top and the column of a point."""
    return point // STRIDE - MARGIN, point % STRIDE - MARGIN


@njit(cache=True, nogil=True)
def count_anew(board: Board) -> None:
    """Work everything out from the stones alone."""
    v = view(board)
    board.key.fill(0)
    board.code.fill(0)
    board.combo.fill(NO_COMBO)
    board.sets.fill(0)
    board.many.fill(0)
    board.sums.fill(0)
    v.state[HASH] = v.random[v.state[SIZE]]  # a board of another size is another position
    free = 0
    for point in range(MARGIN * STRIDE + MARGIN, POINTS - MARGIN * STRIDE - MARGIN):
        stone = v.stone[point]
        if stone == X or stone == O:
            v.state[HASH] ^= v.random[point * 2 + stone - 1]
            v.sets[OCCUPIED * STRIDE + point // STRIDE] |= np.uint32(1) << np.uint32(point % STRIDE)
        if stone == WALL:
            if _is_inside(point, np.int64(v.state[SIZE])):
                v.state[HASH] ^= v.random[point * 2] + v.random[point * 2 + 1]
            continue
        for line in range(4):
            step = step_of(line)
            key = np.uint32(0)
            for i in range(5):
                key |= np.uint32(v.stone[point + (i - 5) * step]) << np.uint32(2 * i)
                key |= np.uint32(v.stone[point + (i + 1) * step]) << np.uint32(2 * (i + 5))
            v.key[point * 4 + line] = key
        if stone == NOBODY:
            free += 1
            _enter(v, point)
    v.state[FREE] = np.uint64(free)


@njit(inline="always")
def _is_inside(point: int, size: int) -> bool:
    row, column = point // STRIDE - MARGIN, point % STRIDE - MARGIN
    return 0 <= row < size and 0 <= column < size


@njit(inline="always")
def step_of(line: int) -> int:
    """How a point's number changes along a line."""
    return 1 if line == 0 else STRIDE if line == 1 else STRIDE + 1 if line == 2 else STRIDE - 1


@njit(nogil=True)
def play(v: View, point: int, colour: int) -> None:
    """Put a stone on an empty point."""
    v.stone[point] = colour
    v.state[HASH] ^= v.random[point * 2 + colour - 1]
    v.state[FREE] -= np.uint64(1)
    v.sets[OCCUPIED * STRIDE + point // STRIDE] |= np.uint32(1) << np.uint32(point % STRIDE)
    for side in range(2):
        _change(v, point, side, np.uint16(NO_COMBO))
    _tell_neighbours(v, point, colour)


@njit(nogil=True)
def undo(v: View, point: int) -> None:
    """Take a stone off again."""
    colour = np.int64(v.stone[point])
    v.stone[point] = NOBODY
    v.state[HASH] ^= v.random[point * 2 + colour - 1]
    v.state[FREE] += np.uint64(1)
    v.sets[OCCUPIED * STRIDE + point // STRIDE] &= ~(np.uint32(1) << np.uint32(point % STRIDE))
    _tell_neighbours(v, point, colour)
    _enter(v, point)


@njit(inline="always")
def _tell_neighbours(v: View, point: int, colour: int) -> None:
    """Change what the points in line with a point know of it: its stone comes, or goes."""
    radius = np.int64(v.state[RADIUS])
    shift, mask = np.uint32(v.state[SHIFT]), np.uint32(v.state[MASK])
    for line in range(4):
        step = step_of(line)
        for side in range(2):
            for i in range(1, radius + 1):
                neighbour = point - i * step if side == 0 else point + i * step
                place = 4 + i if side == 0 else 5 - i  # of the point, among its neighbour's neighbours
                key = v.key[neighbour * 4 + line] ^ np.uint32(colour) << np.uint32(2 * place)
                v.key[neighbour * 4 + line] = key
                if v.stone[neighbour] == NOBODY:
                    both = v.classes[(key >> shift) & mask]
                    _set_class(v, neighbour, 0, line, both & 15)
                    _set_class(v, neighbour, 1, line, both >> 4)


@njit(inline="always")
def _set_class(v: View, point: int, side: int, line: int, found: int) -> None:
    at = point * 2 + side
    old = np.uint32(v.code[at])
    new = (old & ~(np.uint32(15) << np.uint32(4 * line))) | np.uint32(found) << np.uint32(4 * line)
    if new != old:
        v.code[at] = np.uint16(new)
        _change(v, point, side, v.combined[new])


@njit(inline="always")
def _enter(v: View, point: int) -> None:
    """Work out anew what a stone on an empty point would make."""
    shift, mask = np.uint32(v.state[SHIFT]), np.uint32(v.state[MASK])
    for side in range(2):
        code = np.uint32(0)
        for line in range(4):
            both = np.uint32(v.classes[(v.key[point * 4 + line] >> shift) & mask])
            code |= (both >> np.uint32(4 * side) & np.uint32(15)) << np.uint32(4 * line)
        v.code[point * 2 + side] = np.uint16(code)
        _change(v, point, side, v.combined[code])


@njit(nogil=True)
def _change(v: View, point: int, side: int, new: int) -> None:
    """A point's combination becomes another: the sums and the sets hear of it."""
    at = point * 2 + side
    old = v.combo[at]
    if new == old:
        return
    v.combo[at] = np.uint16(new)
    before, after = (np.int64(old) & COMBINATION_MASK) * 2, (np.int64(new) & COMBINATION_MASK) * 2
    v.sums[side * 2] += v.worth[after] - v.worth[before]
    v.sums[side * 2 + 1] += v.worth[after + 1] - v.worth[before + 1]
    kind, was = np.int64(new) >> KIND_SHIFT, np.int64(old) >> KIND_SHIFT
    if kind != was:
        row, bit = point // STRIDE, np.uint32(1) << np.uint32(point % STRIDE)
        v.sets[(side * KINDS + was) * STRIDE + row] &= ~bit
        v.sets[(side * KINDS + kind) * STRIDE + row] |= bit
        v.many[side * KINDS + was] -= 1
        v.many[side * KINDS + kind] += 1


@njit(inline="always")
def kind_at(v: View, point: int, colour: int) -> int:
    """The kind of an empty point for a colour."""
    return np.int64(v.combo[point * 2 + colour - 1]) >> KIND_SHIFT


@njit(inline="always")
def count_of(v: View, colour: int, kind: int) -> int:
    """How many points of a kind a colour has."""
    return np.int64(v.many[(colour - 1) * KINDS + kind])


@njit(nogil=True)
def first_of(v: View, colour: int, kind: int) -> int:
    """The first point of a kind; there is one."""
    start = ((colour - 1) * KINDS + kind) * STRIDE
    row = MARGIN
    while v.sets[start + row] == 0:
        row += 1
    return row * STRIDE + lowest_bit_index(np.uint64(v.sets[start + row]))


@njit(nogil=True)
def list_of(v: View, colour: int, kind: int, into: Any, count: int) -> int:
    """Append the points of a kind to a list that has so many; how many it then has."""
    if v.many[(colour - 1) * KINDS + kind] == 0:
        return count
    start = ((colour - 1) * KINDS + kind) * STRIDE
    for row in range(MARGIN, MARGIN + np.int64(v.state[SIZE])):
        word = np.uint64(v.sets[start + row])
        while word:
            into[count] = row * STRIDE + lowest_bit_index(word)
            count += 1
            word &= word - np.uint64(1)
    return count


@njit(inline="always")
def evaluation(v: View, colour: int) -> int:
    """What the board is worth to a colour that is to move."""
    return np.int64(v.sums[(colour - 1) * 2 + 1]) - np.int64(v.sums[(2 - colour) * 2])


@njit(nogil=True)
def list_near(v: View, into: Any, count: int) -> int:
    """Append the empty points at most two steps from a stone; how many the list then has."""
    size = np.int64(v.state[SIZE])
    start = OCCUPIED * STRIDE
    for row in range(MARGIN, MARGIN + size):
        rows = v.sets[start + row - 2] | v.sets[start + row - 1] | v.sets[start + row] | v.sets[start + row + 1]
        word = np.uint64(rows | v.sets[start + row + 2])
        word |= word << np.uint64(1) | word << np.uint64(2) | word >> np.uint64(1) | word >> np.uint64(2)
        word &= np.uint64(((1 << size) - 1) << MARGIN)
        word &= ~np.uint64(v.sets[start + row])
        while word:
            point = row * STRIDE + lowest_bit_index(word)
            if v.stone[point] == NOBODY:
                into[count] = point
                count += 1
            word &= word - np.uint64(1)
    return count

"""A board that knows, for every empty point and both colours, which patterns a stone there would make.

Each line of the board (row, column, both diagonals) is one 64-bit word with two bits per point. A point's neighbours in
a line are cut out of the word, and one table lookup gives the pattern that a stone makes there (patterns.py). A stone
changes the words of its four lines and the patterns of the empty points near it in them. The evaluation is a sum of
learned weights over all empty points; threats are sets of points by kind. Undo reverts all of it in the same way.

The grid has a margin, so that no loop has to check for the edge: a point's number is row * STRIDE + column, both
counted from the margin's corner, and one row of a set is one 32-bit word.

    point      0  1  2  3  4  5  6  7 ...      a row of a board, from the margin on: . is empty, # off the board
    a row      #  #  #  #  #  .  x  o ...      its word: 3 at 5 points, 0, 1, 2; the lowest two bits come first
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import lowest_bit_index, pointer_to
from plyd.engines.core.kernel_cache import njit
from plyd.engines.gomoku.board.evaluation import Weights, shipped
from plyd.engines.gomoku.board.patterns import A_THREE, COMBINATION_MASK, KIND_SHIFT, KINDS, NO_COMBO, radius_of, tables
from plyd.engines.gomoku.renju import MOST_ASKED
from plyd.engines.gomoku.rules import BLOCKED, EMPTY, Position, Rule

MARGIN, STRIDE, ROWS = 5, 32, 30
POINTS = ROWS * STRIDE
STEPS = (1, STRIDE, STRIDE + 1, STRIDE - 1)  # to the next point of a row, a column, the diagonals
LINES = 192  # number of line words: 32 rows, 32 columns, 64 of each diagonal
NOBODY, X, O, WALL = 0, 1, 2, 3  # what is on a point  # noqa: E741
OCCUPIED = 15  # index of the set of all stones, in place of a sixteenth kind of x
HASH, FREE, SIZE, RADIUS, HAS_FOULS = range(5)  # indices in `state`
KEPT = 5  # numbers that `fouls.py` stores per point on its stack
FIRST_THREAT = np.uint16(A_THREE << KIND_SHIFT)
OF_O = np.uint32(1 << 16)  # start of o's half of `combined`
EVERY_PLACE = np.uint64(0x5555555555555555)  # the lower bit of each point of a line


class Board(NamedTuple):
    """The arrays of a board; kernels take them by address, as a View."""

    stone: NDArray[np.uint8]  # by point: NOBODY, X, O, WALL
    lines: NDArray[np.uint64]  # by line: the content of its points, two bits each
    code: NDArray[np.uint32]  # by point: its classes in the four lines, four bits each; x in the low half, o << 16
    combo: NDArray[np.uint16]  # by point and colour: combination and kind, for empty points
    sets: NDArray[np.uint32]  # by colour, kind and row: the points of a kind, from A_THREE on
    many: NDArray[np.int32]  # by colour and kind: number of points
    sums: NDArray[np.int32]  # by colour, and whether it is to move: the evaluation's sums
    state: NDArray[np.uint64]  # indexed by HASH, FREE, SIZE, RADIUS, HAS_FOULS
    classes: NDArray[np.uint8]
    combined: NDArray[np.uint16]
    value: NDArray[np.int64]  # by combination: value if its colour is not to move, and << 32 if it is
    ordering: NDArray[np.int32]  # by combination, and whether its colour is to move
    random: NDArray[np.uint64]  # by point and colour: Zobrist keys
    asked: NDArray[np.int64]  # stack of `fouls.py`


class View(NamedTuple):
    """A board's arrays by address: cheap to pass to functions."""

    stone: Any
    lines: Any
    code: Any
    combo: Any
    sets: Any
    many: Any
    sums: Any
    state: Any
    classes: Any
    combined: Any
    value: Any
    ordering: Any
    random: Any
    asked: Any


@njit(inline="always")
def view(board: Board) -> View:
    """The board by address. The caller of the kernel must keep the arrays alive."""
    return View(
        pointer_to(board.stone),
        pointer_to(board.lines),
        pointer_to(board.code),
        pointer_to(board.combo),
        pointer_to(board.sets),
        pointer_to(board.many),
        pointer_to(board.sums),
        pointer_to(board.state),
        pointer_to(board.classes),
        pointer_to(board.combined),
        pointer_to(board.value),
        pointer_to(board.ordering),
        pointer_to(board.random),
        pointer_to(board.asked),
    )


def empty_board(size: int, rule: Rule, weights: Weights | None = None) -> Board:
    """A board without stones. Default weights: those that ship."""
    weights = weights or shipped()
    found = tables(rule)
    board = Board(
        stone=np.full(POINTS, WALL, np.uint8),
        lines=np.zeros(LINES, np.uint64),
        code=np.zeros(POINTS, np.uint32),
        combo=np.zeros(POINTS * 2, np.uint16),
        sets=np.zeros(2 * KINDS * STRIDE, np.uint32),
        many=np.zeros(2 * KINDS, np.int32),
        sums=np.zeros(4, np.int32),
        state=np.zeros(5, np.uint64),
        classes=found.classes,
        combined=found.combined,
        value=weights.value[::2] + (weights.value[1::2].astype(np.int64) << 32),
        ordering=weights.ordering,
        random=np.random.default_rng(1).integers(0, 2**64, POINTS * 2, np.uint64),
        asked=np.zeros(MOST_ASKED * KEPT, np.int64),
    )
    board.state[SIZE] = size
    board.state[RADIUS] = radius_of(rule)
    board.state[HAS_FOULS] = rule is Rule.RENJU
    board.stone.reshape(ROWS, STRIDE)[MARGIN : MARGIN + size, MARGIN : MARGIN + size] = NOBODY
    count_anew(board)
    return board


def board_of(position: Position, rule: Rule, weights: Weights | None = None) -> Board:
    """The board of a position. Default weights: those that ship."""
    board = empty_board(position.size, rule, weights)
    set_up(board, position)
    return board


def set_up(board: Board, position: Position) -> None:
    """Set a board of the same size to a position."""
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
    """Recompute everything from the stones alone."""
    v = view(board)
    board.lines.fill(~np.uint64(0))
    board.code.fill(0)
    board.combo.fill(NO_COMBO)
    board.sets.fill(0)
    board.many.fill(0)
    board.sums.fill(0)
    v.state[HASH] = v.random[v.state[SIZE]]  # boards of different size have different hashes
    size, free = np.int64(v.state[SIZE]), 0
    for point in range(MARGIN * STRIDE + MARGIN, POINTS - MARGIN * STRIDE - MARGIN):
        stone = v.stone[point]
        if stone == X or stone == O:
            v.state[HASH] ^= v.random[point * 2 + stone - 1]
            v.sets[OCCUPIED * STRIDE + point // STRIDE] |= np.uint32(1) << np.uint32(point % STRIDE)
        if stone == WALL:
            if _is_inside(point, size):
                v.state[HASH] ^= v.random[point * 2] + v.random[point * 2 + 1]
            continue
        free += stone == NOBODY
        for line in range(4):
            at, place = line_of(point, line)
            v.lines[at] ^= np.uint64(WALL ^ stone) << np.uint64(2 * place)
    v.state[FREE] = np.uint64(free)
    for point in range(MARGIN * STRIDE + MARGIN, POINTS - MARGIN * STRIDE - MARGIN):
        if v.stone[point] == NOBODY:
            _enter(v, point)


@njit(inline="always")
def _is_inside(point: int, size: int) -> bool:
    row, column = point // STRIDE - MARGIN, point % STRIDE - MARGIN
    return 0 <= row < size and 0 <= column < size


@njit(inline="always")
def step_of(line: int) -> int:
    """The difference between the numbers of neighbouring points in a line."""
    return 1 if line == 0 else STRIDE if line == 1 else STRIDE + 1 if line == 2 else STRIDE - 1


@njit(inline="always")
def line_of(point: int, line: int) -> tuple[int, int]:
    """The word of a point's line (0 row, 1 column, 2 and 3 diagonals), and the point's place in it."""
    row, column = point // STRIDE, point % STRIDE
    if line == 0:
        return row, column
    return (32 + column if line == 1 else 96 + row - column if line == 2 else 128 + row + column), row


@njit(inline="always")
def reach_of(v: View) -> int:
    """The bits of a line that matter to a point, on each side of it."""
    return np.uint64(2) * v.state[RADIUS]


@njit(inline="always")
def around(word: int, bit: int, reach: int) -> int:
    """The neighbours of the place at a bit of a line, without the place itself: an index into `classes`."""
    low = (np.uint64(1) << reach) - np.uint64(1)
    word >>= bit - reach
    return word & low | word >> np.uint64(2) & low << reach


@njit(inline="always")
def _in_code(both: int, line: int) -> int:
    """The classes of both colours in a line, moved from their layout in `classes` to that of a code."""
    return (both & np.uint32(15) | (both & np.uint32(240)) << np.uint32(12)) << np.uint32(4 * line)


@njit(inline="always")
def code_of(v: View, point: int, colour: int) -> int:
    """The classes of an empty point in the four lines, four bits each, for a colour."""
    return np.int64(v.code[point] >> np.uint32(16 * (colour - 1)) & np.uint32(0xFFFF))


@njit(nogil=True)
def play(v: View, point: int, colour: int) -> None:
    """Put a stone on an empty point."""
    v.stone[point] = colour
    v.sets[OCCUPIED * STRIDE + point // STRIDE] |= np.uint32(1) << np.uint32(point % STRIDE)
    v.state[FREE] -= np.uint64(1)
    gain_x = _change(v, point, np.int64(0), np.uint16(NO_COMBO))
    gain_o = _change(v, point, np.int64(1), np.uint16(NO_COMBO))
    _tell_neighbours(v, point, colour, gain_x, gain_o)


@njit(nogil=True)
def undo(v: View, point: int) -> None:
    """Remove a stone."""
    colour = np.int64(v.stone[point])
    v.stone[point] = NOBODY
    v.sets[OCCUPIED * STRIDE + point // STRIDE] &= ~(np.uint32(1) << np.uint32(point % STRIDE))
    v.state[FREE] += np.uint64(1)
    _tell_neighbours(v, point, colour, np.int64(0), np.int64(0))
    _enter(v, point)


@njit(inline="always")
def _tell_neighbours(v: View, point: int, colour: int, gain_x: int, gain_o: int) -> None:
    """Update the empty points in line with a point where a stone was placed or removed."""
    v.state[HASH] ^= v.random[point * 2 + colour - 1]
    reach = reach_of(v)
    side = (np.uint64(1) << reach) - np.uint64(1)
    near = (side | side << (reach + np.uint64(2))) & EVERY_PLACE
    for line in range(4):
        at, place = line_of(point, line)
        step, here = step_of(line), np.uint64(2 * place)
        word = v.lines[at] ^ np.uint64(colour) << here
        v.lines[at] = word
        free = ~(word | word >> np.uint64(1)) & near << (here - reach)
        while free:
            bit = np.uint64(lowest_bit_index(free))
            free &= free - np.uint64(1)
            both = np.uint32(v.classes[around(word, bit, reach)])
            neighbour = point + (np.int64(bit >> np.uint64(1)) - place) * step
            old = v.code[neighbour]
            new = old & ~_in_code(np.uint32(255), line) | _in_code(both, line)
            if new != old:
                v.code[neighbour] = new
                gain_x += _change(v, neighbour, np.int64(0), v.combined[new & np.uint32(0xFFFF)])
                gain_o += _change(v, neighbour, np.int64(1), v.combined[OF_O + (new >> np.uint32(16))])
    _gain(v, 0, gain_x)
    _gain(v, 1, gain_o)


@njit(inline="always")
def _enter(v: View, point: int) -> None:
    """Recompute the patterns of an empty point."""
    code = np.uint32(0)
    for line in range(4):
        at, place = line_of(point, line)
        code |= _in_code(np.uint32(v.classes[around(v.lines[at], np.uint64(2 * place), reach_of(v))]), line)
    v.code[point] = code
    _gain(v, 0, _change(v, point, np.int64(0), v.combined[code & np.uint32(0xFFFF)]))
    _gain(v, 1, _change(v, point, np.int64(1), v.combined[OF_O + (code >> np.uint32(16))]))


@njit(nogil=True)
def _change(v: View, point: int, side: int, new: int) -> int:
    """Set a point's combination and update the sets; returns the change of the evaluation.

    It also writes values that did not change: a mispredicted branch costs more than the redundant write.
    """
    at = point * 2 + side
    old = v.combo[at]
    v.combo[at] = np.uint16(new)
    if max(old, new) >= FIRST_THREAT:  # rare; sets and counts of weaker kinds are not maintained
        kind, was = np.int64(new) >> KIND_SHIFT, np.int64(old) >> KIND_SHIFT
        row, bit = point // STRIDE, np.uint32(1) << np.uint32(point % STRIDE)
        v.sets[(side * KINDS + was) * STRIDE + row] &= ~bit
        v.sets[(side * KINDS + kind) * STRIDE + row] |= bit
        v.many[side * KINDS + was] -= 1
        v.many[side * KINDS + kind] += 1
    return v.value[np.int64(new) & COMBINATION_MASK] - v.value[np.int64(old) & COMBINATION_MASK]


@njit(inline="always")
def _gain(v: View, side: int, gain: int) -> None:
    """Add to both sums of a colour: the lower half of `gain` if it is not to move, the upper half if it is."""
    waiting = np.int64(np.int32(gain))
    v.sums[side * 2] += waiting
    v.sums[side * 2 + 1] += (gain - waiting) >> 32


@njit(inline="always")
def kind_at(v: View, point: int, colour: int) -> int:
    """The kind of an empty point for a colour."""
    return np.int64(v.combo[point * 2 + colour - 1]) >> KIND_SHIFT


@njit(inline="always")
def count_of(v: View, colour: int, kind: int) -> int:
    """The number of points of a kind that a colour has."""
    return np.int64(v.many[(colour - 1) * KINDS + kind])


@njit(nogil=True)
def first_of(v: View, colour: int, kind: int) -> int:
    """The first point of a kind; there must be one."""
    start = ((colour - 1) * KINDS + kind) * STRIDE
    row = MARGIN
    while v.sets[start + row] == 0:
        row += 1
    return row * STRIDE + lowest_bit_index(np.uint64(v.sets[start + row]))


@njit(nogil=True)
def list_of(v: View, colour: int, kind: int, into: Any, count: int) -> int:
    """Append the points of a kind to a list of `count` points; returns the new count."""
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
    """The evaluation for a colour that is to move."""
    return np.int64(v.sums[(colour - 1) * 2 + 1]) - np.int64(v.sums[(2 - colour) * 2])


@njit(nogil=True)
def list_near(v: View, into: Any, count: int) -> int:
    """Append the empty points at most two steps from a stone; returns the new count."""
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

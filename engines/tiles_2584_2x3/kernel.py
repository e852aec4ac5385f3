"""The 2x3 game in numba: slides, the exact solution, and a plain expectimax search.

A board is one number in base 13, `code = top row * 2197 + bottom row`; tables.py has a picture. Every drop raises the
sum of the tiles by 1 or 2, and no slide changes it. So after-states of a sum depend only on before-states of larger
sums, and before-states on after-states of the same sum.
"""

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import is_raised, monotonic_ns
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.batch.lines import LETTER_B
from plyd.engines.tiles_2584_2x3.tables import BASE, ROWS, Slides

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

CELLS = 6
CELL_WEIGHT = np.array([13**5, 13**4, 13**3, 13**2, 13, 1], np.int32)
BEFORE, AFTER = 1, 2  # bits of `seen`
MAX_BUCKET = 1 << 12  # upper bound of the before-states of one sum; `explore` returns -1 if exceeded
MAX_SUM = 1 << 10  # upper bound of the sum of tiles
UP, RIGHT, DOWN, LEFT = 0, 1, 2, 3
SPAWN_1, SPAWN_2 = 0.9, 0.1
POLL_MASK = 1023  # poll the clock and the stop flag every 1024 nodes
COMPLETED, OUT_OF_TIME, OUT_OF_NODES, TOLD_TO_STOP = 0, 1, 2, 3
MAX_DEPTH = 64  # maximum slides that the expectimax search looks ahead


@njit(cache=True, nogil=True, inline="always")
def slide(code: int, direction: int, slides: Slides) -> tuple[int, int]:
    """Board after a slide and the points it gains; the same board if the slide is not legal."""
    top, bottom = code // ROWS, code % ROWS
    if direction == LEFT or direction == RIGHT:
        way = 0 if direction == LEFT else 1
        points = slides.row_points[way, top] + slides.row_points[way, bottom]
        return slides.row[way, top] * ROWS + slides.row[way, bottom], points
    way = 0 if direction == UP else 1
    new_top, new_bottom, points = 0, 0, 0
    for column in range(3):
        one, other = slides.digit[column, top], slides.digit[column, bottom]
        new_top = new_top * 13 + slides.upper[way, one, other]
        new_bottom = new_bottom * 13 + slides.lower[way, one, other]
        points += slides.pair_points[way, one, other]
    return new_top * ROWS + new_bottom, points


@njit(cache=True, nogil=True, inline="always")
def is_empty(code: int, cell: int, slides: Slides) -> bool:
    """Whether a cell holds no tile."""
    row = code // ROWS if cell < 3 else code % ROWS
    return slides.digit[cell % 3, row] == 0


@njit(cache=True, nogil=True, inline="always")
def canonical(code: int, slides: Slides) -> int:
    """The smallest code among a board's four symmetries, which all have the same value."""
    top, bottom = code // ROWS, code % ROWS
    mirrored_top, mirrored_bottom = slides.mirror[top], slides.mirror[bottom]
    one = min(code, bottom * ROWS + top)
    other = min(mirrored_top * ROWS + mirrored_bottom, mirrored_bottom * ROWS + mirrored_top)
    return min(one, other)


@njit(cache=True, nogil=True, inline="always")
def best_slide(code: int, slides: Slides, after_value: Floats) -> tuple[int, float]:
    """Best slide of a before-state and its value; -1 and 0 if no slide is legal. Of equals, the first by opcode."""
    best, best_value = -1, 0.0
    for direction in range(4):
        after, points = slide(code, direction, slides)
        if after != code:
            value = points + after_value[canonical(after, slides)]
            if best < 0 or value > best_value:
                best, best_value = direction, value
    return best, best_value


@njit(cache=True, nogil=True)
def explore(slides: Slides, seen: Bytes, befores: Codes, before_ends: Ints, afters: Codes, after_ends: Ints) -> int:
    """Lists the canonical reachable states by the sum of their tiles, smallest first; returns the largest sum, or -1 if
    a bucket is too small for the game.

    `before_ends[s]` and `after_ends[s]` are where the states of sum s end in their lists.
    """
    bucket = np.empty((3, MAX_BUCKET), np.int32)  # before-states not yet listed, of this sum and the next two
    size = np.zeros(3, np.int64)
    before_end, after_end = 0, 0

    # Step 1. The openings: two tiles of index 1 or 2 (for these, index and face value are equal).
    for one in range(CELLS):
        for other in range(CELLS):
            for index in range(1, 3):
                for second in range(1, 3):
                    before = canonical(index * CELL_WEIGHT[one] + second * CELL_WEIGHT[other], slides)
                    if one != other and not seen[before] & BEFORE:
                        seen[before] |= BEFORE
                        place = (index + second) % 3
                        bucket[place, size[place]] = before
                        size[place] += 1

    for total in range(2, MAX_SUM):
        # Step 2. All before-states of this sum are now known: list them and the after-states they slide to.
        here, first_after = total % 3, after_end
        for i in range(size[here]):
            code = bucket[here, i]
            befores[before_end] = code
            before_end += 1
            for direction in range(4):
                after, _ = slide(code, direction, slides)
                if after != code:
                    after = canonical(after, slides)
                    if not seen[after] & AFTER:
                        seen[after] |= AFTER
                        afters[after_end] = after
                        after_end += 1
        size[here] = 0
        before_ends[total] = before_end
        after_ends[total] = after_end

        # Step 3. Drops lead from those after-states to before-states of the next two sums.
        for i in range(first_after, after_end):
            for cell in range(CELLS):
                if is_empty(afters[i], cell, slides):
                    for index in range(1, 3):
                        before = canonical(afters[i] + index * CELL_WEIGHT[cell], slides)
                        if not seen[before] & BEFORE:
                            seen[before] |= BEFORE
                            place = (total + index) % 3
                            if size[place] == MAX_BUCKET:
                                return -1
                            bucket[place, size[place]] = before
                            size[place] += 1
        if size[0] + size[1] + size[2] == 0:
            return total
    return -1


@njit(cache=True, nogil=True)
def value_all(
    slides: Slides,
    largest_sum: int,
    befores: Codes,
    before_ends: Ints,
    afters: Codes,
    after_ends: Ints,
    before_value: Floats,
    after_value: Floats,
) -> None:
    """Computes the value of every listed state, largest sum first."""
    for total in range(largest_sum, 1, -1):
        # Step 1. After-states: the mean over empty cells of 0.9 * (a 1 dropped) + 0.1 * (a 2 dropped).
        for i in range(after_ends[total - 1], after_ends[total]):
            code = afters[i]
            ones, twos, empty = 0.0, 0.0, 0
            for cell in range(CELLS):
                if is_empty(code, cell, slides):
                    ones += before_value[canonical(code + CELL_WEIGHT[cell], slides)]
                    twos += before_value[canonical(code + 2 * CELL_WEIGHT[cell], slides)]
                    empty += 1
            after_value[code] = (SPAWN_1 * ones + SPAWN_2 * twos) / empty

        # Step 2. Before-states: the maximum of points + after-state value, 0 if no slide is legal.
        for i in range(before_ends[total - 1], before_ends[total]):
            before_value[befores[i]] = best_slide(befores[i], slides, after_value)[1]


@njit(cache=True, nogil=True)
def look_up(
    letters: Bytes,
    cells: Bytes,
    with_moves: bool,
    slides: Slides,
    seen: Bytes,
    before_value: Floats,
    after_value: Floats,
    values: Floats,
    moves: Ints,
) -> None:
    """Value of each state of a batch, NaN if it cannot occur; with moves, a before-state's best slide, or -1."""
    for i in range(letters.size):
        values[i], moves[i] = np.nan, -1
        code, is_on_board = 0, letters[i] != 0
        for cell in range(CELLS):
            is_on_board &= cells[i, cell] < BASE
            code = code * BASE + cells[i, cell]
        if is_on_board:
            state = canonical(code, slides)
            if letters[i] == LETTER_B and seen[state] & BEFORE:
                values[i] = before_value[state]
                if with_moves:
                    moves[i] = best_slide(code, slides, after_value)[0]
            elif letters[i] != LETTER_B and seen[state] & AFTER:
                values[i] = after_value[state]


@njit(cache=True, nogil=True)
def slide_values(code: int, slides: Slides, seen: Bytes, after_value: Floats, values: Floats) -> bool:
    """Whether a before-state can occur; if so, writes its four slides' values by opcode, NaN if not legal."""
    if not seen[canonical(code, slides)] & BEFORE:
        return False
    for direction in range(4):
        after, points = slide(code, direction, slides)
        values[direction] = np.nan if after == code else points + after_value[canonical(after, slides)]
    return True


@njit(cache=True, nogil=True)
def expectimax(
    root: int, depth: int, slides: Slides, deadline_ns: int, max_nodes: int, counts: Ints, stop_flag: Bytes
) -> tuple[float, int]:
    """Expected points from an after-state within `depth` slides, and why the search ended.

    Recursively, with v(after, 0) = 0:   v(after, d) = mean over drops of max over slides of points + v(after', d - 1)
    The recursion is an explicit stack. Adds to `counts`: after-states visited, and those of them at the horizon, where
    the game was not over.
    """
    after = np.empty(MAX_DEPTH, np.int64)
    drop = np.zeros(MAX_DEPTH, np.int64)  # 2 * cell + index - 1
    direction = np.zeros(MAX_DEPTH, np.int64)
    points = np.zeros(MAX_DEPTH, np.int64)
    best = np.zeros(MAX_DEPTH)  # maximum over slides after the current drop
    total = np.zeros(MAX_DEPTH)
    empty = np.zeros(MAX_DEPTH, np.int64)
    level = 0
    after[0] = root
    if depth == 0:
        return 0.0, COMPLETED

    while True:
        # Step 1. All four slides have values: add the drop with its best slide.
        if direction[level] == 4:
            total[level] += best[level] * (SPAWN_1 if drop[level] % 2 == 0 else SPAWN_2)
            empty[level] += drop[level] % 2
            drop[level] += 1
            direction[level], best[level] = 0, 0.0

        # Step 2. The next drop on an empty cell; after the last one, return the state's value one level up.
        while drop[level] < 2 * CELLS and not is_empty(after[level], drop[level] // 2, slides):
            drop[level] += 2
        if drop[level] == 2 * CELLS:
            value = total[level] / empty[level]
            level -= 1
            if level < 0:
                return value, COMPLETED
            best[level] = max(best[level], points[level] + value)
            direction[level] += 1
            continue

        # Step 3. The next slide: evaluate it directly at the last level, otherwise descend one level.
        before = after[level] + (drop[level] % 2 + 1) * CELL_WEIGHT[drop[level] // 2]
        slid, gained = slide(before, direction[level], slides)
        if slid == before:
            direction[level] += 1
            continue
        counts[0] += 1
        if counts[0] >= max_nodes:
            return 0.0, OUT_OF_NODES
        if counts[0] & POLL_MASK == 0:
            if is_raised(stop_flag):
                return 0.0, TOLD_TO_STOP
            if monotonic_ns() >= deadline_ns:
                return 0.0, OUT_OF_TIME
        if level + 1 == depth:
            counts[1] += 1
            best[level] = max(best[level], gained)
            direction[level] += 1
        else:
            points[level] = gained
            level += 1
            after[level] = slid
            drop[level], direction[level], empty[level] = 0, 0, 0
            best[level], total[level] = 0.0, 0.0

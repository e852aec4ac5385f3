"""Tables of slides, built once from the rulebook.

A board is one number in base 13 (no game reaches an index above 12), with cell 0 as the highest digit:

    t0 t1 t2      code = row(t0 t1 t2) * 2197 + row(t3 t4 t5)
    t3 t4 t5      row(x y z) = x * 169 + y * 13 + z

A slide left or right maps each row to a new row; a slide up or down maps each column, a pair of cells.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.tiles_2584_2x3.rules import RULES

BASE = 13
ROWS = BASE**3
BOARDS = BASE**6


class Slides(NamedTuple):
    """Results of slides. A row or pair that would make an index above 12 stays unchanged."""

    row: NDArray[np.int32]  # (2, ROWS): row after a slide left, right
    row_points: NDArray[np.int32]  # (2, ROWS)
    mirror: NDArray[np.int32]  # (ROWS,): row in reverse order
    digit: NDArray[np.int32]  # (3, ROWS): each cell of a row
    upper: NDArray[np.int32]  # (2, BASE, BASE): upper cell after a slide up, down of (upper, lower)
    lower: NDArray[np.int32]  # (2, BASE, BASE)
    pair_points: NDArray[np.int32]  # (2, BASE, BASE)


def slides() -> Slides:
    """The tables, computed from the rulebook's slides of one line."""
    row, row_points = np.zeros((2, 2, ROWS), np.int32)
    mirror, digit = np.empty(ROWS, np.int32), np.empty((3, ROWS), np.int32)
    upper, lower, pair_points = np.zeros((3, 2, BASE, BASE), np.int32)
    for code in range(ROWS):
        cells = [code // 169, code // 13 % 13, code % 13]
        digit[:, code] = cells
        mirror[code] = _row(cells[::-1])
        moved, row_points[0, code] = _slide(cells)
        row[0, code] = _row(moved)
        moved, row_points[1, code] = _slide(cells[::-1])
        row[1, code] = _row(moved[::-1])
    for one in range(BASE):
        for other in range(BASE):
            (upper[0, one, other], lower[0, one, other]), pair_points[0, one, other] = _slide([one, other])
            (lower[1, one, other], upper[1, one, other]), pair_points[1, one, other] = _slide([other, one])
    return Slides(row, row_points, mirror, digit, upper, lower, pair_points)


def _row(cells: list[int]) -> int:
    return cells[0] * 169 + cells[1] * 13 + cells[2]


def _slide(line: list[int]) -> tuple[list[int], int]:
    moved, points = RULES.slide_line(tuple(line))
    return (line, 0) if max(moved) >= BASE else (list(moved), points)

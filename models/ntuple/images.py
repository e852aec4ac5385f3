"""The eight images of a pattern under the square's symmetries, and tables whose places count cells in another order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Cells = tuple[int, ...]


def _image(flipped: bool, mirrored: bool, turned: bool) -> list[int]:
    """Where each cell goes in one of the square's eight images."""
    places = []
    for cell in range(16):
        row, column = cell // 4, cell % 4
        row, column = 3 - row if flipped else row, 3 - column if mirrored else column
        places.append(4 * column + row if turned else 4 * row + column)
    return places


IMAGES = [_image(f, m, t) for f in (False, True) for m in (False, True) for t in (False, True)]


def known_form(pattern: Cells, known: Sequence[Cells]) -> Cells:
    """The image of a pattern that is among the known ones; the pattern itself if none is."""
    for image in IMAGES:
        moved = {image[cell] for cell in pattern}
        for cells in known:
            if moved == set(cells):
                return cells
    return pattern


def image_back(cells: Cells, pattern: Cells) -> Cells:
    """The cells of a pattern in the order in which an image of it lists theirs."""
    for image in IMAGES:
        if {image[cell] for cell in pattern} == set(cells):
            back = {image[cell]: cell for cell in pattern}
            return tuple(back[cell] for cell in cells)
    raise AssertionError(f"{cells} is no image of {pattern}")


def reordered(table: NDArray[np.float32], cells: Cells, wanted: Cells, base: int) -> NDArray[np.float32]:
    """A table whose places count cells in another order. Axis 0 of the tables is the last cell, which moves slowest."""
    axes = [len(cells) - 1 - cells.index(cell) for cell in reversed(wanted)]
    return np.ascontiguousarray(table.reshape((base,) * len(cells)).transpose(axes)).reshape(-1)

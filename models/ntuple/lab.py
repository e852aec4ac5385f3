"""Reads and writes the weight file of the 2048 lab's framework, so that students can bring their weights and use ours.

Little-endian:

    u64                        number of patterns
    for each pattern:
      i32, bytes               length of its name, the name: "6-tuple pattern 012345", cells in hexadecimal
      u64                      number of weights, 16^n
      f32 ...                  weights; the tile on cell i of the name is in bits 4i .. 4i+3 of the place

The lab knows 2048 only, with 16 indices a cell.
"""

import re
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights
from plyd.models.ntuple.checkpoint import Checkpoint
from plyd.models.ntuple.patterns import MOST_PATTERNS, patterns_of, text_of

BASE = 16
LONGEST_NAME, MOST_CELLS = 256, 6
LAB_PATTERNS = patterns_of("lab-extra")


def read_lab(path: Path) -> Checkpoint:
    """The weights of a lab file, as a checkpoint to train further."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadWeights(f"cannot read {path}: {error.strerror or error}") from None
    at = 0

    def take(size: int, what: str) -> bytes:
        nonlocal at
        piece = data[at : at + size]
        if len(piece) != size:
            raise BadWeights(f"{path} ends within {what}: {size} bytes expected, {len(piece)} there")
        at += size
        return piece

    (count,) = struct.unpack("<Q", take(8, "the number of patterns"))
    if not 1 <= count <= MOST_PATTERNS:
        raise BadWeights(f"{path} says it has {count} patterns; 1 to {MOST_PATTERNS} are allowed")
    patterns: list[tuple[int, ...]] = []
    tables: list[NDArray[np.float32]] = []
    for i in range(count):
        (length,) = struct.unpack("<i", take(4, f"the length of name {i + 1}"))
        if not 1 <= length <= LONGEST_NAME:
            raise BadWeights(f"{path} has a name of {length} bytes; 1 to {LONGEST_NAME} are allowed")
        name = take(length, f"name {i + 1}").decode("latin-1")
        cells = cells_of(name, path)
        (size,) = struct.unpack("<Q", take(8, f"the size of {name}"))
        if size != BASE ** len(cells):
            raise BadWeights(f'{path} has {size} weights for "{name}"; {BASE ** len(cells)} are expected')
        table = np.frombuffer(take(4 * size, f"the weights of {name}"), "<f4").astype(np.float32)
        if not np.isfinite(table).all():
            raise BadWeights(f'{path} has weights for "{name}" that are not numbers')
        ascending = tuple(sorted(cells))
        patterns.append(ascending)
        tables.append(reordered(table, cells, ascending))
    if at != len(data):
        raise BadWeights(f"{path} goes on for {len(data) - at} bytes after its last pattern")
    weights = np.concatenate(tables)
    places = np.flatnonzero(weights).astype(np.uint32)
    none = np.zeros((0, 2), np.float32)
    return Checkpoint("2048", "classic", text_of(patterns), BASE, 0.0, places, weights[places], none)


def write_lab(path: Path, checkpoint: Checkpoint) -> None:
    """Writes a 2048 network as a lab file; a pattern that the lab knows by another image of it gets the lab's name."""
    if (checkpoint.game, checkpoint.base) != ("2048", BASE):
        raise BadWeights(
            f"the lab's file is for 2048, with {BASE} indices a cell; this network is for {checkpoint.game}, with "
            f"{checkpoint.base}"
        )
    weights, at = checkpoint.whole(), 0
    patterns = patterns_of(checkpoint.network)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(patterns)))
        for pattern in patterns:
            table = weights[at : at + BASE ** len(pattern)]
            at += table.size
            cells = as_lab(pattern)
            ours = tuple(image_back(cells, pattern))
            name = f"{len(cells)}-tuple pattern {''.join(f'{cell:x}' for cell in cells)}".encode()
            file.write(struct.pack("<i", len(name)) + name + struct.pack("<Q", table.size))
            file.write(reordered(table, pattern, ours).astype("<f4").tobytes())


def cells_of(name: str, path: Path) -> tuple[int, ...]:
    """The cells that a pattern's name lists."""
    found = re.fullmatch(r"(\d+)-tuple pattern ([0-9a-f]+)", name)
    cells = tuple(int(digit, 16) for digit in found[2]) if found else ()
    if not found or int(found[1]) != len(cells) or len(set(cells)) != len(cells) or len(cells) > MOST_CELLS:
        raise BadWeights(
            f'{path} has a pattern named {name!r}; expected "N-tuple pattern" and up to {MOST_CELLS} different cells '
            "in hexadecimal"
        )
    return cells


def reordered(table: NDArray[np.float32], cells: tuple[int, ...], wanted: tuple[int, ...]) -> NDArray[np.float32]:
    """A table whose places count cells in another order. Axis 0 of the tables is the last cell, which moves slowest."""
    axes = [len(cells) - 1 - cells.index(cell) for cell in reversed(wanted)]
    return np.ascontiguousarray(table.reshape((BASE,) * len(cells)).transpose(axes)).reshape(-1)


def _image(flipped: bool, mirrored: bool, turned: bool) -> list[int]:
    """Where each cell goes in one of the square's eight images."""
    places = []
    for cell in range(16):
        row, column = cell // 4, cell % 4
        row, column = 3 - row if flipped else row, 3 - column if mirrored else column
        places.append(4 * column + row if turned else 4 * row + column)
    return places


IMAGES = [_image(f, m, t) for f in (False, True) for m in (False, True) for t in (False, True)]


def as_lab(pattern: tuple[int, ...]) -> tuple[int, ...]:
    """The lab's own form of a pattern, if it has one; the pattern itself if not."""
    for image in IMAGES:
        moved = {image[cell] for cell in pattern}
        for lab in LAB_PATTERNS:
            if moved == set(lab):
                return lab
    return pattern


def image_back(cells: tuple[int, ...], pattern: tuple[int, ...]) -> list[int]:
    """The cells of a pattern in the order in which an image of it lists theirs."""
    for image in IMAGES:
        if {image[cell] for cell in pattern} == set(cells):
            back = {image[cell]: cell for cell in pattern}
            return [back[cell] for cell in cells]
    raise AssertionError(f"{cells} is no image of {pattern}")

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
from plyd.models.ntuple.byte_reader import reading
from plyd.models.ntuple.checkpoint import Checkpoint
from plyd.models.ntuple.images import image_back, known_form, reordered
from plyd.models.ntuple.patterns import MOST_PATTERNS, patterns_of, text_of

BASE = 16
LONGEST_NAME, MOST_CELLS = 256, 6
LAB_PATTERNS = patterns_of("lab-extra")


def read_lab(path: Path) -> Checkpoint:
    """The weights of a lab file, as a checkpoint to train further."""
    patterns: list[tuple[int, ...]] = []
    tables: list[NDArray[np.float32]] = []
    with reading(path) as file:
        count = file.number("Q", "the number of patterns")
        if not 1 <= count <= MOST_PATTERNS:
            raise BadWeights(f"{path} says it has {count} patterns; 1 to {MOST_PATTERNS} are allowed")
        for i in range(count):
            length = file.number("i", f"the length of name {i + 1}")
            if not 1 <= length <= LONGEST_NAME:
                raise BadWeights(f"{path} has a name of {length} bytes; 1 to {LONGEST_NAME} are allowed")
            name = file.take(length, f"name {i + 1}").decode("latin-1")
            cells = cells_of(name, path)
            size = file.number("Q", f"the size of {name}")
            if size != BASE ** len(cells):
                raise BadWeights(f'{path} has {size} weights for "{name}"; {BASE ** len(cells)} are expected')
            table = file.floats(size, "<f4", f"the weights of {name}")
            patterns.append(tuple(sorted(cells)))
            tables.append(reordered(table, cells, patterns[-1], BASE))
        file.end()
    return checkpoint_of(patterns, np.concatenate(tables))


def checkpoint_of(patterns: list[tuple[int, ...]], weights: NDArray[np.float32]) -> Checkpoint:
    """A checkpoint of 2048 with these weights, learned without temporal coherence."""
    places = np.flatnonzero(weights).astype(np.uint32)
    none = np.zeros((0, 2), np.float32)
    return Checkpoint("2048", "classic", text_of(patterns), BASE, 0.0, places, weights[places], none)


def write_lab(path: Path, checkpoint: Checkpoint) -> None:
    """Writes a 2048 network as a lab file; a pattern that the lab knows by another image of it gets the lab's name."""
    check_exportable(checkpoint, "the lab's file")
    weights, at = checkpoint.whole(), 0
    patterns = patterns_of(checkpoint.network)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(patterns)))
        for pattern in patterns:
            table = weights[at : at + BASE ** len(pattern)]
            at += table.size
            cells = known_form(pattern, LAB_PATTERNS)
            name = f"{len(cells)}-tuple pattern {text_of([cells])}".encode()
            file.write(struct.pack("<i", len(name)) + name + struct.pack("<Q", table.size))
            file.write(reordered(table, pattern, image_back(cells, pattern), BASE).astype("<f4").tobytes())


def check_exportable(checkpoint: Checkpoint, what: str) -> None:
    """Raises BadWeights unless it is a network of 2048 with one stage."""
    if checkpoint.stages:
        raise BadWeights(f"{what} has one stage; this network has {1 + len(checkpoint.stages)}")
    if (checkpoint.game, checkpoint.base) != ("2048", BASE):
        raise BadWeights(
            f"{what} is for 2048, with {BASE} indices a cell; this network is for {checkpoint.game}, with "
            f"{checkpoint.base}"
        )


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

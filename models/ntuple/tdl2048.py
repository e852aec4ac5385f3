"""Reads and writes the weight file (*.w) of the framework TDL2048, so that its players can be served here, ours there.

Little-endian:

    u8                         0
    u32                        number of weight tables
    for each table:
      u8                       4
      u32, u16, u16            its name as a hexadecimal number, the name's digits (0 in old files), 0; or, if the last
                               two bytes are not 0, eight bytes of text filled up with spaces
      fields until a u16 of 0, each:
        u16, u64               bytes of a number (2, 4 or 8), how many numbers
        f16, f32 or f64 ...    first field: the weights, 16^n. Second field, if there: the sums of temporal coherence,
                               all of E and then all of A, in shares of an error (error / features)

A table's name is its pattern; the tile on digit i of the name is in bits 4i .. 4i+3 of the place. A board's value is
the sum over patterns and the eight images of the board, as here.
"""

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights
from plyd.models.ntuple.byte_reader import ByteReader, reading
from plyd.models.ntuple.checkpoint import Checkpoint
from plyd.models.ntuple.images import image_back, known_form, reordered
from plyd.models.ntuple.lab import BASE, MOST_CELLS, check_exportable, checkpoint_of
from plyd.models.ntuple.patterns import MOST_PATTERNS, patterns_of, text_of

FILE_CODE, TABLE_CODE = 0, 4
NUMBERS = {2: "<f2", 4: "<f4", 8: "<f8"}  # by their size
SMALLEST = 2.0**-126  # TDL2048's value of a sum before anything is learned
IMAGES = 8
# The patterns for which TDL2048 has quick code, in its own form. It computes any other too, but slowly.
KNOWN = patterns_of("012345 456789 012456 45689a 89abcd 234569 01259a 345678 134567 01489a 0123 4567 0145 1256 569a")


def is_tdl2048(path: Path) -> bool:
    """Whether a file may be TDL2048's: it begins with 0, where one of the lab has a number of patterns."""
    with reading(path) as file:
        return file.left > 0 and file.number("B", "the first byte") == FILE_CODE


def read_tdl2048(path: Path) -> Checkpoint:
    """The weights of a TDL2048 file, with the sums of temporal coherence if it has them, to train further."""
    patterns: list[tuple[int, ...]] = []
    tables: list[NDArray[np.float32]] = []
    sums: list[NDArray[np.float32] | None] = []
    with reading(path) as file:
        if (code := file.number("B", "the first byte")) != FILE_CODE:
            raise BadWeights(f"{path} begins with {code}; a TDL2048 file begins with {FILE_CODE}")
        count = file.number("I", "the number of tables")
        if not 1 <= count <= MOST_PATTERNS:
            raise BadWeights(f"{path} says it has {count} tables; 1 to {MOST_PATTERNS} are allowed")
        for _ in range(count):
            cells, table, coherence = read_table(file)
            patterns.append(tuple(sorted(cells)))
            tables.append(reordered(table, cells, patterns[-1], BASE))
            sums.append(None if coherence is None else coherence_of(coherence, cells, patterns[-1]))
        file.end()
    found = checkpoint_of(patterns, np.concatenate(tables))
    known = [one for one in sums if one is not None]
    if len(known) == len(sums):
        found.sums = np.concatenate(known)[found.places] * np.float32(IMAGES * count)
    return found


def read_table(file: ByteReader) -> tuple[tuple[int, ...], NDArray[np.float32], NDArray[np.float32] | None]:
    """The next table: its cells, its weights, and both sums of temporal coherence or None."""
    if (code := file.number("B", "a table's first byte")) != TABLE_CODE:
        raise BadWeights(f"{file.path} has a table of format {code}; format {TABLE_CODE} is known")
    name = file.take(8, "a table's name")
    size, count = field_head(file, "a table")
    cells = cells_of(name, count, file.path)
    what = f"the table of {text_of([cells])}"
    weights = file.floats(count, NUMBERS[size], what)
    coherence: NDArray[np.float32] | None = None
    while (size := file.number("H", what)) != 0:
        fields = file.number("Q", what)
        if coherence is None and size in NUMBERS and fields == 2 * count:
            coherence = file.floats(fields, NUMBERS[size], f"the sums of {text_of([cells])}")
        else:
            file.take(size * fields, what)  # TDL2048 skips what it does not know, too
    return cells, weights, coherence


def field_head(file: ByteReader, what: str) -> tuple[int, int]:
    """Bytes of a number, and how many numbers follow."""
    size = file.number("H", what)
    if size not in NUMBERS:
        raise BadWeights(f"{file.path} has numbers of {size} bytes; 2, 4 and 8 are allowed")
    return size, file.number("Q", what)


def cells_of(name: bytes, count: int, path: Path) -> tuple[int, ...]:
    """The cells that a table's name lists; the number of its weights decides how many zeros an old name begins with."""
    number, digits, is_text = struct.unpack("<IHH", name)
    digits = digits or (count.bit_length() - 1) // 4
    text = name.decode("latin-1").rstrip(" ") if is_text else f"{number:0{min(digits, 8)}x}"
    cells = tuple(int(digit, 16) for digit in text) if set(text) <= set("0123456789abcdef") else ()
    if not 1 <= len(cells) <= MOST_CELLS or len(set(cells)) != len(cells):
        raise BadWeights(
            f"{path} has a table named {text!r}; expected up to {MOST_CELLS} different cells in hexadecimal"
        )
    if count != BASE ** len(cells):
        raise BadWeights(f'{path} has {count} weights for "{text}"; {BASE ** len(cells)} are expected')
    return cells


def coherence_of(both: NDArray[np.float32], cells: tuple[int, ...], wanted: tuple[int, ...]) -> NDArray[np.float32]:
    """The sums E and A of each weight side by side, 0 where nothing was learned."""
    sums = np.stack([reordered(one, cells, wanted, BASE) for one in np.split(both, 2)], axis=1)
    sums[np.abs(sums) <= SMALLEST] = 0.0
    return sums


def write_tdl2048(path: Path, checkpoint: Checkpoint) -> None:
    """Writes a 2048 network as a TDL2048 file, with the sums of temporal coherence if it has them."""
    check_exportable(checkpoint, "TDL2048's file")
    patterns = patterns_of(checkpoint.network)
    weights, at = checkpoint.whole(), 0
    sums = np.full((weights.size, 2), SMALLEST, np.float32) if checkpoint.sums.size else None
    if sums is not None:
        shares = checkpoint.sums / np.float32(IMAGES * len(patterns))
        sums[checkpoint.places] = np.where(checkpoint.sums == 0, np.float32(SMALLEST), shares)
    with path.open("wb") as file:
        file.write(struct.pack("<BI", FILE_CODE, len(patterns)))
        for pattern in patterns:
            here = slice(at, at := at + BASE ** len(pattern))
            cells = known_form(pattern, KNOWN)
            order = image_back(cells, pattern)
            name = text_of([cells])
            file.write(struct.pack("<BIHH", TABLE_CODE, int(name, 16), len(name), 0))
            write_field(file, [weights[here]], pattern, order)
            if sums is not None:
                write_field(file, [sums[here, 0], sums[here, 1]], pattern, order)
            file.write(struct.pack("<H", 0))


def write_field(
    file: BinaryIO, columns: list[NDArray[np.float32]], cells: tuple[int, ...], order: tuple[int, ...]
) -> None:
    """Writes one field of a table."""
    file.write(struct.pack("<HQ", 4, sum(column.size for column in columns)))
    for column in columns:
        file.write(reordered(column, cells, order, BASE).astype("<f4").tobytes())

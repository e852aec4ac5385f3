"""Opening books: exact values of positions near the start of one board, made by `plyd book connect4`.

A book is a file of `models/files.py`, so it ends with a SHA-256 of all before it. Its only array is compressed by zlib:
the differences of the sorted keys, byte by byte (all lowest bytes, then the second ones, ...), then the values.

    key     of a position or of its mirror image, whichever is less (see words.py)
    value   as in kernel.py; a position where the mover wins at once is not listed
"""

import logging
import zlib
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.kernel import Listed
from plyd.engines.connect4.exact.words import COLUMN_BITS, COLUMNS, MINE, NO_STONE, TAKEN, least_key
from plyd.models.errors import BadWeights
from plyd.models.files import read_file, write_file

log = logging.getLogger("plyd.connect4")

FOLDER = Path(__file__).parents[3] / "models" / "weights"
FORMAT, VERSION = "connect4 book", 1
KEY_BYTES = 8
MOST_POSITIONS = 4_000_000  # 36 MB in memory


class Book:
    """Exact values of positions of one board."""

    def __init__(self, board: str, keys: NDArray[np.uint64], values: NDArray[np.int8]) -> None:
        order = np.argsort(keys)
        self.board, self.keys, self.values = board, keys[order], values[order]
        self._width = int(board.partition("x")[0])
        self.listed = Listed(
            self.keys, self.values, np.int64(most_stones(self.keys)), np.int64(self._width), "#" in board
        )

    def __len__(self) -> int:
        return len(self.keys)

    def value_of(self, board: NDArray[np.uint64]) -> int | None:
        """The value of a position of this board, None if it is not listed."""
        key = shared_key(board, self._width)
        place = int(np.searchsorted(self.keys, key))
        return int(self.values[place]) if place < len(self.keys) and self.keys[place] == key else None

    def save(self, path: Path) -> None:
        """Write the book."""
        steps = np.diff(self.keys, prepend=np.uint64(0)).astype("<u8").view(np.uint8)
        data = steps.reshape(-1, KEY_BYTES).T.tobytes() + self.values.tobytes()
        header = {"format": FORMAT, "version": VERSION, "board": self.board, "positions": len(self)}
        write_file(path, header, {"packed": np.frombuffer(zlib.compress(data, 9), np.uint8)})


def most_stones(keys: NDArray[np.uint64]) -> int:
    """The most stones of any of these positions, or one more with a forbidden cell; -1 without positions."""
    columns = [(keys >> np.uint64(COLUMN_BITS * column)) & np.uint64(127) for column in range(COLUMNS)]
    heights = sum(np.frexp(column.astype(float))[1] - (column > 0) for column in columns)  # the highest bit is no stone
    return int(np.max(heights, initial=-1))


def read_book(path: Path) -> Book:
    """The book in a file; raises BadWeights if that is damaged, or not a book of this version."""
    header, arrays, _ = read_file(path)
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise BadWeights(f"{path} is {header.get('format')!r} {header.get('version')!r}; expected {FORMAT!r} {VERSION}")
    count, packed = header.get("positions"), arrays.get("packed")
    if not isinstance(count, int) or not 0 <= count <= MOST_POSITIONS or packed is None:
        raise BadWeights(f"{path} has {count!r} positions; allowed is 0 to {MOST_POSITIONS}")
    try:
        data = zlib.decompressobj().decompress(packed.tobytes(), (KEY_BYTES + 1) * count + 1)
    except zlib.error as error:
        raise BadWeights(f"{path} cannot be decompressed: {error}") from None
    if len(data) != (KEY_BYTES + 1) * count:
        raise BadWeights(f"{path} has {len(data)} bytes of positions; expected {(KEY_BYTES + 1) * count}")
    planes = np.frombuffer(data, np.uint8, KEY_BYTES * count).reshape(KEY_BYTES, count)
    steps = np.ascontiguousarray(planes.T).view("<u8").reshape(-1).astype(np.uint64)
    return Book(
        str(header.get("board")),
        np.cumsum(steps, dtype=np.uint64),
        np.frombuffer(data, np.int8, count, KEY_BYTES * count),
    )


@cache
def shipped_book(board: str) -> Book | None:
    """The book of an empty board that comes with the package, None if there is none or it is damaged."""
    path = FOLDER / f"connect4-{board}.book"
    if not path.exists():
        return None
    try:
        return read_book(path)
    except BadWeights as error:
        log.warning("no opening book, so early positions take longer: %s", error)
        return None


def shared_key(board: NDArray[np.uint64], width: int) -> np.uint64:
    """The key that a position shares with its mirror image, if there is no forbidden cell."""
    return np.uint64(least_key(board[MINE], board[TAKEN], width, bool(board[NO_STONE])))

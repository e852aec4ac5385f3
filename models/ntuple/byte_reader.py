"""Reads a binary file piece by piece and says where it ends too early."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from plyd.models.errors import BadWeights


class ByteReader:
    """A file's bytes in order. No piece is read, and no memory taken, that is larger than what the file has left."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self._file = path, file
        self.left = path.stat().st_size

    def take(self, size: int, what: str) -> bytes:
        """The next bytes."""
        if size > self.left:
            raise BadWeights(f"{self.path} ends within {what}: {size} bytes expected, {self.left} there")
        self.left -= size
        piece = self._file.read(size)
        if len(piece) != size:
            raise BadWeights(f"{self.path} ends within {what}: it became shorter while it was read")
        return piece

    def number(self, form: str, what: str) -> int:
        """The next whole number; `form` is a letter of the module `struct`."""
        (number,) = struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}"), what))
        return int(number)

    def floats(self, count: int, dtype: str, what: str) -> NDArray[np.float32]:
        """The next numbers, as float32; all must be finite."""
        kind: Any = np.dtype(dtype)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            numbers = np.frombuffer(self.take(count * kind.itemsize, what), kind).astype(np.float32)
        if not np.isfinite(numbers).all():
            raise BadWeights(f"{self.path} has values in {what} that are not numbers")
        return numbers

    def end(self) -> None:
        """Raises BadWeights unless all bytes were read."""
        if self.left:
            raise BadWeights(f"{self.path} goes on for {self.left} bytes after its last pattern")


@contextmanager
def reading(path: Path) -> Iterator[ByteReader]:
    """A file to read; raises BadWeights if it cannot be read."""
    try:
        with path.open("rb") as file:
            yield ByteReader(path, file)
    except OSError as error:
        raise BadWeights(f"cannot read {path}: {error.strerror or error}") from None

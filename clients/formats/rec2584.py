"""The course's record file of 2584, read and written.

A file is little-endian: u64 records, then each record u64 actions, i16 action ..., u64 start ms, u64 end ms. The
actions are the opcodes of tile_replay.py.
"""

import os
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from plyd.clients.formats.tile_replay import FinishedGame

SMALLEST_RECORD = 24  # bytes


class BadRecord(ValueError):
    """An invalid record file; the message names the record and the action."""


class RecordWriter:
    """A record file being written; use it in a `with`, which writes the number of records at its end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._file.write(struct.pack("<Q", 0))
        self._count, self._end = 0, 8

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._file.truncate(self._end)  # after an interrupt, half a record may follow
            self._file.seek(0)
            self._file.write(struct.pack("<Q", self._count))

    def add(self, game: FinishedGame) -> None:
        """Write one game."""
        data = _packed(game)
        self._file.write(data)
        self._count, self._end = self._count + 1, self._end + len(data)


def pack_records(games: Sequence[FinishedGame]) -> bytes:
    """A whole record file."""
    return struct.pack("<Q", len(games)) + b"".join(map(_packed, games))


def _packed(game: FinishedGame) -> bytes:
    actions = _swapped(array("h", game.actions)).tobytes()
    return struct.pack("<Q", len(game.actions)) + actions + struct.pack("<QQ", game.start_ms, game.end_ms)


def read_records(path: Path) -> Iterator[tuple["array[int]", int, int]]:
    """The actions, start ms and end ms of each record, one at a time."""
    with path.open("rb") as file:
        yield from read_records_from(file, os.fstat(file.fileno()).st_size)


def read_records_from(file: BinaryIO, size: int) -> Iterator[tuple["array[int]", int, int]]:
    """The same, of an open file of that many bytes."""
    left = size - 8
    if left < 0:
        raise BadRecord(f"{left + 8} bytes; a record file has at least 8")
    (count,) = struct.unpack("<Q", file.read(8))
    if count > left // SMALLEST_RECORD:
        raise BadRecord(f"says {count} records, but {left} bytes hold at most {left // SMALLEST_RECORD}")
    for number in range(1, count + 1):
        if left < SMALLEST_RECORD:
            raise BadRecord(f"record {number} of {count}: the file is cut off")
        (length,) = struct.unpack("<Q", file.read(8))
        if length > (left - SMALLEST_RECORD) // 2:
            raise BadRecord(f"record {number} of {count}: says {length} actions, but only {left - 8} bytes follow")
        data = file.read(2 * length + 16)
        if len(data) < 2 * length + 16:
            raise BadRecord(f"record {number} of {count}: the file is cut off")
        left -= 8 + len(data)
        start_ms, end_ms = struct.unpack("<QQ", data[2 * length :])
        yield _swapped(array("h", data[: 2 * length])), start_ms, end_ms
    if left:
        raise BadRecord(f"{left} bytes after the last of {count} records")


def _swapped(actions: "array[int]") -> "array[int]":
    """Actions from the file's byte order to the machine's, or back."""
    if sys.byteorder == "big":
        actions.byteswap()
    return actions

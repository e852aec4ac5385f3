"""The course's record file of 2584, read, written and judged; and the tile games as opcodes, which is what it holds.

A file is little-endian: u64 records, then each record u64 actions, i16 action ..., u64 start ms, u64 end ms. An action
is a slide (0 up, 1 right, 2 down, 3 left) or a drop, (index << 4) | cell. A record runs drop, drop, slide, drop, ...,
slide, drop.
"""

import os
import struct
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import not_
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

SIZE = 16  # cells
SLIDES = ("up", "right", "down", "left")  # by opcode
LINES = (  # by opcode: the cells of each line, from the edge that tiles slide to
    tuple(slice(i, None, 4) for i in range(4)),
    tuple(slice(4 * i + 3, 4 * i - 1 if i else None, -1) for i in range(4)),
    tuple(slice(12 + i, None, -4) for i in range(4)),
    tuple(slice(4 * i, 4 * i + 4) for i in range(4)),
)
FIBONACCI = [0, 1, 2]
while len(FIBONACCI) < 32:
    FIBONACCI.append(FIBONACCI[-1] + FIBONACCI[-2])
FACES = {"2048": (0, *(1 << i for i in range(1, 16))), "2584": tuple(FIBONACCI)}  # face value of each index
DROPPED = (1, 2, 3)  # indices that some variant drops
RARE_SHARES = {2: ("90/10", 10.0), 3: ("75/25", 25.0)}  # by the rarer index: the variant's odds, its share in percent
SMALLEST_RECORD = 24  # bytes


class IllegalAction(ValueError):
    """An action that the rules do not allow."""


class BadRecord(ValueError):
    """A record file that no game can have written; says which record, and which action."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished game: points, slides made, index of the largest tile, when it was played, and its opcodes if known."""

    points: int
    moves: int
    largest: int
    start_ms: int = 0
    end_ms: int = 0
    actions: Sequence[int] = ()


@cache
def slide_line(game: str, line: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """A line slid to its front, and the points gained: neighbours merge in pairs from the front, each tile once."""
    moved: list[int] = []
    points, held = 0, 0  # held: the last tile, if it may still merge
    for index in filter(None, line):
        if game == "2584":
            merged = max(held, index) + 1 if abs(held - index) == 1 or held == index == 1 else 0
        else:
            merged = index + 1 if held == index else 0
        if held and 0 < merged < len(FACES[game]):
            points += FACES[game][merged]
            moved[-1], held = merged, 0
        else:
            moved.append(index)
            held = index
    return (*moved, *[0] * (len(line) - len(moved))), points


class Replay:
    """A game followed by its opcodes, from the empty board."""

    def __init__(self, game: str = "2584") -> None:
        self.game = game
        self.cells = [0] * SIZE
        self.actions: list[int] = []
        self.points = 0

    @property
    def drops_next(self) -> bool:
        """Whether a drop comes next: the first two actions are drops, then every other one."""
        return not self.actions or len(self.actions) % 2 == 1

    @property
    def text(self) -> str:
        """The position as the daemon reads it."""
        return " ".join(["a" if self.drops_next else "b", *map(str, self.cells)])

    def empty(self) -> list[int]:
        """The empty cells."""
        return [cell for cell, index in enumerate(self.cells) if index == 0]

    def play(self, action: int) -> None:
        """Make a drop or a slide."""
        if 0 <= action < len(SLIDES) and not self.drops_next:
            self._slide(action)
        elif action >> 4 in DROPPED and self.drops_next:
            if self.cells[action & 15]:
                raise IllegalAction(f"a drop on cell {action & 15}, which is not empty")
            self.cells[action & 15] = action >> 4
        else:
            raise IllegalAction(f"opcode {action}; expected {'a drop' if self.drops_next else 'a slide 0 to 3'}")
        self.actions.append(action)

    def _slide(self, action: int) -> None:
        cells, before = self.cells, self.cells.copy()
        for line in LINES[action]:
            cells[line], gained = slide_line(self.game, tuple(cells[line]))
            self.points += gained
        if cells == before:
            raise IllegalAction(f"a slide {SLIDES[action]}, which changes nothing")

    def slides(self) -> list[int]:
        """The slides that change something."""
        cells, game = self.cells, self.game
        lines = [[tuple(cells[line]) for line in LINES[action]] for action in range(len(SLIDES))]
        return [action for action, held in enumerate(lines) if any(slide_line(game, row)[0] != row for row in held)]

    def is_over(self) -> bool:
        """Whether the player is to move, and cannot."""
        return not self.drops_next and not self.slides()

    def finished(self, start_ms: int, end_ms: int) -> Finished:
        """The game so far, as its record."""
        moves = max(0, len(self.actions) - 1) // 2
        return Finished(self.points, moves, max(self.cells), start_ms, end_ms, self.actions)


class RecordWriter:
    """A record file being written; use it in a `with`, at whose end the number of records is put in."""

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
            self._file.truncate(self._end)  # an interrupt may have come between
            self._file.seek(0)
            self._file.write(struct.pack("<Q", self._count))

    def add(self, game: Finished) -> None:
        """Write one game."""
        data = _packed(game)
        self._file.write(data)
        self._count, self._end = self._count + 1, self._end + len(data)


def pack_records(games: Sequence[Finished]) -> bytes:
    """A whole record file."""
    return struct.pack("<Q", len(games)) + b"".join(map(_packed, games))


def _packed(game: Finished) -> bytes:
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


class Judge:
    """Replays records and counts what the course's judges look at."""

    def __init__(self) -> None:
        self.records = 0
        self.unfinished: list[int] = []  # numbers of the records that could go on
        self._tiles: Counter[int] = Counter()
        self._cells = [0] * SIZE
        self._choices: Counter[tuple[bool, ...]] = Counter()  # which cells were empty, at how many drops

    def replay(self, actions: Sequence[int], start_ms: int = 0, end_ms: int = 0) -> Finished:
        """The game that a record holds; BadRecord if the rules do not allow it."""
        self.records += 1
        game = Replay()
        for at, action in enumerate(actions, 1):
            try:
                if game.drops_next:
                    choice = tuple(map(not_, game.cells))
                    game.play(action)
                    self._count(action, choice)
                else:
                    game.play(action)
            except IllegalAction as error:
                raise BadRecord(f"record {self.records}, action {at}: {error}") from None
        if not game.is_over():
            self.unfinished.append(self.records)
        return game.finished(start_ms, end_ms)

    def _count(self, drop: int, choice: tuple[bool, ...]) -> None:
        index, cell = drop >> 4, drop & 15
        self._tiles[index] += 1
        self._cells[cell] += 1
        self._choices[choice] += 1
        if index > 1 and 5 - index in self._tiles:  # 2 and 3 are the rarer tiles of different variants
            raise IllegalAction(f"drops a {index}-tile, but {5 - index}-tiles were dropped before")

    def summary(self) -> str:
        """What the judges look at, a line each."""
        drops, ends = sum(self._tiles.values()), len(self.unfinished)
        lines = [f"moves   all legal; {self.records} games, {drops} drops"]
        if drops:
            shares = {index: 100 * count / drops for index, count in sorted(self._tiles.items())}
            rare = 100 - shares.get(1, 0.0)
            away = [f"{abs(rare - share):.2f} points from {name}" for name, share in RARE_SHARES.values()]
            tiles = ", ".join(f"{share:.2f}% {index}-tiles" for index, share in shares.items())
            lines.append(f"tiles   {tiles}: {', '.join(away)}; judges allow about 0.5")
            chi_square, degrees = unevenness(self._cells, self._choices)
            lines.append(
                f"cells   chi-square {chi_square:.1f} at {degrees} degrees of freedom; chance alone stays below "
                f"{rarely_above(degrees):.1f} in 999 of 1000 files"
            )
        could = f"{ends} of {self.records} games could go on, the first is record {self.unfinished[0]}" if ends else ""
        return "\n".join([*lines, f"ends    {could or 'all terminal'}"])


def unevenness(hits: Sequence[int], choices: Counter[tuple[bool, ...]]) -> tuple[float, int]:
    """Chi-square of the hits on each cell, against a fair choice among the empty ones, and its degrees of freedom.

    Which cells are empty differs from drop to drop, so hits are no multinomial: the figure is d' V^-1 d, with d the
    hits beyond expectation and V their covariance, summed over drops.
    """
    surplus = [float(hit) for hit in hits]
    covariance = [[0.0] * SIZE for _ in range(SIZE)]
    for choice, drops in choices.items():
        empty = [cell for cell, is_empty in enumerate(choice) if is_empty]
        share = drops / len(empty)
        for i in empty:
            surplus[i] -= share
            covariance[i][i] += share
            for j in empty:
                covariance[i][j] -= share / len(empty)
    chi_square, degrees = 0.0, 0
    for k, row in enumerate(covariance):  # elimination; cells that follow from the others leave no pivot
        if row[k] > 1e-9 * sum(hits):
            chi_square += surplus[k] ** 2 / row[k]
            degrees += 1
            for i in range(k + 1, SIZE):
                factor = covariance[i][k] / row[k]
                surplus[i] -= factor * surplus[k]
                covariance[i] = [a - factor * b for a, b in zip(covariance[i], row, strict=True)]
    return chi_square, degrees


def rarely_above(degrees: int) -> float:
    """What a chi-square exceeds once in a thousand times (Wilson and Hilferty)."""
    spread = 2 / (9 * max(degrees, 1))
    return float(degrees * (1 - spread + 3.0902 * spread**0.5) ** 3)

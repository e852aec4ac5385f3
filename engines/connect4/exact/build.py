"""The command `plyd book connect4`: makes an opening book by solving every position after a number of plies."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact.book import Book, shipped_book
from plyd.engines.connect4.exact.levels import KEY, UNKNOWN, is_open, levels_of, values_from
from plyd.engines.connect4.exact.table import Table
from plyd.engines.connect4.exact.valuation import Valuation
from plyd.engines.connect4.exact.words import COLUMN_BITS, MINE, NO_STONE, YOURS, board_words, fits
from plyd.engines.connect4.rules import FORBIDDEN, RULES
from plyd.engines.core.errors import EngineError
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.training_run import LogLine, TrainingRun, readable_errors
from plyd.models.files import read_file, write_file

BLOCK_SECONDS = 60  # between lines of the log
SLICE_NODES = 4_000_000  # between looks at the stop event
LOWEST_PRIORITY = 19


class BookBuilder:
    """Solves the positions of one ply with one table, and derives those of earlier plies; see `Trainer`."""

    unit = "positions"

    def __init__(self, board: str, plies: int, megabytes: int = 512) -> None:
        position = RULES.parse(board)
        if not fits(position) or position.count("x"):
            raise EngineError(f"cannot make a book of {board!r}; allowed are empty boards up to 8x6, such as 7x6")
        self.board, self.plies, self._megabytes = RULES.text(position), plies, megabytes
        self._root, self._width = board_words(position), len(position.rows[0])
        self._lopsided = position.count(FORBIDDEN) > 0
        self._levels = levels_of(self._root, self._width, plies)
        deepest = self._levels[-1]
        self._todo = self._in_order(deepest[is_open(deepest)])
        shipped = shipped_book(self.board)
        self._solved = dict(zip(shipped.keys.tolist(), shipped.values.tolist(), strict=True)) if shipped else {}
        self.nodes, self.seconds = 0, 0.0

    @property
    def count(self) -> int:
        """Positions solved so far."""
        return len(self._solved)

    @property
    def is_complete(self) -> bool:
        """Whether every position of the ply is solved."""
        return all(int(key) in self._solved for key in self._todo[:, KEY])

    def train(self, stop: threading.Event, max_count: int | None) -> Iterator[LogLine | None]:
        """Solves positions, at most until there are `max_count`; yields after each, and a line for the log a minute."""
        table, began, line_due = Table(self._megabytes << 20), time.monotonic(), BLOCK_SECONDS
        so_far, search, known = self.seconds, Stop(), self.book()
        table.grow_fully()
        for words in self._todo:
            if int(words[KEY]) in self._solved:
                continue
            if stop.is_set() or (max_count is not None and self.count >= max_count):
                break
            board = np.array([*words[:KEY], *self._root[NO_STONE:]], np.uint64)
            valuation = Valuation(board, table, known)
            while not valuation.is_finished and not stop.is_set():
                valuation.work(NEVER, SLICE_NODES, search)
            if valuation.value is None:
                break
            self._solved[int(words[KEY])] = valuation.value
            self.nodes += valuation.nodes
            self.seconds = so_far + time.monotonic() - began
            if is_due := time.monotonic() - began > line_due:
                line_due += BLOCK_SECONDS
            yield self._line() if is_due else None
        yield self._line()

    def book(self) -> Book:
        """Everything known: the solved positions, and those of earlier plies that follow from them."""
        found = dict(self._solved)
        for level in reversed(self._levels[:-1]):
            some = level[is_open(level)]
            keys, values = _sorted(found)
            derived = values_from(some, self._width, self._lopsided, keys, values)
            found |= {int(k): int(v) for k, v in zip(some[:, KEY], derived, strict=True) if v != UNKNOWN}
        return Book(self.board, *_sorted(found))

    def save(self, path: Path) -> None:
        """Writes a checkpoint."""
        keys, values = _sorted(self._solved)
        header = {"board": self.board, "nodes": self.nodes, "seconds": self.seconds}
        write_file(path, header, {"keys": keys, "values": values})

    def load(self, path: Path) -> None:
        """Loads a checkpoint, which may have positions of another ply too."""
        header, arrays, _ = read_file(path)
        if header.get("board") != self.board:
            raise EngineError(
                f"{path} is of the board {header.get('board')!r}, not {self.board!r}; choose another --out"
            )
        self._solved |= dict(zip(arrays["keys"].tolist(), arrays["values"].tolist(), strict=True))
        self.nodes, self.seconds = header["nodes"], header["seconds"]

    def plan_facts(self) -> dict[str, Any]:
        """The settings of this command."""
        return {"plies": self.plies, "memory": self._megabytes}

    def facts(self) -> dict[str, Any]:
        """How far the book is."""
        return {"board": self.board, "positions": self.count, "nodes": self.nodes, "seconds": round(self.seconds)}

    def describe(self) -> str:
        """What is built."""
        return f"{self.board}, {len(self._todo)} positions of ply {self.plies}"

    def status(self) -> str:
        """How far it is."""
        done = sum(int(key) in self._solved for key in self._todo[:, KEY])
        return f"{done:,} of {len(self._todo):,} positions of ply {self.plies}, {self.nodes / 1e9:.2f} G nodes"

    def text_of(self, line: LogLine) -> str:
        """A line of the log as text."""
        return f"{line['positions']} positions, {line['nodes'] / 1e9:.2f} G nodes, {line['seconds'] / 60:.1f} min"

    def draw(self, figure: Any, lines: list[LogLine]) -> None:
        """Draws the positions solved over time."""
        figure.subplots().plot([line["seconds"] for line in lines], [line["positions"] for line in lines])

    def _line(self) -> LogLine:
        return {"positions": self.count, "nodes": self.nodes, "seconds": round(self.seconds, 1)}

    def _in_order(self, level: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """First the positions after the first player's best move in the centre, then by key: neighbours share much."""
        first = level[:, MINE if self.plies % 2 == 0 else YOURS]
        is_main = first >> np.uint64(COLUMN_BITS * (self._width // 2)) & np.uint64(1)
        return level[np.lexsort((level[:, KEY], 1 - is_main))]


def _sorted(values: dict[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
    keys = sorted(values)
    return np.array(keys, np.uint64), np.array([values[key] for key in keys], np.int8)


@click.command(short_help="Make an opening book of Connect Four.")
@click.option(
    "--board",
    default="7x6",
    show_default=True,
    help="Empty board, at most 8x6; perhaps with a forbidden cell: '7x6 #4,1'.",
)
@click.option(
    "--plies",
    type=click.IntRange(0, 12),
    default=8,
    show_default=True,
    help="Solve every position after this many plies.",
)
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), help="Stop after this many minutes.  [default: no limit]"
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run.  [default: runs/book-BOARD]")
@click.option(
    "--save-every", type=click.FloatRange(0), default=5, show_default=True, help="Minutes between checkpoints."
)
@click.option(
    "--memory", type=click.IntRange(1, 65536), default=512, show_default=True, help="Megabytes of the solver's table."
)
def connect4(board: str, plies: int, minutes: float | None, out: Path | None, save_every: float, memory: int) -> None:
    """Make an opening book: the exact value of every position up to a number of plies.

    The positions of the last ply are solved one by one; those of earlier plies follow from them. Ctrl-C saves and
    stops, and the same command resumes. A book may be unfinished: the engine solves what it does not list. The folder
    gets connect4-BOARD.book; copy it to models/weights/ of the package to use it. The process runs at low priority.

    \b
    plyd book connect4 --plies 4                  a small book first: 20 minutes or so
    plyd book connect4                            then all positions of ply 8, in the same folder: hours
    plyd book connect4 --board 6x5 --plies 6      a book of another board
    """
    folder = out or Path("runs") / f"book-{board.replace(' ', '')}"
    lower_priority()
    with readable_errors(folder):
        builder = BookBuilder(board, plies, memory)
        with TrainingRun(folder, builder) as run:
            run.resume()
            try:
                run.train(None, minutes, save_every)
            finally:
                book, path = builder.book(), folder / f"connect4-{builder.board.replace(' ', '')}.book"
                book.save(path)
                state = "complete" if builder.is_complete else "unfinished"
                print(f"{path}: {len(book)} positions, {path.stat().st_size:,} bytes, {state}", file=sys.stderr)


def lower_priority() -> None:
    """Give way to every other process of the machine."""
    import os

    if hasattr(os, "nice"):
        os.nice(LOWEST_PRIORITY - os.nice(0))

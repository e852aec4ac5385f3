"""Speed of the 2x3 engine without a daemon."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.figures import Figure
from plyd.engines.tiles_2584_2x3.evaluate import Solution, solve
from plyd.engines.tiles_2584_2x3.tables import BASE

GAME = "2584-2x3"
SEARCH_OPTIONS = {"method": "expectimax"}  # the exact method only looks values up
RUNS = 7


def figures() -> Iterator[Figure]:
    """Time to solve the game, and answers per second."""
    solution = solve()
    yield Figure(GAME, "solve all states", min(_seconds(solve) for _ in range(RUNS)), "s", at_most=0.12)
    batch = queries(solution, 100_000)
    solution.answers(batch, as_text=True, with_moves=False)
    seconds = min(_seconds(lambda: solution.answers(batch, as_text=True, with_moves=False)) for _ in range(RUNS))
    yield Figure(GAME, "answers in bulk, engine alone", 100_000 / seconds / 1e6, "M/s")


def queries(solution: Solution, count: int) -> bytes:
    """Lines for `count` reachable states, drawn uniformly from all before-states and after-states."""
    boards = np.ascontiguousarray(np.indices((BASE,) * 6, np.uint8).reshape(6, -1).T)
    states = []
    for letter in "ba":
        values, _ = solution.look_up(np.full(len(boards), ord(letter), np.uint8), boards, with_moves=False)
        states += [(letter, board) for board in np.flatnonzero(~np.isnan(values))]
    drawn = np.random.default_rng(2584).integers(len(states), size=count)
    return b"".join(_line(letter, boards[board]) for letter, board in map(states.__getitem__, drawn))


def write_queries(path: Path, count: int) -> None:
    """Writes such lines to a file."""
    path.write_bytes(queries(solve(), count))


def _line(letter: str, cells: NDArray[np.uint8]) -> bytes:
    return f"{letter} {' '.join(map(str, cells.tolist()))}\n".encode()


def _seconds(job: Callable[[], object]) -> float:
    began = time.perf_counter()
    job()
    return time.perf_counter() - began

"""Speed of the 2x3 engine by itself, without a daemon."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plyd.engines.core.figures import Figure
from plyd.engines.fibonacci_2x3 import kernel
from plyd.engines.fibonacci_2x3.evaluate import Solution, solve
from plyd.engines.fibonacci_2x3.tables import BASE, BOARDS, ROWS

GAME = "2584-2x3"
SEARCH_OPTIONS = {"method": "expectimax"}  # the searcher whose speed is worth measuring
RUNS = 7


def figures() -> Iterator[Figure]:
    """Time to solve the game, and answers a second."""
    solution = solve()  # compiles
    yield Figure(GAME, "solve all states", min(_seconds(solve) for _ in range(RUNS)), "s", at_most=0.12)
    batch = queries(solution, 100_000)
    solution.answers(batch, as_text=True, with_moves=False)
    seconds = min(_seconds(lambda: solution.answers(batch, as_text=True, with_moves=False)) for _ in range(RUNS))
    yield Figure(GAME, "answers in bulk, engine alone", 100_000 / seconds / 1e6, "M/s")


def queries(solution: Solution, count: int) -> bytes:
    """Lines for `count` states that can occur, drawn at random from all there are, before and after alike."""
    codes = np.arange(BOARDS)
    mirrored = solution.slides.mirror
    top, bottom = codes // ROWS, codes % ROWS
    images = (
        codes,
        bottom * ROWS + top,
        mirrored[top] * ROWS + mirrored[bottom],
        mirrored[bottom] * ROWS + mirrored[top],
    )
    seen = solution.seen[np.minimum.reduce(images)]
    states = [
        (letter, code) for letter, bit in (("b", kernel.BEFORE), ("a", kernel.AFTER)) for code in codes[seen & bit > 0]
    ]
    drawn = np.random.default_rng(2584).integers(len(states), size=count)
    return b"".join(_line(*states[i]) for i in drawn)


def write_queries(path: Path, count: int) -> None:
    """The same into a file."""
    path.write_bytes(queries(solve(), count))


def _line(letter: str, code: int) -> bytes:
    digits = []
    for _ in range(6):
        code, digit = divmod(int(code), BASE)
        digits.append(str(digit))
    return f"{letter} {' '.join(reversed(digits))}\n".encode()


def _seconds(job: object) -> float:
    assert callable(job)
    began = time.perf_counter()
    job()
    return time.perf_counter() - began

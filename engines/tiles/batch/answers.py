"""Batches of tile positions as text, answered by a function that looks up many positions at once."""

from collections.abc import Callable
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.engine import MOST_EXPLAINED, Answers, BadLine
from plyd.engines.core.errors import BadPosition
from plyd.engines.tiles.batch.lines import LONGEST_ANSWER, read_lines, write_answers
from plyd.engines.tiles.rulebook import SLIDES, TileRules

SLIDE_WORDS = np.array([list(word.ljust(5, "\0").encode()) for word in SLIDES], np.uint8)
LookUp = Callable[[NDArray[np.uint8], NDArray[np.uint8]], tuple[NDArray[np.float64], NDArray[np.int64]]]


def answer_lines(lines: bytes, rules: TileRules, look_up: LookUp, *, as_text: bool, with_moves: bool) -> Answers:
    """Values of a batch of `b` and `a` lines.

    `look_up` takes the letter of each position (0 if it is malformed) and its cells; it returns the value of each (NaN:
    none) and its best slide, or -1.
    """
    data = np.frombuffer(lines, np.uint8)
    most = data.size // 2 + 1  # a line has at least one byte and a newline, which the last line may lack
    letters, spans = np.empty(most, np.uint8), np.empty((most, 3), np.int64)
    cells = np.empty((most, rules.rows * rules.columns), np.uint8)
    count = read_lines(data, rules.max_index, letters, cells, spans)
    values, moves = look_up(letters[:count], cells)
    bad = np.flatnonzero(letters[:count] == 0)
    messages = chain((_fault(lines[spans[i, 1] : spans[i, 2]], rules) for i in bad[:MOST_EXPLAINED]), repeat(""))
    errors = tuple(map(BadLine, spans[bad, 0].tolist(), bad.tolist(), messages))
    if as_text:
        out = np.empty(count * LONGEST_ANSWER, np.uint8)
        written = write_answers(values, moves, SLIDE_WORDS, out)
        return Answers(text=out[:written].tobytes(), errors=errors)
    words = tuple(SLIDES[m] if m >= 0 else "" for m in moves) if with_moves else ()
    return Answers(values=values, moves=words, errors=errors)


def _fault(line: bytes, rules: TileRules) -> str:
    """The rulebook's error message for a malformed line."""
    text = line.decode("utf-8", "backslashreplace")
    try:
        rules.parse(text)
    except BadPosition as error:
        return str(error)
    raise AssertionError(f"the kernel cannot read a line that the rulebook can: {text!r}")

"""Exact values of 2x3 positions, from the solved game."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.engine import Answers
from plyd.engines.tiles.batch.answers import answer_lines
from plyd.engines.tiles.batch.lines import LETTER_A, LETTER_B
from plyd.engines.tiles.rulebook import Position
from plyd.engines.tiles_2584_2x3 import kernel
from plyd.engines.tiles_2584_2x3.rules import RULES
from plyd.engines.tiles_2584_2x3.tables import BASE, BOARDS, Slides, slides

STATES = 1 << 18  # an upper bound of the canonical states of either kind


@dataclass(frozen=True, slots=True)
class Solution:
    """The solved game. Value tables are indexed by canonical code and are valid only where `seen` is set."""

    slides: Slides
    seen: NDArray[np.uint8]
    before_value: NDArray[np.float64]
    after_value: NDArray[np.float64]
    openings: dict[Position, float] = field(default_factory=dict, init=False)
    """Values of the opening boards, empty or with a single 1, on which the environment moves again."""

    def __post_init__(self) -> None:
        """Compute the values of the opening boards: the mean over their drops, boards with a tile first."""
        empty = RULES.start()
        for board in (*(RULES.play(empty, f"1@{cell}").position for cell in range(6)), empty):
            drops = RULES.legal_moves(board)
            values = self.values([RULES.play(board, drop.text).position for drop in drops])
            self.openings[board] = sum((d.probability or 0.0) * (v or 0.0) for d, v in zip(drops, values, strict=True))

    def values(self, positions: Sequence[Position]) -> list[float | None]:
        """Exact expected points of each position, None for those that cannot occur."""
        letters = np.array([LETTER_B if position.before else LETTER_A for position in positions], np.uint8)
        cells = np.array([position.cells for position in positions], np.uint8)
        values, _ = self.look_up(letters, cells, with_moves=False)
        return [
            self.openings.get(position) if np.isnan(value) else float(value)
            for position, value in zip(positions, values, strict=True)
        ]

    def slide_values(self, position: Position) -> list[float] | None:
        """Exact value of each slide of a before-state, by opcode, NaN if not legal; None if the state cannot occur."""
        values = np.empty(4)
        if max(position.cells) >= BASE:
            return None
        code = self.code(position)
        is_reachable = kernel.slide_values(code, self.slides, self.seen, self.after_value, values)
        return values.tolist() if is_reachable else None

    def code(self, position: Position) -> int:
        """The code of a board; see kernel.py."""
        code = 0
        for index in position.cells:
            code = code * BASE + index
        return code

    def answers(self, lines: bytes, *, as_text: bool, with_moves: bool) -> Answers:
        """Values of a batch of `b` and `a` lines."""

        def look_up(
            letters: NDArray[np.uint8], cells: NDArray[np.uint8]
        ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
            return self.look_up(letters, cells, with_moves=with_moves)

        return answer_lines(lines, RULES, look_up, as_text=as_text, with_moves=with_moves)

    def look_up(
        self, letters: NDArray[np.uint8], cells: NDArray[np.uint8], *, with_moves: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Value of each state, NaN if it cannot occur, and its best slide, or -1."""
        values, moves = np.empty(letters.size), np.empty(letters.size, np.int64)
        tables = (self.slides, self.seen, self.before_value, self.after_value)
        kernel.look_up(letters, cells, with_moves, *tables, values, moves)
        return values, moves


def solve() -> Solution:
    """Solves the whole game."""
    table = slides()
    seen = np.zeros(BOARDS, np.uint8)
    befores, afters = np.empty((2, STATES), np.int32)
    before_ends, after_ends = np.zeros((2, kernel.MAX_SUM), np.int64)
    largest_sum = kernel.explore(table, seen, befores, before_ends, afters, after_ends)
    assert largest_sum > 0, "a bucket of the solver is too small"
    before_value, after_value = np.empty(BOARDS), np.empty(BOARDS)
    kernel.value_all(table, largest_sum, befores, before_ends, afters, after_ends, before_value, after_value)
    return Solution(table, seen, before_value, after_value)

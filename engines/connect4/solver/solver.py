"""The solver of one position: runs alpha-beta with a sequence of bounds until it knows who wins, and when."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.rules import EMPTY, Position
from plyd.engines.connect4.solver import alpha_beta
from plyd.engines.connect4.solver.alpha_beta import TOP, SolverTable
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Proven, Result

PATIENCE_NODES = 5_000_000  # maximum spent on a result's distance, once the result is known


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is proven so far: the result, its distance once known, and a move (a column) that achieves it."""

    proven: Proven
    column: int | None


class Solver:
    """Finds first who wins, then how soon: whether a win takes 1 ply, 3, 5, ..., or a loss more than 2, 4, 6, ...

    The work can be done in slices.
    """

    def __init__(
        self, position: Position, board: NDArray[np.uint16], lines: NDArray[np.float32], table: SolverTable
    ) -> None:
        self._board, self._lines, self._table = board, lines, table
        self._stones = position.count("x") + position.count("o")
        self._left = position.count(EMPTY)
        self._stack = alpha_beta.stack_for()
        self._result: Result | None = None
        self._plies, self._most = 0, self._left  # lower and upper bound of the distance
        self._column: int | None = None
        self._is_exact = False
        self._last_node = 0  # gives up on the distance at this node count
        self._ask(0)

    @property
    def verdict(self) -> Verdict | None:
        """What is proven so far; None if nothing is."""
        if self._result is None:
            return None
        return Verdict(Proven(self._result, self._plies if self._is_exact else None), self._column)

    @property
    def is_finished(self) -> bool:
        """Whether the result and distance are known, or the distance is given up."""
        return self._is_exact or (self._result is not None and self._stack.at[3] >= self._last_node)

    @property
    def nodes(self) -> int:
        """Positions searched so far."""
        return int(self._stack.at[3])

    def hear(self, result: Result, most_plies: int) -> None:
        """Accept a result proven elsewhere, with an upper bound of its distance; the exact distance is still open."""
        self._most = min(self._most, most_plies)
        if self._result is None:
            self._conclude(result)
            self._go_on()

    def work(self, deadline_ns: int, nodes: int, stop: Stop) -> None:
        """Continue within the limits, through as many questions as can be answered."""
        end = self._stack.at[3] + nodes
        while not self.is_finished and (left := int(end - self._stack.at[3])) > 0:
            place = (self._stack, self._table, self._board, self._stones, self._lines)
            limits: Any = (np.int64(deadline_ns), np.int64(left), stop.flag)
            if not alpha_beta.work(*place, *limits):
                return
            self._learn(bool(self._stack.at[2] > self._question))

    def _ask(self, question: int) -> None:
        """Start the question: is the position's value greater than this?"""
        self._question = question
        alpha_beta.ask(self._stack, self._board, question)

    def _learn(self, yes: bool) -> None:
        """Process an answer, and ask the next question."""
        if yes and self._stack.best[0] >= 0:  # -1: decided without a move, such as by `glance`
            self._column = int(self._stack.best[0])
        if self._result is None:
            if self._question == 0 and not yes:
                self._ask(-1)
                return
            self._conclude(Result.LOSS if not yes else Result.WIN if self._question == 0 else Result.DRAW)
        elif yes == (self._result is Result.WIN):
            self._is_exact = True
        else:
            self._plies += 2
        self._go_on()

    def _conclude(self, result: Result) -> None:
        self._result, self._last_node = result, int(self._stack.at[3]) + PATIENCE_NODES
        self._plies = {Result.WIN: 1, Result.DRAW: self._left, Result.LOSS: 2}[result]

    def _go_on(self) -> None:
        """Ask for the distance, unless only one is left."""
        self._is_exact = self._is_exact or self._plies + 2 > self._most
        if not self._is_exact:
            end = TOP - self._stones - self._plies  # value of a win in this many plies
            self._ask(end - 1 if self._result is Result.WIN else -end)

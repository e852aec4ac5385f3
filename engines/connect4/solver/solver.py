"""The solver of one position: asks alpha-beta one question after another until it knows who wins, and when."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.rules import EMPTY, Position
from plyd.engines.connect4.solver import alpha_beta
from plyd.engines.connect4.solver.alpha_beta import TOP, SolverTable
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Proven, Result

PATIENCE_NODES = 5_000_000  # spent on the distance of a result, once that is known


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is certain so far: the result, with its distance once that is known, and a move (a column) that gets it."""

    proven: Proven
    column: int | None


class Solver:
    """Learns first who wins, then how soon: whether a win takes 1 ply, 3, 5, ..., or a loss more than 2, 4, 6, ...

    Its work can be done bit by bit.
    """

    def __init__(
        self, position: Position, board: NDArray[np.uint16], lines: NDArray[np.float32], table: SolverTable
    ) -> None:
        self._board, self._lines, self._table = board, lines, table
        self._stones = position.count("x") + position.count("o")
        self._left = position.count(EMPTY)
        self._stack = alpha_beta.stack_for()
        self._result: Result | None = None
        self._plies, self._most = 0, self._left  # it takes no fewer, and no more
        self._column: int | None = None
        self._is_exact = False
        self._last_node = 0  # where patience ends
        self._ask(0)

    @property
    def verdict(self) -> Verdict | None:
        """What is certain by now, None if nothing is."""
        if self._result is None:
            return None
        return Verdict(Proven(self._result, self._plies if self._is_exact else None), self._column)

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to ask, or nothing that is worth the wait."""
        return self._is_exact or (self._result is not None and self._stack.at[3] >= self._last_node)

    @property
    def nodes(self) -> int:
        """Positions looked at so far."""
        return int(self._stack.at[3])

    def hear(self, result: Result, most_plies: int) -> None:
        """Take a result on trust, and that it takes no more than so many plies: it remains to find out how many."""
        self._most = min(self._most, most_plies)
        if self._result is None:
            self._conclude(result)
            self._go_on()

    def work(self, deadline_ns: int, nodes: int, stop: Stop) -> None:
        """Go on for a while, through as many questions as can be answered."""
        end = self._stack.at[3] + nodes
        while not self.is_finished and (left := int(end - self._stack.at[3])) > 0:
            place = (self._stack, self._table, self._board, self._stones, self._lines)
            limits: Any = (np.int64(deadline_ns), np.int64(left), stop.flag)
            if not alpha_beta.work(*place, *limits):
                return
            self._learn(bool(self._stack.at[2] > self._question))

    def _ask(self, question: int) -> None:
        """Is the position worth more than this?"""
        self._question = question
        alpha_beta.ask(self._stack, self._board, question)

    def _learn(self, yes: bool) -> None:
        """Take an answer in, and ask what comes next."""
        if yes and self._stack.best[0] >= 0:  # -1 if no one move was needed to see it
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
        """Ask for the distance, unless there is only one left that it can be."""
        self._is_exact = self._is_exact or self._plies + 2 > self._most
        if not self._is_exact:
            end = TOP - self._stones - self._plies  # the value of a win after so many plies
            self._ask(end - 1 if self._result is Result.WIN else -end)

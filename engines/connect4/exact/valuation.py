"""The exact value of one position: first who wins, then when, one null window after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.exact import kernel
from plyd.engines.connect4.exact.book import Book
from plyd.engines.connect4.exact.table import Table
from plyd.engines.connect4.exact.words import (
    CELLS,
    COLUMN,
    COLUMN_BITS,
    MINE,
    NO_STONE,
    TAKEN,
    YOURS,
    playable,
    safe_moves,
    winning_cells,
)
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Proven, Result

Words = NDArray[np.uint64]


class Valuation:
    """Finds a position's value (see kernel.py), and a best move if `with_move`. The work can be done in slices."""

    def __init__(self, board: Words, table: Table, book: Book | None = None, *, with_move: bool = False) -> None:
        self.board, self._table, self._with_move = board, table, with_move
        self._left = int(CELLS & ~board[TAKEN]).bit_count()
        self._low, self._high = 3 - self._left, self._left - 2  # a loss in four plies, a win in three
        self._stack: kernel.Stack | None = None
        self._alpha = 0
        self.value: int | None = None
        self.column: int | None = None
        self._listed = book.listed if book else kernel.NOTHING_LISTED
        cells, yours = playable(board[TAKEN]), winning_cells(board[YOURS]) & CELLS & ~board[TAKEN]
        wins = int(cells & winning_cells(board[MINE]))
        if wins:
            self.value, self.column = self._left, (wins.bit_length() - 1) // COLUMN_BITS
        elif self._left and not safe_moves(cells, yours, board[NO_STONE]):
            self.value, self.column = 1 - self._left, self._any_column()
        elif self._left <= 2:
            self.value, self.column = 0, self._any_column()
        elif book and (known := book.value_of(board)) is not None:
            self.value = known
            self._low, self._high = known - 1, known  # a best move is one that exceeds known - 1

    @property
    def is_finished(self) -> bool:
        """Whether the value is known, and the move if it is wanted."""
        return self.value is not None and (self.column is not None or not self._with_move)

    @property
    def proven(self) -> Proven | None:
        """The result, and its distance once known; None if it is open who wins."""
        low, high = (self._low, self._high) if self.value is None else (self.value, self.value)
        if low <= 0 <= high and low != high:
            return None
        result = Result.WIN if low > 0 else Result.LOSS if high < 0 else Result.DRAW
        plies = self._left + 1 - abs(low) if low else self._left
        return Proven(result, plies if self.value is not None else None)

    @property
    def nodes(self) -> int:
        """Positions searched so far."""
        return int(self._stack.at[3]) if self._stack else 0

    def has(self, *, distance: bool) -> bool:
        """Whether the result is known, and with `distance` all that is wanted."""
        return self.is_finished or (not distance and self.proven is not None)

    def work(self, deadline_ns: int, nodes: int, stop: Stop, *, distance: bool = True, is_alone: bool = True) -> None:
        """Continue within the limits, through as many questions as can be answered; without `distance` until the
        result is known. The table may grow, unless other threads use it (not `is_alone`).
        """
        if self._stack is None:
            self._stack = kernel.stack_for(self.board)
            self._ask()
        end = self.nodes + nodes
        while not self.has(distance=distance) and self.nodes < end:
            room = self._table.nodes_to_growth(self.nodes) if is_alone else None
            if room == 0:
                self._table.grow()
                continue
            most = min(end - self.nodes, room or end)
            place: Any = (self._stack, self._table.entries, np.int64(self._table.bits), self.board, self._listed)
            limits: Any = (np.int64(self._alpha), np.int64(deadline_ns), np.int64(most), stop.flag)
            before = self.nodes
            if kernel.search_slice(*place, *limits):
                self._learn(int(self._stack.at[2]), int(self._stack.at[4]))
            elif self.nodes < before + most:
                return

    def _learn(self, value: int, column: int) -> None:
        """Take over an answer, and ask the next question."""
        if value > self._alpha:
            self._low, self.column = value, self._any_column() if column < 0 else column
        else:
            self._high = value
        self._even_out()
        if self._low == self._high:
            self.value = self._low
            self.column = self._any_column() if self.column is None else self.column
        else:
            self._ask()

    def _any_column(self) -> int | None:
        """A column after which the opponent does not win at once, if there is one; None on a full board."""
        cells, yours = playable(self.board[TAKEN]), winning_cells(self.board[YOURS]) & ~self.board[TAKEN]
        found = int(safe_moves(cells, yours, self.board[NO_STONE]) or cells)
        return (found.bit_length() - 1) // COLUMN_BITS if found else None

    def _even_out(self) -> None:
        """Round the bounds to values that can occur: a win ends with the mover's stone, a loss with the opponent's."""
        if self._low > 0:
            self._low += (self._left - self._low) % 2
        elif self._low < 0:
            self._low += (self._left - 1 - self._low) % 2
        if self._high > 0:
            self._high -= (self._left - self._high) % 2
        elif self._high < 0:
            self._high -= (self._left - 1 - self._high) % 2

    def _ask(self) -> None:
        """Start the next question: is it a win, is it a draw, then the distances closest to the last stone first."""
        assert self._stack is not None
        if self._low <= 0 < self._high:
            self._alpha = 0
        elif self._low < 0 <= self._high:
            self._alpha = -1
        else:
            self._alpha = self._low if self._low > 0 else self._high - 1
        kernel.ask(self._stack, self.board)


def after(board: Words, column: int) -> Words:
    """The board after a stone in a column, which must have room."""
    move = playable(board[TAKEN]) & COLUMN[column]
    grown = board.copy()
    grown[MINE], grown[YOURS], grown[TAKEN] = board[YOURS], board[MINE] | move, board[TAKEN] | move
    return grown

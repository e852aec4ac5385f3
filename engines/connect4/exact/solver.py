"""The solver of one position for the searcher: its result, and if asked for the result of every column."""

import threading
from collections.abc import Collection

from plyd.engines.connect4.exact.book import Book
from plyd.engines.connect4.exact.table import Table
from plyd.engines.connect4.exact.valuation import Valuation, after
from plyd.engines.connect4.exact.words import COLUMN, MINE, TAKEN, board_words, playable, winning_cells
from plyd.engines.connect4.rules import Position
from plyd.engines.connect4.solver.solver import Verdict
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Proven, Result

OPPOSITE = {Result.WIN: Result.LOSS, Result.DRAW: Result.DRAW, Result.LOSS: Result.WIN}


class ExactSolver:
    """Values a position, then each of its columns if `every_column`. The work can be done in slices."""

    def __init__(self, position: Position, table: Table, book: Book | None, *, every_column: bool) -> None:
        board = board_words(position)
        cells, wins = playable(board[TAKEN]), winning_cells(board[MINE])
        columns = [column for column in range(len(position.rows[0])) if cells & COLUMN[column]]
        self._root = Valuation(board, table, book, with_move=True)
        self._winning = [column for column in columns if cells & wins & COLUMN[column]]
        self._others = {
            column: Valuation(after(board, column), table, book) for column in columns if column not in self._winning
        }
        self._every_column, self._table = every_column, table
        self._claiming, self._claimed = threading.Lock(), set[Valuation]()
        known = {column: -child.value for column, child in self._others.items() if child.value is not None}
        if not self._winning and len(known) == len(columns):  # all in the book: no search for the best move
            self._root.column = max(known, key=lambda column: known[column])
            self._root.value = known[self._root.column]

    @property
    def verdict(self) -> Verdict | None:
        """What is proven so far of the position; None if nothing is, or if no move is known that achieves it."""
        proven, column = self._root.proven, self._root.column
        if proven and column is None:  # the position is in the book, its best move is not
            return Verdict(Proven(Result.LOSS), None) if proven.result is Result.LOSS else None
        return Verdict(proven, column) if proven else None

    @property
    def columns(self) -> dict[int, Proven]:
        """What is proven so far of each column, for the side that plays there."""
        found = dict.fromkeys(self._winning, Proven(Result.WIN, 1))
        for column, child in self._others.items():
            if proven := child.proven:
                plies = None if proven.plies is None else proven.plies + 1
                found[column] = Proven(OPPOSITE[proven.result], plies)
        return found

    @property
    def is_finished(self) -> bool:
        """Whether all that was asked for is known."""
        return self._next() is None

    @property
    def nodes(self) -> int:
        """Positions searched so far."""
        return self._root.nodes + sum(child.nodes for child in self._others.values())

    def work(self, deadline_ns: int, nodes: int, stop: Stop) -> None:
        """Continue within the limits."""
        end = self.nodes + nodes
        while (found := self._next()) and (left := end - self.nodes) > 0:
            task, distance = found
            task.work(deadline_ns, left, stop, distance=distance)
            if not task.has(distance=distance):
                return

    def work_beside(self, deadline_ns: int, nodes: int, stop: Stop) -> None:
        """Continue within the limits with what no other thread is working on; `nodes` are this thread's."""
        while nodes > 0 and (found := self._claim()):
            task, distance = found
            before = task.nodes
            task.work(deadline_ns, nodes, stop, distance=distance, is_alone=False)
            nodes -= task.nodes - before
            self._claimed.discard(task)
            if not task.has(distance=distance):
                return

    def make_room(self) -> None:
        """Enlarge the table if a search needs it; called when no thread works."""
        most = max((task.nodes for task in (self._root, *self._others.values()) if not task.is_finished), default=0)
        if self._table.nodes_to_growth(most) == 0:
            self._table.grow()

    def _claim(self) -> tuple[Valuation, bool] | None:
        """What to work on next, for this thread alone."""
        with self._claiming:
            found = self._next(self._claimed)
            if found:
                self._claimed.add(found[0])
            return found

    def _next(self, without: Collection[Valuation] = ()) -> tuple[Valuation, bool] | None:
        """What to work on next, and whether for its distance: first all results, then all distances; the position
        before its columns.
        """
        tasks = (self._root, *self._others.values()) if self._every_column else (self._root,)
        for distance in (False, True):
            for task in tasks:
                if task not in without and not task.has(distance=distance):
                    return task, distance
        return None

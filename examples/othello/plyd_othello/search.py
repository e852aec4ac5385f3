"""The searcher: iterative deepening around the kernel, one root move after another."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Limits, Line, Proven, Report, Result, Score, StopReason, WinProbability
from plyd.engines.core.search_run import DepthRun, game_over, run
from plyd_othello import kernel
from plyd_othello.kernel import CELLS, INFINITE, MOST_PLIES, WALL, WIDTH, WON, Stack, Table
from plyd_othello.rules import PASS, RULES, SIDES, Position, name_of

SLICE = 1500  # nodes between two looks at the clock: a few milliseconds
ENTRY_BYTES = 15  # of the table
DISCS = {".": kernel.EMPTY, "x": kernel.BLACK, "o": kernel.WHITE}
STEEPNESS = 180.0  # of the evaluation's value as a probability: fitted by eye on games of the engine with itself
LONGEST_LINE = 16


@dataclass(slots=True)
class RootMove:
    """A move at the root, what its search said at the last depth, and the line that it found."""

    cell: int
    text: str
    value: int = 0
    line: tuple[str, ...] = ()


class OthelloSearcher:
    """Alpha-beta with a transposition table, which begins anew with each search."""

    def __init__(self, megabytes: int) -> None:
        entries = 1 << int(math.log2((megabytes << 20) / ENTRY_BYTES))
        self.table = table_for(entries)
        self.searches = 0

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report for each depth, then the final one."""
        if over := game_over(RULES.outcome(position), SIDES[position.mover]):
            yield over
            return
        self.searches += 1
        yield from run(partial(OthelloRun, self, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Nothing is kept from one search to the next."""
        return 0


class OthelloRun(DepthRun):
    """One search. Each step searches a slice of one root move."""

    max_depth = CELLS

    def __init__(self, searcher: OthelloSearcher, position: Position, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self._table, self._side, self._size = searcher.table, SIDES[position.mover], position.size
        self._stack = stack_for(position, searcher.searches)  # the root is its ply 0
        self._child = view_of(self._stack)  # the kernel searches from ply 1 on
        self._empty = position.count(".")
        self._moves = [RootMove(self._cell_of(move.text), move.text) for move in RULES.legal_moves(position)]
        self._searched: list[RootMove] = []  # of the depth that is being searched, the best first
        self._lines: tuple[Line, ...] = ()
        self._is_again = False  # whether the move in turn was better than a null window could say
        self._begin_move()

    @property
    def nodes(self) -> int:
        """Positions searched."""
        return int(self._stack.at[3])

    @property
    def has_answer(self) -> bool:
        """Whether a depth is complete."""
        return self.depth > 0

    def step(self) -> None:
        """Search the root move in turn a little further."""
        nodes = min(SLICE, self.max_nodes - self.nodes) if self.has_answer else SLICE
        if not kernel.search_slice(self._child, self._table, nodes):
            return
        move, value, bound = self._moves[len(self._searched)], -int(self._stack.at[2]), self._bound
        if bound > -INFINITE and value > bound and not self._is_again:
            kernel.undo_move(self._stack, 0, move.cell)
            self._begin_move(is_again=True)
            return
        self._end_move(move, value)

    def _end_move(self, move: RootMove, value: int) -> None:
        """Keep the value of a root move, and go on to the next one, or to the next depth."""
        line = np.empty(LONGEST_LINE, np.int64)
        count = kernel.principal_variation(self._child, self._table, line)
        kernel.undo_move(self._stack, 0, move.cell)
        texts = [move.text, *map(self._text_of, line[:count].tolist())]
        self._searched.append(RootMove(move.cell, move.text, value, tuple(texts)))
        if len(self._searched) == len(self._moves):
            self._end_depth()
        self._begin_move()

    def _end_depth(self) -> None:
        ordered = sorted(self._searched, key=lambda each: -each.value)  # stable: equal ones keep their order
        self._moves, self._searched = ordered, []
        best = ordered[: self.limits.max_lines]
        is_solved = self.depth + 1 >= self._empty
        self._lines = tuple(
            Line(each.line, self._score(each.value, is_solved=is_solved), depth=self.depth + 1) for each in best
        )
        is_finished = is_solved or all(abs(each.value) >= WON for each in best)
        self.complete(StopReason.FINISHED if is_finished else None)

    @property
    def _bound(self) -> int:
        """The value that the move in turn has to exceed to be among the lines that were asked for."""
        values = sorted((each.value for each in self._searched), reverse=True)
        return values[self.limits.max_lines - 1] if len(values) >= self.limits.max_lines else -INFINITE

    def _begin_move(self, *, is_again: bool = False) -> None:
        """Set the stack up for the root move in turn: with a null window if there is a value to exceed."""
        stack, move, bound = self._stack, self._moves[len(self._searched)], self._bound
        self._is_again = is_again
        kernel.do_move(stack, 0, move.cell)
        beta = INFINITE if is_again or bound == -INFINITE else bound + 1
        window = self._child.window[0]
        window[0], window[1] = -beta, -bound
        window[4] = self.depth + (move.cell == kernel.PASS)  # a pass is free
        stack.at[0], stack.at[1] = 0, kernel.ENTER

    def report(self, reason: StopReason | None) -> Report:
        """The lines of the last depth that is complete."""
        return self.report_of(self._lines, reason, nodes=self.nodes, depth=self.depth)

    def _score(self, value: int, *, is_solved: bool) -> Score:
        if abs(value) >= WON or is_solved:
            result = Result.WIN if value > 0 else Result.LOSS if value < 0 else Result.DRAW
            return Score(self._side, Proven(result), exact=True)
        return Score(self._side, WinProbability(1 / (1 + math.exp(-value / STEEPNESS))))

    def _cell_of(self, text: str) -> int:
        return kernel.PASS if text == PASS else WIDTH * int(text[1:]) + "abcdefghij".index(text[0]) + 1

    def _text_of(self, cell: int) -> str:
        return PASS if cell == kernel.PASS else name_of(cell // WIDTH - 1, cell % WIDTH - 1)


def stack_for(position: Position, search: int) -> Stack:
    """A stack with a position at ply 0; its keys are those of this search, so that the table is as good as new."""
    board, size = np.full(CELLS, WALL, np.int8), position.size
    for row, cells in enumerate(position.rows):
        for column, cell in enumerate(cells):
            board[WIDTH * (row + 1) + column + 1] = DISCS[cell]
    numbers = np.random.default_rng(search).integers(0, 1 << 63, (3, CELLS), np.uint64)
    ends = [(1, 1), (size, -1)]
    beside = [
        [(row, column), (row + down, column + right), (row + down, column), (row, column + right)]
        for row, down in ends
        for column, right in ends
    ]
    corners = np.array([[WIDTH * row + column for row, column in cells] for cells in beside])
    stack = Stack(
        board,
        corners,
        rank_of(board, corners),
        numbers,
        np.zeros(MOST_PLIES, np.uint64),
        np.zeros((MOST_PLIES, 5), np.int64),
        np.zeros((MOST_PLIES, CELLS), np.int64),
        np.zeros((MOST_PLIES, 5), np.int64),
        np.zeros((MOST_PLIES, CELLS), np.int64),
        np.zeros(MOST_PLIES, np.int64),
        np.zeros(4, np.int64),
    )
    stack.turns[0, 0] = DISCS[position.mover]
    stack.key[0] = np.bitwise_xor.reduce([numbers[held, cell] for cell, held in enumerate(board) if held in (1, 2)])
    return stack


def rank_of(board: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The order in which moves are tried: corners, then edges, then the rest, cells beside corners last."""
    rank = np.zeros(CELLS, np.int64)
    for cell in range(WIDTH, CELLS - WIDTH):
        beside = [cell - WIDTH, cell + WIDTH, cell - 1, cell + 1]
        rank[cell] = 20 if board[cell] != WALL and (board[beside] == WALL).any() else 10
    for corner in corners:
        rank[corner] = (100, 1, 5, 5)
    return rank


def view_of(stack: Stack) -> Stack:
    """The stack from ply 1 on: that of the position after the root move."""
    plies = {name: getattr(stack, name)[1:] for name in ("key", "window", "moves", "turns", "flips", "flipped")}
    return stack._replace(**plies)


def table_for(entries: int) -> Table:
    """An empty table; its pages are committed as they are written."""
    kinds = (np.uint64, np.int32, np.int8, np.int8, np.uint8)
    return Table(*(np.zeros(entries, kind) for kind in kinds))

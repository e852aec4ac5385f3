"""Searchers of the 2x3 game: an exact one, which looks values up, and a plain expectimax."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Move, Side
from plyd.engines.core.search import Limits, Line, Report, Score, StopReason, Unreachable
from plyd.engines.core.search_run import DepthRun, run
from plyd.engines.tiles.rulebook import SLIDES, Position
from plyd.engines.tiles.search.score import GAME_OVER, points
from plyd.engines.tiles_2584_2x3 import kernel
from plyd.engines.tiles_2584_2x3.evaluate import Solution
from plyd.engines.tiles_2584_2x3.rules import RULES

SLIDE_MOVES = tuple(map(Move, SLIDES))


class ExactSearcher:
    """Knows the value of every position that can occur, so every search ends at once."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:  # noqa: ARG002
        """One report, final and exact."""
        yield self._slides(position, limits) if position.before else self._drops(position, limits)

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        return 0

    def _slides(self, position: Position, limits: Limits) -> Report:
        began = time.perf_counter()
        values = self._solution.slide_values(position)
        if values is None:
            return UNREACHABLE
        legal = [opcode for opcode in range(4) if values[opcode] == values[opcode]]  # not NaN
        if not legal:
            return GAME_OVER
        slides = [SLIDE_MOVES[opcode] for opcode in legal]
        return self._found(position, slides, [values[opcode] for opcode in legal], limits, began)

    def _drops(self, position: Position, limits: Limits) -> Report:
        began = time.perf_counter()
        nothing = needless(self._solution, position)
        if nothing:
            return nothing
        drops = RULES.legal_moves(position)
        values = self._solution.values([RULES.play(position, drop.text).position for drop in drops])
        return self._found(position, drops, [value for value in values if value is not None], limits, began)

    def _found(
        self, position: Position, moves: Sequence[Move], values: Sequence[float], limits: Limits, began: float
    ) -> Report:
        seconds = time.perf_counter() - began
        facts = {"nodes": len(moves), "depth": 1, "seconds": seconds, "stop_reason": StopReason.FINISHED}
        return ranked(position, moves, values, limits, exact=True, **facts)


class ExpectimaxSearcher:
    """Iterative deepening without the solution, for comparison; a state at the horizon has value 0."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report for each completed depth, then the final one."""
        if nothing := needless(self._solution, position):
            yield nothing
        else:
            yield from run(partial(ExpectimaxRun, self._solution, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        return 0


class ExpectimaxRun(DepthRun):
    """One search: each step completes one depth."""

    max_depth = kernel.MAX_DEPTH

    def __init__(self, solution: Solution, position: Position, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self._position, self._moves = position, RULES.legal_moves(position)
        self._look_ahead = LookAhead(solution, self.deadline_ns, self.max_nodes, stop)
        gains = [RULES.play(position, move.text).points for move in self._moves]
        self._best = ranked(position, self._moves, gains, limits, exact=False)

    @property
    def nodes(self) -> int:
        """After-states visited."""
        return self._look_ahead.nodes

    def step(self) -> None:
        """Search one slide deeper."""
        try:
            values, is_whole_game = self._look_ahead.values(self._position, self._moves, self.depth + 1)
        except OutOfBudget as end:
            self.give_up(end.reason)
            return
        self._best = ranked(self._position, self._moves, values, self.limits, exact=is_whole_game)
        self.complete(StopReason.FINISHED if is_whole_game else None)

    def report(self, reason: StopReason | None) -> Report:
        """The result of the last completed depth."""
        seconds = self.budget.elapsed_seconds
        return replace(self._best, nodes=self.nodes, depth=self.depth, seconds=seconds, stop_reason=reason)


class OutOfBudget(Exception):
    """A limit was reached before a depth was completed."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason


class LookAhead:
    """The expectimax of one search: the first plies in Python, the rest in the kernel, all within the limits."""

    def __init__(self, solution: Solution, deadline_ns: int, max_nodes: int, stop: Stop) -> None:
        self._solution = solution
        self._stop = stop
        self._deadline_ns = deadline_ns
        self._max_nodes = max_nodes
        self._counts = np.zeros(2, np.int64)  # nodes, and those of them at the horizon

    @property
    def nodes(self) -> int:
        """After-states visited so far."""
        return int(self._counts[0])

    def values(self, position: Position, moves: Sequence[Move], depth: int) -> tuple[list[float], bool]:
        """Value of each move within `depth` slides, and whether the search reached the end of the game everywhere."""
        self._counts[1] = 0
        left = depth - 1 if position.before else depth
        steps = [RULES.play(position, move.text) for move in moves]
        values = [step.points + self._value(step.position, left) for step in steps]
        return values, bool(left > 0 and self._counts[1] == 0)

    def _value(self, position: Position, depth: int) -> float:
        if not position.before:
            assert any(position.cells), "the empty board comes only at the root"
            return self._after(position, depth)
        steps = [RULES.play(position, move.text) for move in RULES.legal_moves(position)]
        self._counts[1] += bool(steps) and depth == 1
        return max((step.points + self._value(step.position, depth - 1) for step in steps), default=0.0)

    def _after(self, position: Position, depth: int) -> float:
        value, status = kernel.expectimax(
            self._solution.code(position),
            depth,
            self._solution.slides,
            self._deadline_ns,
            self._max_nodes,
            self._counts,
            self._stop.flag,
        )
        if status != kernel.COMPLETED:
            raise OutOfBudget(
                {
                    kernel.OUT_OF_TIME: StopReason.TIME,
                    kernel.OUT_OF_NODES: StopReason.NODES,
                    kernel.TOLD_TO_STOP: StopReason.STOPPED,
                }[status]
            )
        return float(value)


def needless(solution: Solution, position: Position) -> Report | None:
    """The report of a position that cannot occur or of a finished game; None if there is something to search."""
    if solution.values([position]) == [None]:
        return UNREACHABLE
    return None if RULES.legal_moves(position) else GAME_OVER


def ranked(
    position: Position, moves: Sequence[Move], values: Sequence[float], limits: Limits, *, exact: bool, **facts: Any
) -> Report:
    """The report for these values of moves: best slide first, or likeliest drop first."""
    if position.before:
        order = sorted(range(len(moves)), key=lambda i: -values[i])
    else:
        order = sorted(range(len(moves)), key=lambda i: -(moves[i].probability or 0.0))
    lines = tuple(
        Line((moves[i].text,), points(values[i], exact=exact), probability=moves[i].probability)
        for i in order[: limits.max_lines]
    )
    if position.before:
        return Report(lines[0].score, lines[0].moves[0], lines, **facts)
    mean = sum((move.probability or 0.0) * value for move, value in zip(moves, values, strict=True))
    return Report(points(mean, exact=exact), None, lines, **facts)


UNREACHABLE = Report(Score(Side.PLAYER_ONE, Unreachable(), exact=True), stop_reason=StopReason.NO_SEARCH)

"""Searches of the 2x3 game: the exact one, which looks values up, and a plain expectimax, which looks ahead."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from plyd.engines.core.machine import Stop, deadline_ns
from plyd.engines.core.rules import Move, Side
from plyd.engines.core.search import ExpectedPoints, Limits, Line, Report, Score, StopReason, Unreachable, upper
from plyd.engines.fibonacci_2x3 import kernel
from plyd.engines.fibonacci_2x3.evaluate import Solution
from plyd.engines.fibonacci_2x3.rules import RULES
from plyd.engines.tiles.rulebook import Position


class ExactSearcher:
    """Knows the value of every position that can occur, so every search is over at once."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:  # noqa: ARG002
        """One report, final and exact."""
        began = time.perf_counter()
        yield needless(self._solution, position) or replace(
            self._look_up(position, limits), seconds=time.perf_counter() - began, stop_reason=StopReason.FINISHED
        )

    def _look_up(self, position: Position, limits: Limits) -> Report:
        moves = RULES.legal_moves(position)
        steps = [RULES.play(position, move.text) for move in moves]
        values = self._solution.values([step.position for step in steps])
        worths = [step.points + value for step, value in zip(steps, values, strict=True) if value is not None]
        return replace(ranked(position, moves, worths, limits, exact=True), nodes=len(moves), depth=1)


class ExpectimaxSearcher:
    """Looks ahead one slide further each time, as a player without the solution would; the horizon is worth nothing."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report for each depth completed, then the final one."""
        nothing = needless(self._solution, position)
        if nothing:
            yield nothing
            return
        began = time.monotonic_ns()
        look_ahead = LookAhead(self._solution, limits, stop, began)
        moves = RULES.legal_moves(position)
        best = ranked(position, moves, [RULES.play(position, move.text).points for move in moves], limits, exact=False)
        reason = StopReason.DEPTH
        for depth in range(1, min(upper(limits.max_depth), kernel.MAX_DEPTH) + 1):
            try:
                worths, is_whole_game = look_ahead.worths(position, moves, depth)
            except OutOfBudget as end:
                reason = end.reason
                break
            best = replace(ranked(position, moves, worths, limits, exact=is_whole_game), depth=depth)
            if is_whole_game:
                reason = StopReason.FINISHED
                break
            yield replace(best, nodes=look_ahead.nodes, seconds=(time.monotonic_ns() - began) / 1e9)
        seconds = (time.monotonic_ns() - began) / 1e9
        yield replace(best, nodes=look_ahead.nodes, seconds=seconds, stop_reason=reason)


class OutOfBudget(Exception):
    """A limit bound before a depth was completed."""

    def __init__(self, reason: StopReason) -> None:
        self.reason = reason


class LookAhead:
    """One search's look ahead: the first plies here, the rest in the kernel, all within the limits."""

    def __init__(self, solution: Solution, limits: Limits, stop: Stop, began_ns: int) -> None:
        self._solution = solution
        self._stop = stop
        self._deadline_ns = deadline_ns(began_ns, limits.budget_seconds())
        self._max_nodes = upper(limits.max_nodes)
        self._counts = np.zeros(2, np.int64)  # nodes, and those of them on the horizon

    @property
    def nodes(self) -> int:
        """After-states visited so far."""
        return int(self._counts[0])

    def worths(self, position: Position, moves: Sequence[Move], depth: int) -> tuple[list[float], bool]:
        """Worth of each move within `depth` slides, and whether that was the whole game."""
        self._counts[1] = 0
        left = depth - 1 if position.before else depth
        steps = [RULES.play(position, move.text) for move in moves]
        worths = [step.points + self._worth(step.position, left) for step in steps]
        return worths, bool(left > 0 and self._counts[1] == 0)

    def _worth(self, position: Position, depth: int) -> float:
        if not position.before:
            assert any(position.cells), "the empty board comes only at the root"
            return self._after(position, depth)
        steps = [RULES.play(position, move.text) for move in RULES.legal_moves(position)]
        self._counts[1] += bool(steps) and depth == 1
        return max((step.points + self._worth(step.position, depth - 1) for step in steps), default=0.0)

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
    """The report on a position that cannot occur or a game that is over; None if there is something to search."""
    if solution.values([position]) == [None]:
        score = Score(Side.PLAYER_ONE, Unreachable(), exact=True)
    elif not RULES.legal_moves(position):
        score = points(0.0, exact=True)
    else:
        return None
    return Report(score, stop_reason=StopReason.NO_SEARCH)


def ranked(
    position: Position, moves: Sequence[Move], worths: Sequence[float], limits: Limits, *, exact: bool
) -> Report:
    """The report on a position whose moves have these worths: best slide first, or likeliest drop first."""
    lines = [
        Line((move.text,), points(worth, exact=exact), probability=move.probability)
        for move, worth in zip(moves, worths, strict=True)
    ]
    if position.before:
        order = sorted(range(len(lines)), key=lambda i: -worths[i])
        move, value = moves[order[0]].text, worths[order[0]]
    else:
        order = sorted(range(len(lines)), key=lambda i: -(moves[i].probability or 0.0))
        move, value = None, sum((m.probability or 0.0) * worth for m, worth in zip(moves, worths, strict=True))
    return Report(points(value, exact=exact), move, tuple(lines[i] for i in order[: limits.max_lines]))


def points(value: float, *, exact: bool) -> Score:
    """A score in points, which are always the player's."""
    return Score(Side.PLAYER_ONE, ExpectedPoints(value), exact)

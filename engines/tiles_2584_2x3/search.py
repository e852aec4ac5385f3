"""Searches of the 2x3 game: the exact one, which looks values up, and a plain expectimax, which looks ahead."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plyd.engines.core.intrinsics import Stop, deadline_ns
from plyd.engines.core.rules import Move, Side
from plyd.engines.core.search import ExpectedPoints, Limits, Line, Report, Score, StopReason, Unreachable, upper
from plyd.engines.tiles.rulebook import SLIDES, Position
from plyd.engines.tiles_2584_2x3 import kernel
from plyd.engines.tiles_2584_2x3.evaluate import Solution
from plyd.engines.tiles_2584_2x3.rules import RULES

SLIDE_MOVES = tuple(map(Move, SLIDES))


class ExactSearcher:
    """Knows the value of every position that can occur, so every search is over at once."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:  # noqa: ARG002
        """One report, final and exact."""
        yield self._slides(position, limits) if position.before else self._drops(position, limits)

    def _slides(self, position: Position, limits: Limits) -> Report:
        began = time.perf_counter()
        worths = self._solution.slide_worths(position)
        if worths is None:
            return UNREACHABLE
        legal = [opcode for opcode in range(4) if worths[opcode] == worths[opcode]]  # not NaN
        if not legal:
            return OVER
        slides = [SLIDE_MOVES[opcode] for opcode in legal]
        return self._found(position, slides, [worths[opcode] for opcode in legal], limits, began)

    def _drops(self, position: Position, limits: Limits) -> Report:
        began = time.perf_counter()
        nothing = needless(self._solution, position)
        if nothing:
            return nothing
        drops = RULES.legal_moves(position)
        values = self._solution.values([RULES.play(position, drop.text).position for drop in drops])
        return self._found(position, drops, [value for value in values if value is not None], limits, began)

    def _found(
        self, position: Position, moves: Sequence[Move], worths: Sequence[float], limits: Limits, began: float
    ) -> Report:
        seconds = time.perf_counter() - began
        facts = {"nodes": len(moves), "depth": 1, "seconds": seconds, "stop_reason": StopReason.FINISHED}
        return ranked(position, moves, worths, limits, exact=True, **facts)


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
        return UNREACHABLE
    return None if RULES.legal_moves(position) else OVER


def ranked(
    position: Position, moves: Sequence[Move], worths: Sequence[float], limits: Limits, *, exact: bool, **facts: Any
) -> Report:
    """The report on a position whose moves have these worths: best slide first, or likeliest drop first."""
    if position.before:
        order = sorted(range(len(moves)), key=lambda i: -worths[i])
    else:
        order = sorted(range(len(moves)), key=lambda i: -(moves[i].probability or 0.0))
    lines = tuple(
        Line((moves[i].text,), points(worths[i], exact=exact), probability=moves[i].probability)
        for i in order[: limits.max_lines]
    )
    if position.before:
        return Report(lines[0].score, lines[0].moves[0], lines, **facts)
    mean = sum((move.probability or 0.0) * worth for move, worth in zip(moves, worths, strict=True))
    return Report(points(mean, exact=exact), None, lines, **facts)


def points(value: float, *, exact: bool) -> Score:
    """A score in points, which are always the player's."""
    return Score(Side.PLAYER_ONE, ExpectedPoints(value), exact)


UNREACHABLE = Report(Score(Side.PLAYER_ONE, Unreachable(), exact=True), stop_reason=StopReason.NO_SEARCH)
OVER = Report(points(0.0, exact=True), stop_reason=StopReason.NO_SEARCH)

"""The plain searcher: UCT with random playouts and nothing else, the yardstick of the others."""

import time
from collections.abc import Iterator, Mapping

import numpy as np

from plyd.engines.connect4.board import board_array
from plyd.engines.connect4.graph.kernel import OUT_OF_TIME, TOLD_TO_STOP, Limit
from plyd.engines.connect4.graph.searcher import over
from plyd.engines.connect4.rules import RULES, Position, mover
from plyd.engines.connect4.uct.kernel import ROOT, Tree, grow, tree_for
from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop, deadline_ns
from plyd.engines.core.options import OptionValue
from plyd.engines.core.search import Limits, Line, Report, Score, StopReason, WinProbability, upper

NODES_A_SECOND = 2_000_000
NODE_BYTES = 12
REPORT_SIMULATIONS = 50_000
REASONS = {OUT_OF_TIME: StopReason.TIME, TOLD_TO_STOP: StopReason.STOPPED}


class UctSearcher:
    """Begins anew with each position; a full tree is walked without new nodes."""

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        self._options = options

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report now and then, and the final one."""
        began = time.monotonic_ns()
        if nothing := over(position):
            yield nothing
            return
        with CORES.one():
            yield from self._grow(position, limits, stop, began)

    def _grow(self, position: Position, limits: Limits, stop: Stop, began: int) -> Iterator[Report]:
        columns, seconds, wanted = len(position.rows[0]), limits.budget_seconds(), upper(limits.max_nodes)
        room = int(int(self._options["memory"]) * (1 << 20) / (NODE_BYTES + 4 * columns))
        in_time = NEVER if seconds is None else int(seconds * NODES_A_SECOND)
        nodes = min(room, max(min(wanted, in_time), 1000) + 1)
        tree = tree_for(nodes, columns, (int(self._options["seed"]) << 1) + 1)
        board, end = board_array(position), deadline_ns(began, seconds)
        done, reason = 0, None
        while reason is None:
            count = min(REPORT_SIMULATIONS, wanted - done)
            limit = Limit(np.int64(end), np.int64(count), stop.flag, False)
            why, made = grow(tree, board, float(self._options["c"]), limit)
            done += int(made)
            reason = REASONS.get(int(why), StopReason.NODES if done >= wanted else None)
            if reason is None and tree.deepest[0] >= upper(limits.max_depth):
                reason = StopReason.DEPTH
            report = Report(
                *self._found(tree, position, limits),
                nodes=done,
                depth=int(tree.deepest[0]),
                seconds=(time.monotonic_ns() - began) / 1e9,
                stop_reason=reason,
            )
            yield report

    def _found(self, tree: Tree, position: Position, limits: Limits) -> tuple[Score, str, tuple[Line, ...]]:
        """Score, move and lines, what was visited most first."""
        found = []
        for move in RULES.legal_moves(position):
            child = int(tree.child[ROOT, int(move.text) - 1])
            visits = int(tree.visits[child]) if child else 0
            worth = 0.5 * float(tree.points[child]) / visits if visits else 0.5
            found.append((visits, move.text, Score(mover(position), WinProbability(worth))))
        found.sort(key=lambda line: -line[0])
        lines = tuple(Line((move,), score, visits=visits) for visits, move, score in found[: limits.max_lines])
        return lines[0].score, lines[0].moves[0], lines

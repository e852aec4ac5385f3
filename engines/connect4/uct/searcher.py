"""The UCT searcher: random playouts and nothing else, a baseline for the other searches."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from plyd.engines.connect4.board import board_array
from plyd.engines.connect4.graph.kernel import GraphLimit
from plyd.engines.connect4.rules import RULES, Position, mover
from plyd.engines.connect4.uct.kernel import ROOT, UctTree, grow, tree_for
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import OptionValue
from plyd.engines.core.search import Limits, Line, Report, Score, StopReason, WinProbability
from plyd.engines.core.search_run import SearchRun, game_over, run

NODES_A_SECOND = 2_000_000
NODE_BYTES = 12
ROUND_SIMULATIONS = 10_000


class UctSearcher:
    """Starts a new tree for each position; a full tree is searched without new nodes."""

    def __init__(self, options: Mapping[str, OptionValue], megabytes: int) -> None:
        self._options, self._megabytes = options, megabytes

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report every tenth of a second, then the final one."""
        if over := game_over(RULES.outcome(position), mover(position)):
            yield over
        else:
            yield from run(partial(UctRun, self._options, self._megabytes, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        return 0


class UctRun(SearchRun):
    """One search: rounds of simulations in one tree."""

    def __init__(
        self, options: Mapping[str, OptionValue], megabytes: int, position: Position, limits: Limits, stop: Stop
    ) -> None:
        super().__init__(limits, stop)
        self._position, self._board, self._c = position, board_array(position), float(options["c"])
        columns, seconds = len(position.rows[0]), self.budget.seconds
        room = int(megabytes * (1 << 20) / (NODE_BYTES + 4 * columns))
        in_time = NEVER if seconds is None else int(seconds * NODES_A_SECOND)
        nodes = min(room, max(min(self.max_nodes, in_time), 1000) + 1)
        self._tree = tree_for(nodes, columns, (int(options["seed"]) << 1) + 1)
        self._simulations = 0

    @property
    def nodes(self) -> int:
        """Simulations so far."""
        return self._simulations

    @property
    def has_answer(self) -> bool:
        """Whether a simulation was made."""
        return self._simulations > 0

    def is_deep_enough(self, depth: int) -> bool:
        """Whether a simulation reached this depth within the tree."""
        return bool(self._tree.deepest[0] >= depth)

    def step(self) -> None:
        """One round of simulations: at least a few, because the kernel polls the clock only after those."""
        count = min(ROUND_SIMULATIONS, self.max_nodes - self._simulations)
        limit = GraphLimit(np.int64(self.deadline_ns), np.int64(count), self.stop.flag, False)
        _, made = grow(self._tree, self._board, self._c, limit)
        self._simulations += int(made)

    def report(self, reason: StopReason | None) -> Report:
        """The result so far, the most visited move first."""
        return Report(
            *self._found(self._tree, self._position, self.limits),
            nodes=self._simulations,
            depth=int(self._tree.deepest[0]),
            seconds=self.budget.elapsed_seconds,
            stop_reason=reason,
        )

    def _found(self, tree: UctTree, position: Position, limits: Limits) -> tuple[Score, str, tuple[Line, ...]]:
        """Score, move and lines, the most visited first."""
        found = []
        for move in RULES.legal_moves(position):
            child = int(tree.child[ROOT, int(move.text) - 1])
            visits = int(tree.visits[child]) if child else 0
            value = 0.5 * float(tree.points[child]) / visits if visits else 0.5
            found.append((visits, move.text, Score(mover(position), WinProbability(value))))
        found.sort(key=lambda line: -line[0])
        lines = tuple(Line((move,), score, visits=visits) for visits, move, score in found[: limits.max_lines])
        return lines[0].score, lines[0].moves[0], lines

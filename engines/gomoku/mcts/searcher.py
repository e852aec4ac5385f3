"""The MCTS searcher: limits, clocks, threads and reports around the search tree."""

import math
import time
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.memory import touched_megabytes
from plyd.engines.core.options import OptionValue
from plyd.engines.core.search import Limits, Line, Proven, Report, Result, Score, StopReason, WinProbability
from plyd.engines.core.search_run import SearchRun, game_over, helper_threads, run
from plyd.engines.core.time_control import effort_by_visits
from plyd.engines.gomoku.board.board import NOBODY, WALL, O, X
from plyd.engines.gomoku.forced import line_beside
from plyd.engines.gomoku.mcts.inference import Evaluates
from plyd.engines.gomoku.mcts.nodes import DRAW, LOSS, NODE, OPEN, WIN, order
from plyd.engines.gomoku.mcts.search_tree import BATCH, Cells, SearchTree, params_of
from plyd.engines.gomoku.prover import Refuter
from plyd.engines.gomoku.rules import BLOCKED, EMPTY, SIDES, GomokuRules, Position, move_at

ROUND_NS = 50_000_000  # threads simulate this long between synchronisations
ROUND_SIMULATIONS = 64  # in a round, if nodes are limited
ROUND_NODES = 1 << 15  # nodes reserved for a round
LEAF_NS = 600_000  # estimated time per leaf, before it is measured
FOUR_NODES, THREE_NODES = 20_000, 5_000  # for the search for a forced win at the root
SEEK_SHARE = 0.1  # share of the time for that search
REFUTE_NODES = 40  # per simulation, for the opponent's forced win after the best move: about a fifth of the time
REFUTE_MOVES = 3  # the best move and the runners-up
REFUTE_SLOTS, REFUTE_SLICE_NODES = 1 << 16, 1000
LOOK_SHARE = 0.05  # the last share of the time, for a last look at the best move
LONGEST_LINE = 40
EXACT_PLIES = 4  # a win or loss this near is reported with its length; a longer one may have a shorter way
STONES = {EMPTY: NOBODY, "x": X, "o": O, BLOCKED: WALL}
RESULTS = {WIN: Result.WIN, LOSS: Result.LOSS, DRAW: Result.DRAW}
OPPOSITE = {WIN: LOSS, LOSS: WIN, DRAW: DRAW}


class MctsSearcher:
    """Keeps its tree from one position to the next."""

    def __init__(
        self, rules: GomokuRules, evaluate: Evaluates, options: Mapping[str, OptionValue], megabytes: int
    ) -> None:
        self.rules, self.evaluate = rules, evaluate
        self.threads = int(options["threads"])
        self._c_puct = float(options["c"])
        self._most_nodes = max(ROUND_NODES, (megabytes << 20) // NODE.itemsize // 2)
        self._tree: SearchTree | None = None
        self.refuter = Refuter(rules.rule, REFUTE_SLOTS)

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report every tenth of a second, then the final one."""
        if over := game_over(self.rules.outcome(position), SIDES[position.mover]):
            yield over
        else:
            yield from run(partial(MctsRun, self, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        return touched_megabytes(self._tree.arrays if self._tree else ())

    def warm_up(self) -> None:
        """Run every kernel once."""
        position = self.rules.start()
        list(self.search(position, Limits(max_nodes=50), Stop()))
        assert self._tree
        self._tree.play(self._tree.best())
        self._tree.shrink()

    def tree_at(self, position: Position) -> SearchTree:
        """The tree, rooted at the position."""
        if self._tree is None or self._tree.size != position.size:
            self._tree = SearchTree(
                self.evaluate,
                position.size,
                rule=self.rules.rule,
                params=params_of(self._c_puct),
                threads=max(self.threads, CORES.count),
                most_nodes=self._most_nodes,
            )
        self._tree.begin(cells_of(position), X if position.mover == "x" else O)
        return self._tree


class MctsRun(SearchRun):
    """One search: rounds of simulations."""

    def __init__(self, owner: MctsSearcher, position: Position, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self._owner, self._position = owner, position
        self._line_beside = cache(partial(line_beside, owner.rules, position))
        self._tree = owner.tree_at(position)
        self.kept_nodes = int(self._tree.root["visits"])
        self._leaf_ns = LEAF_NS
        self._refuter, self._nodes_before = owner.refuter, self.nodes
        seconds = self.budget.planned_seconds
        if seconds is None:
            self._look_ns = NEVER
        else:
            usual_end = min(self.deadline_ns, self.budget.began_ns + int(seconds * 1e9))
            self._look_ns = usual_end - int(seconds * 1e9 * LOOK_SHARE)
        if limits.max_nodes is not None:  # reproducible
            self._refuter.forget()
        self._refuter.begin(position, self._tree.mover)
        if not self._tree.is_sought:
            self._tree.is_sought = True
            seek_end = self.deadline_ns if seconds is None else self.budget.began_ns + int(seconds * 1e9 * SEEK_SHARE)
            self._tree.seek_win(FOUR_NODES, seek_end, by_threes=False)
            self._tree.seek_win(THREE_NODES, seek_end, by_threes=True)
        if self._tree.root["status"] == OPEN and not self._tree.root["count"]:
            self._tree.simulate(1)  # so that there is always a move to play
            if not self._tree.cells.any():  # empty board: the network has little preference
                self._tree.keep_to_middle()

    @property
    def is_finished(self) -> bool:
        """Whether the result is proven."""
        return bool(self._tree.root["status"] != OPEN)

    @property
    def nodes(self) -> int:
        """New simulations through the root."""
        return int(self._tree.root["visits"]) - self.kept_nodes

    @property
    def effort(self) -> float:
        """By the visits of the moves that are not proven to lose."""
        children = self._tree.children_of(self._tree.root)
        children = children[children["status"] != WIN]
        visits = children["visits"].astype(int)
        values = children["total"] / np.maximum(1, visits)
        return effort_by_visits(list(zip(visits.tolist(), values.tolist(), strict=True)), self.nodes, self.usual_share)

    @property
    def step_ns(self) -> int:
        """Nanoseconds per leaf."""
        return self._leaf_ns

    def is_deep_enough(self, depth: int) -> bool:
        """Whether the principal variation has this length."""
        return len(self._lines(1)[0].moves) >= depth

    def step(self) -> None:
        """One round of simulations on all threads, then a look at what the best moves allow."""
        if time.monotonic_ns() >= self._look_ns and self._refute(self.deadline_ns, math.inf):
            return
        self._tree.make_room(ROUND_NODES, self.deadline_ns)
        end, most = min(self.deadline_ns, time.monotonic_ns() + ROUND_NS), self.max_nodes
        if self.limits.max_depth:
            end = min(end, time.monotonic_ns() + 1_000_000)
        if self.limits.max_nodes is not None:  # rounds by simulations, not time: reproducible
            end, most = self.deadline_ns, min(most, self.nodes + ROUND_SIMULATIONS)
        threads = self.threads_for(self._owner.threads, len(self._tree.threads))
        jobs = [helper_threads().submit(self._simulate, thread, end, most) for thread in range(1, threads)]
        self._simulate(0, end, most)
        for job in jobs:
            job.result()
        self._refute(self.deadline_ns, REFUTE_NODES * (self.nodes - self._nodes_before))

    def _refute(self, end: int, share: float) -> bool:
        """Look for the opponent's forced win after the best moves, for a share of nodes; whether it looked at all."""
        has_looked = False
        while self._refuter.nodes < share and time.monotonic_ns() < end and not self.stop.poll():
            best = order(self._tree.children_of(self._tree.root))[:REFUTE_MOVES]
            point = self._refuter.open_move([int(child["point"]) for child in best if child["status"] == OPEN])
            if point is None or self.is_finished:
                break
            has_looked = True
            if self._refuter.work(point, REFUTE_SLICE_NODES):
                self._tree.refute(point, self._refuter.reply_to(point))
        return has_looked

    def _simulate(self, thread: int, end: int, most: int) -> None:
        """Simulate until `end`, `most` nodes or another reason to stop, with smaller batches near the end."""
        tree, most = self._tree, self.kept_nodes + most
        is_first = thread == 0  # each round makes at least one simulation
        while not self.stop.poll() and tree.root["status"] == OPEN:
            began, visits = time.monotonic_ns(), int(tree.root["visits"]) + int(tree.root["virtual_loss"])
            want = min((self.deadline_ns - began) // (2 * self._leaf_ns), BATCH, 1 + visits // (2 * BATCH))
            if visits >= most or not (is_first or (want > 0 and began < end)):
                break
            want, is_first = max(1, want), False
            tree.simulate_batch(want, min(most - visits, 4 * BATCH), thread)
            if thread == 0:
                took = (time.monotonic_ns() - began) // want
                self._leaf_ns = max(self._leaf_ns - self._leaf_ns // 8, min(took, 4 * LEAF_NS))

    def report(self, reason: StopReason | None) -> Report:
        """The result so far."""
        lines = self._lines(self.limits.max_lines)
        return self.report_of(lines, reason, nodes=self.nodes, depth=len(lines[0].moves))

    def _lines(self, most: int) -> tuple[Line, ...]:
        """Lines of the best moves, at most `most`, best first."""
        tree, root = self._tree, self._tree.root
        side = SIDES[self._position.mover]
        lines = []
        if root["status"] == WIN or not root["count"]:  # decided without a simulation
            score = Score(side, proven(RESULTS[int(root["status"])], int(root["plies"])), exact=True)
            lines.append(Line((self._text(int(root["reply"])),), score, visits=int(root["visits"])))
        for child in order(tree.children_of(root))[: most if not lines else most - 1]:
            first = self._text(int(child["point"]))
            if lines and lines[0].moves[0] == first:
                moves = (first, *self._follow(child))
                lines[0] = Line(moves, lines[0].score, visits=int(child["visits"]), prior=float(child["prior"]))
                continue
            score = Score(side, self._value(child), exact=bool(child["status"] != OPEN))
            line = (first, *self._follow(child))
            lines.append(Line(line, score, visits=int(child["visits"]), prior=float(child["prior"])))
        if most > len(lines) == 1 and (lost := self._line_beside(lines[0].moves[0])):
            lines.append(lost)
        return tuple(lines)

    def _value(self, child: Any) -> WinProbability | Proven:
        """The value of the move to a child."""
        if child["status"] != OPEN:
            return proven(RESULTS[OPPOSITE[int(child["status"])]], int(child["plies"]) + 1)
        value = (
            child["total"] / child["visits"]
            if child["visits"]
            else -self._tree.root["total"] / max(1, self._tree.root["visits"])
        )
        return WinProbability(min(1.0, max(0.0, 0.5 + 0.5 * float(value))))

    def _follow(self, node: Any) -> list[str]:
        """The principal variation from a node."""
        moves: list[str] = []
        while len(moves) < LONGEST_LINE:
            if node["status"] == WIN:
                moves.append(self._text(int(node["reply"])))
                lost = [child for child in self._tree.children_of(node) if child["point"] == node["reply"]]
                if not lost:
                    break
                node = lost[0]
                continue
            children = self._tree.children_of(node)
            if not len(children) or not children["visits"].max():
                break
            node = order(children)[0]
            moves.append(self._text(int(node["point"])))
        return moves

    def _text(self, point: int) -> str:
        size = self._position.size
        return move_at(*divmod(self._tree.cell_of(point), size), size)


def proven(result: Result, plies: int) -> Proven:
    """A proven result; its plies are given if they are exact."""
    return Proven(result, plies if plies <= EXACT_PLIES else None)


def cells_of(position: Position) -> Cells:
    """The points of a position in the board's encoding."""
    return np.array([[STONES[cell] for cell in row] for row in position.rows], np.uint8)

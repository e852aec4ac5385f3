"""The searcher of Connect Four: graph search and solver side by side, on all spare cores."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plyd.engines.connect4.board import DRAW, GLANCE_PLIES, LOSS, OPEN, WIN, board_array
from plyd.engines.connect4.exact.book import shipped_book
from plyd.engines.connect4.exact.solver import ExactSolver
from plyd.engines.connect4.exact.table import Table
from plyd.engines.connect4.exact.words import fits
from plyd.engines.connect4.graph.features import WEIGHTS
from plyd.engines.connect4.graph.kernel import (
    OUT_OF_ROOM,
    GraphLimit,
    GraphParams,
    GraphWorkspace,
    enter,
    search_slice,
    workspace_for,
)
from plyd.engines.connect4.graph.memory import NONE, Graph, forget_all, graph_for, nodes_within, recycle, room_in
from plyd.engines.connect4.report import RESULTS, Choice, choices_of, lines_of, visits_of, with_proven
from plyd.engines.connect4.rules import EMPTY, FORBIDDEN, RULES, Position, mover
from plyd.engines.connect4.rules import lines_of as lines_of_four
from plyd.engines.connect4.solver.alpha_beta import SolverTable, table_for
from plyd.engines.connect4.solver.solver import Solver
from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.memory import touched_megabytes
from plyd.engines.core.options import Option, OptionValue, memory_option, threads_option
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Limits, Line, Report, StopReason
from plyd.engines.core.search_run import SearchRun, game_over, helper_threads, run
from plyd.engines.core.time_control import effort_by_visits

PLAYOUTS, FPU_REDUCTION = 4, 0.08  # see GraphParams
SOLVABLE_CELLS = 36  # the solver starts when at most this many cells are empty
ROUND_SIMULATIONS = 1_000  # per round
SOLVER_NODES_A_SIMULATION = 60  # take about twice as long as the simulation
EXACT_NODES_A_SIMULATION = 500  # of the exact solver of small boards: take about five times as long
FEWEST_SOLVER_NODES = 2_000  # per round
SLICE_NS = 15_000_000  # per round on several cores
FEWEST_NODES = 1 << 12
NODES_A_SECOND = 300_000  # upper bound of the nodes that one core adds to the graph
TABLE_SHARE = 0.25  # share of the memory for the solver's table
ENTRY_BYTES, ENTRIES_A_SECOND = 12, 4_000_000  # of the solver's table
LOOK_SIMULATIONS = 16  # for a move that the search has not visited
CALM_NS = 500_000_000  # with less time left, a full graph is searched without recycling
RECYCLE_SHARE = 0.25  # maximum share of the remaining time for recycling the graph
RECYCLE_NS = 1_000  # to keep a node, several times what is usual
OPTIONS = (
    Option(
        "method",
        "graph: the strong search. uct: plain UCT with random playouts, as a baseline.",
        default="graph",
        choices=("graph", "uct"),
    ),
    Option("c", "Exploration constant of the search.", default=1.0, minimum=0.0, maximum=10.0),
    Option("playouts", "Playouts from each new position.", default=PLAYOUTS, minimum=1, maximum=100),
    Option("solver", "Whether an exact solver runs beside the graph search near the end of the game.", default=True),
    threads_option(),
    memory_option(default=512, minimum=8, maximum=65536),
    Option("seed", "Random seed of the playouts.", default=0, minimum=0, maximum=2**31 - 1),
)


class GraphSearcher:
    """Keeps its graph from one position to the next, so that earlier results are reused."""

    def __init__(self, options: Mapping[str, OptionValue], megabytes: int) -> None:
        self.options, self._megabytes = options, megabytes
        self.threads = int(options["threads"])
        self._shape: Position | None = None
        self._graph: Graph | None = None
        self._table: SolverTable | None = None
        self._solver: tuple[Position, Solver] | None = None
        self._exact_table: Table | None = None
        self._exact: tuple[Position, bool, ExactSolver] | None = None
        self.params: GraphParams
        self.workspaces = [workspace_for(1) for _ in range(max(self.threads, CORES.count))]
        self.looking = workspace_for(1)  # a separate random stream, so that extra looks do not change the search

    def search(self, position: Position, limits: Limits, stop: Stop) -> Iterator[Report]:
        """A report every tenth of a second, then the final one."""
        if over := game_over(RULES.outcome(position), mover(position)):
            yield over
        else:
            yield from run(partial(GraphRun, self, position, limits, stop))

    def touched_megabytes(self) -> int:
        """Memory that it keeps between searches."""
        exact = (self._exact_table.entries,) if self._exact_table else ()
        return touched_megabytes((*(self._graph or ()), *(self._table or ()), *exact))

    def graph_at(
        self, position: Position, board: NDArray[np.uint16], wanted: int, deadline_ns: int, stop: Stop
    ) -> tuple[Graph, int]:
        """The graph, with room for `wanted` more nodes (at most half of all), and the position's node.

        Address space is reserved once per board shape; the system commits memory as it is used.
        """
        shape, columns = emptied(position), len(position.rows[0])
        if self._graph is None or self._shape != shape:
            self._graph = graph_for(nodes_within(self._megabytes * (1 - TABLE_SHARE), columns), columns)
            self._shape, self._table, self._exact_table, self._exact = shape, None, None, None
            self.params = params_for(position, float(self.options["c"]), int(self.options["playouts"]))
        root = int(enter(self._graph, self.params, board, self.workspaces[0]))
        if root == NONE or room_in(self._graph) < min(wanted, self._graph.nodes.size // 2):
            if root == NONE or not (self.make_room(root, stop, deadline_ns, wanted) or stop.is_set()):
                forget_all(self._graph)
            root = int(enter(self._graph, self.params, board, self.workspaces[0]))
        return self._graph, root

    def make_room(self, root: int, stop: Stop, deadline_ns: int, wanted: int = NEVER) -> bool:
        """Recycle the graph: keep only the nodes that matter most to the root. Takes a share of the time at most;
        whether it was done in that.
        """
        graph, now = self._graph, time.monotonic_ns()
        assert graph is not None
        share_ns = int(RECYCLE_SHARE * max(0, deadline_ns - now))
        most = max(2, min(wanted, graph.nodes.size // 2, share_ns // RECYCLE_NS))
        return bool(recycle(graph, root, most, stop.flag, min(NEVER, now + share_ns)) != NONE)

    def exact_solver(self, position: Position, *, every_column: bool) -> ExactSolver:
        """The position's solver on a small board: the existing one if it was working on this position, else a new one.

        Its table is kept while the board has the same shape: what it holds stays true.
        """
        if self._exact is None or self._exact[:2] != (position, every_column):
            if self._exact_table is None:
                self._exact_table = Table(int(self._megabytes * (1 << 20) * TABLE_SHARE))
            book = shipped_book(RULES.text(emptied(position)))
            solver = ExactSolver(position, self._exact_table, book, every_column=every_column)
            self._exact = position, every_column, solver
        return self._exact[2]

    def solver(self, position: Position, board: NDArray[np.uint16], seconds: float | None) -> Solver:
        """The position's solver: the existing one if it was working on this position, else a new one."""
        if self._solver is None or self._solver[0] != position:
            most = int(self._megabytes * (1 << 20) * TABLE_SHARE / ENTRY_BYTES)
            wanted = most if seconds is None else min(most, int(seconds * ENTRIES_A_SECOND))
            entries = 1 << max(12, wanted.bit_length() - 1)
            if self._table is None or self._table.key.size < entries:
                self._table = table_for(entries)
            self._solver = position, Solver(position, board, self.params.lines, self._table)
        return self._solver[1]


class GraphRun(SearchRun):
    """One search: rounds of simulations and solving."""

    def __init__(self, owner: GraphSearcher, position: Position, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self._owner, self._position = owner, position
        self._board = board_array(position)
        self._columns = [int(move.text) - 1 for move in RULES.legal_moves(position)]
        self._cells_left = position.count(EMPTY)
        seconds = self.budget.seconds
        in_time = NEVER if seconds is None else int(seconds * NODES_A_SECOND * len(owner.workspaces))
        wanted = max(min(self.max_nodes, in_time), FEWEST_NODES)
        self._graph, self._root = owner.graph_at(position, self._board, wanted, self.deadline_ns, stop)
        self.kept_nodes = visits_of(self._graph, self._root)
        self._saved = 0  # simulations that a solver which knows the result made needless; a node limit counts them
        self._solver: Solver | ExactSolver | None = None
        seed = int(self._graph.nodes["key"][self._root]) ^ int(owner.options["seed"]) << 8
        for i, space in enumerate(owner.workspaces):
            space.random[0] = seed ^ i << 1 | 1
        self._consult()

    @property
    def is_finished(self) -> bool:
        """Whether the result and its distance are proven; without a solver, the result alone."""
        if self._solver:
            return self._solver.is_finished
        return bool(self._graph.nodes["status"][self._root] != OPEN)

    @property
    def nodes(self) -> int:
        """New simulations through the root; kept below the limit until the solver, if any, has run."""
        made = self._simulations + self._saved
        return made if self._solver is None or self._solver.nodes else min(made, self.max_nodes - 1)

    @property
    def effort(self) -> float:
        """By the visits of the moves that are not proven to lose."""
        moves = [choice for choice in self._choices() if choice.proven_result != LOSS]
        return effort_by_visits([(move.visits, move.value) for move in moves], self._simulations, self.usual_share)

    def is_deep_enough(self, depth: int) -> bool:
        """Whether the principal variation has this length."""
        return len(self._lines(1)[0].moves) >= depth

    def step(self) -> None:
        """One round of simulations and solving: in turn on one core, in parallel on several."""
        threads, solver = self.threads_for(self._owner.threads, len(self._owner.workspaces)), self._solver
        left = max(0, self.max_nodes - self._simulations - self._saved)
        end, simulations = self.deadline_ns, min(ROUND_SIMULATIONS, left)
        if threads > 1:
            end, simulations = min(end, time.monotonic_ns() + SLICE_NS), -(-left // threads)
        if solver and (threads == 1 or solver.verdict):
            pace = EXACT_NODES_A_SIMULATION if isinstance(solver, ExactSolver) else SOLVER_NODES_A_SIMULATION
            nodes = max(min(ROUND_SIMULATIONS, left) * pace, FEWEST_SOLVER_NODES)
            if threads > 1 and isinstance(solver, ExactSolver):
                self._solve_columns(solver, threads, nodes)
            else:
                solver.work(self.deadline_ns, nodes, self.stop)
        if not (solver and solver.verdict):
            jobs = self._send_helpers(threads - 1, end, simulations)
            why = self._simulate(self._owner.workspaces[0], end, simulations)
            for job in jobs:
                job.result()
            if why == OUT_OF_ROOM:
                self._owner.make_room(self._root, self.stop, self.deadline_ns)
        else:
            self._saved += min(ROUND_SIMULATIONS, left)
        self._consult()

    def report(self, reason: StopReason | None) -> Report:
        """The result so far."""
        lines = self._lines(self.limits.max_lines, with_all=reason is not None and self.limits.max_lines > 1)
        return self.report_of(lines, reason, nodes=self._simulations, depth=len(lines[0].moves))

    @property
    def _simulations(self) -> int:
        return visits_of(self._graph, self._root) - self.kept_nodes

    def _consult(self) -> None:
        """Start the solver when it is worthwhile, and pass it the graph's proven result."""
        if not self._owner.options["solver"]:
            return
        if fits(self._position):
            self._solver = self._owner.exact_solver(self._position, every_column=self.limits.max_lines > 1)
            return
        status = int(self._graph.nodes["status"][self._root])
        if self._solver is None and (status != OPEN or self._cells_left <= SOLVABLE_CELLS):
            self._solver = self._owner.solver(self._position, self._board, self.budget.seconds)
        if isinstance(self._solver, Solver) and status != OPEN:
            self._solver.hear(RESULTS[status], int(self._graph.nodes["plies"][self._root]))

    def _simulate(self, space: GraphWorkspace, end: int, simulations: int) -> int:
        is_calm = self.deadline_ns - time.monotonic_ns() > CALM_NS
        limit = GraphLimit(np.int64(end), np.int64(simulations), self.stop.flag, is_calm)
        reason, _ = search_slice(self._graph, self._owner.params, self._board, self._root, space, limit)
        return int(reason)

    def _send_helpers(self, count: int, end: int, simulations: int) -> list[Future[Any]]:
        """Start helper threads: one for the solver, if it is running, and the others for simulations."""
        jobs: list[Future[Any]] = []
        if count and self._solver:
            jobs.append(helper_threads().submit(self._solver.work, end, NEVER, self.stop))
        spaces = self._owner.workspaces[1 : 1 + count - len(jobs)]
        return jobs + [helper_threads().submit(self._simulate, space, end, simulations) for space in spaces]

    def _solve_columns(self, solver: ExactSolver, threads: int, nodes: int) -> None:
        """A round of the exact solver on all threads, each with another column."""
        work = partial(solver.work_beside, self.deadline_ns, nodes, self.stop)
        jobs = [helper_threads().submit(work) for _ in range(threads - 1)]
        work()
        for job in jobs:
            job.result()
        solver.make_room()

    def _lines(self, most: int, *, with_all: bool = False) -> tuple[Line, ...]:
        """Lines of the best moves, at most `most`, best first; `with_all` also evaluates moves without visits."""
        choices = self._choices()
        if with_all:
            choices = [
                choice if choice.visits or choice.proven_result else self._looked_at(choice) for choice in choices
            ]
        verdict = self._solver.verdict if self._solver else None
        return lines_of(self._graph, self._position, choices, verdict, most)

    def _choices(self) -> list[Choice]:
        """Every legal move with what graph and solver know of it."""
        known = self._solver.columns if isinstance(self._solver, ExactSolver) else {}
        if self._graph.nodes["degree"][self._root] == 0:  # decided by `glance`
            return with_proven([self._looked_at(Choice(column, OPEN)) for column in self._columns], known)
        return with_proven(choices_of(self._graph, self._root, self._columns, self._cells_left), known)

    def _looked_at(self, choice: Choice) -> Choice:
        """An unvisited move, after a short search of its own."""
        after = RULES.play(self._position, str(choice.column + 1)).position
        if RULES.outcome(after) is not Outcome.ONGOING:
            proven_result = DRAW if RULES.outcome(after) is Outcome.DRAW else WIN
            return replace(choice, proven_result=proven_result, most_plies=1, is_exact=True)
        graph, params, board = self._graph, self._owner.params, board_array(after)
        node = int(enter(graph, params, board, self._owner.workspaces[0]))
        if node == NONE:
            return replace(choice, value=0.5)
        if graph.nodes["status"][node] == OPEN and visits_of(graph, node) == 0:
            limit = GraphLimit(np.int64(NEVER), np.int64(LOOK_SIMULATIONS), np.zeros(1, np.uint8), False)
            search_slice(graph, params, board, node, self._owner.looking, limit)
        proven_result = {WIN: LOSS, LOSS: WIN}.get(int(graph.nodes["status"][node]), int(graph.nodes["status"][node]))
        plies, value = int(graph.nodes["plies"][node]), 1.0 - float(graph.nodes["value"][node])
        is_exact = proven_result != OPEN and plies <= GLANCE_PLIES
        return replace(
            choice, proven_result=proven_result, value=value, most_plies=plies + 1, is_exact=is_exact, node=node
        )


def params_for(position: Position, c_puct: float, playouts: int = PLAYOUTS) -> GraphParams:
    """Parameters of move selection for this board."""
    lines: NDArray[np.float32] = np.zeros(256, np.float32)
    height = len(position.rows)
    for line in lines_of_four(height, len(position.rows[0])):
        if all(position.rows[row][column] != FORBIDDEN for row, column in line):
            for row, column in line:
                lines[16 * column + height - 1 - row] += 1
    lines /= max(1.0, float(lines.max()))
    return GraphParams(
        np.float64(c_puct),
        np.int64(playouts),
        np.float64(FPU_REDUCTION),
        np.array(list(WEIGHTS.values()), np.float32),
        lines,
    )


def emptied(position: Position) -> Position:
    """The board without its stones."""
    return Position(tuple(row.replace("x", EMPTY).replace("o", EMPTY) for row in position.rows))

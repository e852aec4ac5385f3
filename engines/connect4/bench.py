"""Speed of Connect Four without a daemon."""

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from plyd.engines.connect4.board import board_array
from plyd.engines.connect4.engine import Connect4
from plyd.engines.connect4.exact.solver import ExactSolver
from plyd.engines.connect4.exact.table import Table
from plyd.engines.connect4.exact.valuation import Valuation
from plyd.engines.connect4.exact.words import board_words
from plyd.engines.connect4.graph.searcher import OPTIONS, params_for
from plyd.engines.connect4.playout import many_playouts
from plyd.engines.connect4.rules import RULES, Position
from plyd.engines.connect4.solver.alpha_beta import table_for
from plyd.engines.connect4.solver.solver import Solver
from plyd.engines.core.cores import CORES
from plyd.engines.core.figures import Figure
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import OptionValue, read_options
from plyd.engines.core.search import Limits

GAME = "connect4"
SEARCH_OPTIONS = {"solver": "false"}  # the solver's nodes do not count as simulations
PLAYOUTS, RUNS, SECONDS = 200_000, 5, 1.0
SOLVED = ("4", "4", "4", "4", "2", "3", "5", "6", "2", "1")  # moves to a 7x6 position that takes the solver a while
SOLVER_NODES = 2_000_000
EXACT_POSITIONS, EXACT_PLIES = 40, 12  # of 7x6, from seeded random play
COLUMN_POSITIONS, COLUMN_PLIES = 20, 8  # the same, every column
COLUMN_SLICE = 20_000  # nodes between looks at what is known


def figures() -> Iterator[Figure]:
    """Playouts, simulations and solver nodes per second."""
    empty = board_array(RULES.parse("12x12"))
    for name, is_blind, goal in (("random playouts", True, 1.0), ("informed playouts", False, None)):
        many_playouts(empty, 1, is_blind)
        seconds = min(_cpu_seconds(partial(many_playouts, empty, PLAYOUTS, is_blind)) for _ in range(RUNS))
        yield Figure(GAME, f"{name}, 12x12, one core", PLAYOUTS / seconds / 1e6, "M/s", at_least=goal)
    plain = statistics.median(_pace("12x12", method="uct", threads=1) for _ in range(3))
    yield Figure(GAME, "plain UCT, 12x12, one core", plain / 1e6, "M simulations/s")
    for start in ("7x6", "12x12"):
        one = [_pace(start, threads=1) for _ in range(3)]
        yield Figure(GAME, f"graph search, {start}, one core", statistics.median(one) / 1e3, "k simulations/s")
    if CORES.count > 1:
        ratios = [_pace("12x12", threads=2) / _pace("12x12", threads=1) for _ in range(RUNS)]
        yield Figure(GAME, "graph search, 12x12, two cores", statistics.median(ratios), "times one", at_least=1.7)
    yield Figure(GAME, "solver of large boards", _solver_pace() / 1e6, "M nodes/s")
    milliseconds, pace = _exact_figures()
    yield Figure(GAME, f"exact value of a 7x6 position after {EXACT_PLIES} plies, mean, one core", milliseconds, "ms")
    yield Figure(GAME, "exact solver", pace / 1e6, "M nodes/s")
    _, whole = column_seconds(COLUMN_PLIES, COLUMN_POSITIONS)
    name = f"every column of a 7x6 position after {COLUMN_PLIES} plies without a book, one core"
    yield Figure(GAME, f"{name}, p50", 1e3 * statistics.median(whole), "ms")
    yield Figure(GAME, f"{name}, max of {COLUMN_POSITIONS}", 1e3 * max(whole), "ms")


def _pace(start: str, **options: OptionValue) -> float:
    """Simulations per second from an empty board."""
    searcher = Connect4().searcher("classic", read_options(OPTIONS, {}) | options)
    *_, last = searcher.search(RULES.parse(start), Limits(max_seconds=SECONDS), Stop())
    return last.nodes / last.seconds


def _solver_pace() -> float:
    """Nodes per second of the solver."""
    position = RULES.start()
    for move in SOLVED:
        position = RULES.play(position, move).position
    solver = Solver(position, board_array(position), params_for(position, 1.0).lines, table_for(1 << 20))
    seconds = _cpu_seconds(partial(solver.work, NEVER, SOLVER_NODES, Stop()))
    return solver.nodes / seconds


def _exact_figures() -> tuple[float, float]:
    """Milliseconds of the exact solver per position, each with an empty table and no book, and its nodes per second."""
    seconds, nodes = 0.0, 0
    for position in _random_positions(EXACT_PLIES, EXACT_POSITIONS):
        valuation = Valuation(board_words(position), Table(1 << 26))
        seconds += _cpu_seconds(partial(valuation.work, NEVER, NEVER, Stop()))
        nodes += valuation.nodes
    return 1e3 * seconds / EXACT_POSITIONS, nodes / seconds


def column_seconds(plies: int, count: int) -> tuple[list[float], list[float]]:
    """CPU seconds until the result of every column is known, and its distance too, of `count` positions of 7x6 after
    so many plies of seeded random play; each with an empty table and no book, in one thread.
    """
    results, whole = [], []
    for position in _random_positions(plies, count):
        solver = ExactSolver(position, Table(1 << 27), None, every_column=True)
        began, known = time.thread_time(), None
        while not solver.is_finished:
            solver.work(NEVER, COLUMN_SLICE, Stop())
            if known is None and len(solver.columns) == len(RULES.legal_moves(position)):
                known = time.thread_time() - began
        whole.append(time.thread_time() - began)
        results.append(whole[-1] if known is None else known)
    return results, whole


def _random_positions(plies: int, count: int) -> list[Position]:
    """Positions of 7x6 after so many plies of seeded random play."""
    chance = random.Random(1)
    found: list[Position] = []
    while len(found) < count:
        position = RULES.start()
        for _ in range(plies):
            moves = RULES.legal_moves(position)
            position = RULES.play(position, chance.choice(moves).text).position if moves else position
        if RULES.legal_moves(position):
            found.append(position)
    return found


def _cpu_seconds(job: Callable[[], object]) -> float:
    began = time.thread_time()
    job()
    return time.thread_time() - began


if __name__ == "__main__":  # python -m plyd.engines.connect4.bench PLIES COUNT
    known_after, exact_after = column_seconds(int(sys.argv[1]), int(sys.argv[2]))
    for what, times in (("result", known_after), ("distance", exact_after)):
        print(f"{what} of every column: p50 {statistics.median(times):.3f} s, max {max(times):.3f} s")

"""What the searchers of Connect Four promise beyond their answers: that reports are true and change nothing."""

import functools
import subprocess
import sys

import pytest

from plyd.engines.connect4 import board
from plyd.engines.connect4.board import board_array
from plyd.engines.connect4.graph import searcher as search_module
from plyd.engines.connect4.graph.searcher import OPTIONS, GraphSearcher, params_for
from plyd.engines.connect4.report import Choice, best_first
from plyd.engines.connect4.rules import RULES
from plyd.engines.connect4.solver.alpha_beta import table_for
from plyd.engines.connect4.solver.solver import Solver
from plyd.engines.connect4.uct.searcher import UctSearcher
from plyd.engines.core import search_run
from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Clock, Limits, Proven, Result, StopReason
from tests.engines.connect4.slow import DRAW, LOSS, WIN, SlowGame, random_positions
from tests.patience import LONG

SIGNS = {Result.WIN: WIN, Result.DRAW: DRAW, Result.LOSS: LOSS}
RESULTS = {sign: result for result, sign in SIGNS.items()}
WIN_BY, A_DRAW, OPEN_MOVE, LOSS_BY = range(4)  # columns
SMALL = ("5x4", "4x5 #2,3", "5x5 #3,3")


def searcher_of(**options):
    values = read_options(OPTIONS, {"memory": "64"} | {name: str(value).lower() for name, value in options.items()})
    return (UctSearcher if values["method"] == "uct" else GraphSearcher)(values, values["memory"])


def last_of(searcher, position, **limits):
    position = RULES.parse(position) if isinstance(position, str) else position
    *_, last = searcher.search(position, Limits(**limits), Stop())
    return last


@functools.cache
def slow_game(start):
    return SlowGame(RULES.parse(start))


def truth(start, position):
    """WIN, DRAW or LOSS and the plies to the end, and the same of each column."""
    game = slow_game(start)
    return game.result(game.stacks(position)), game.results(game.stacks(position))


def pair(proven):
    return SIGNS[proven.result], proven.plies


# --- Reports ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [True, False])
def test_a_four_that_can_be_made_comes_before_a_win_that_takes_longer(solver):
    # o . . x
    # x . . o      2 makes four; 3 would win too, but two plies later
    # o . o o
    # x . x x
    last = last_of(searcher_of(solver=solver), "o..x/x..o/o.oo/x.xx", max_nodes=1, max_lines=4)
    assert last.move == "2"
    assert last.score.value == Proven(Result.WIN, 1)
    assert [line.score.value for line in last.lines].count(Proven(Result.WIN, 1)) == 1


def test_the_only_move_takes_no_time_of_the_clock():
    # x x x .      o has to play column 4, and nothing is decided then
    text = "/".join(["." * 12] * 9 + ["oo.........o"] + ["xxx........x"])
    last = last_of(searcher_of(solver=False), text, clock=Clock(36_000.0))
    assert (last.move, last.stop_reason) == ("4", StopReason.TIME)  # not one of the twenty minutes


@pytest.mark.parametrize(
    ("value", "order"),
    [
        (0.6, [WIN_BY, OPEN_MOVE, A_DRAW, LOSS_BY]),
        (0.4, [WIN_BY, A_DRAW, OPEN_MOVE, LOSS_BY]),
        (0.5, [WIN_BY, A_DRAW, OPEN_MOVE, LOSS_BY]),
    ],
)
def test_a_proven_draw_is_better_than_an_open_move_that_is_worth_less(value, order):
    still_open = Choice(OPEN_MOVE, board.OPEN, visits=900, value=value)
    draw, win, loss = Choice(A_DRAW, board.DRAW, 5), Choice(WIN_BY, board.WIN, 5), Choice(LOSS_BY, board.LOSS, 5)
    assert [choice.column for choice in best_first([loss, draw, win, still_open])] == order


@pytest.mark.parametrize("text", ["7x6", "16x16"])
def test_how_often_a_search_reports_changes_nothing_that_it_finds(text, monkeypatch):
    found = []
    monkeypatch.setattr(search_module, "ROUND_SIMULATIONS", 5)
    for pause in (NEVER, 0):
        monkeypatch.setattr(search_run, "REPORT_NS", pause)
        last = last_of(searcher_of(solver=False), text, max_nodes=400, max_lines=16)
        found.append((last.nodes, last.move, last.lines))
    assert found[0] == found[1]


def test_distances_are_still_right_when_nodes_were_given_up_on_the_way(monkeypatch):
    monkeypatch.setattr(search_module, "nodes_within", lambda megabytes, columns: 120)
    monkeypatch.setattr(search_module, "FEWEST_NODES", 100)
    monkeypatch.setattr(search_module, "ROUND_SIMULATIONS", 50)
    for start in SMALL[:2]:
        for position in random_positions(start, 12, (10, 11, 12), seed=10):
            moves = truth(start, position)[1]
            for solver in (False, True):
                last = last_of(searcher_of(solver=solver), position, max_nodes=20_000, max_lines=8)
                for line in last.lines:
                    if isinstance(line.score.value, Proven):
                        result, plies = pair(line.score.value)
                        true = moves[int(line.moves[0]) - 1]
                        assert result == true[0], RULES.text(position)
                        assert plies in (None, true[1]), (RULES.text(position), line, true)


def test_the_graph_alone_proves_a_draw_of_few_cells_before_long():
    for start in ("4x4", "5x4"):
        for position in random_positions(start, 20, range(7, 12), seed=2):
            if truth(start, position)[0][0] == DRAW:
                last = last_of(searcher_of(solver=False), position, max_nodes=50_000)
                assert last.stop_reason is StopReason.FINISHED, RULES.text(position)


def test_plain_uct_to_a_depth_ends_too():  # its lines have one move
    assert last_of(searcher_of(method="uct"), "7x6", max_depth=1, max_seconds=60).stop_reason is StopReason.DEPTH


def test_a_search_that_is_given_up_midway_gives_its_core_back():
    before = CORES.spare()
    search = searcher_of().search(RULES.parse("12x12"), Limits(), Stop())
    next(search)
    assert CORES.spare() == before - 1
    search.close()
    assert CORES.spare() == before


# --- Options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["graph", "uct"])
def test_the_option_c_says_how_much_a_search_tries_what_it_has_tried_little(method):
    most = []
    for c in (0.05, 10.0):
        lines = last_of(searcher_of(method=method, c=c, solver=False), "7x6", max_nodes=3000, max_lines=7).lines
        most.append(max(line.visits for line in lines))
    assert most[0] > most[1]


@pytest.mark.parametrize("method", ["graph", "uct"])
def test_other_seeds_differ_but_stay_legal(method):
    found = [last_of(searcher_of(method=method, seed=seed), "9x9", max_nodes=500, max_lines=9) for seed in range(6)]
    assert len({tuple(line.visits for line in last.lines) for last in found}) > 1
    for last in found:
        assert sorted(line.moves[0] for line in last.lines) == [str(column) for column in range(1, 10)]


def test_plain_uct_counts_a_draw_as_half_a_win():
    for position in random_positions("4x4", 20, (1, 2, 3), seed=11):
        game = SlowGame(position)
        value = last_of(searcher_of(method="uct"), position, max_nodes=5000).score.value.probability
        assert value == pytest.approx((game.result(game.stacks(position))[0] + 1) / 2, abs=0.05)


# --- The solver -------------------------------------------------------------------------------------------------------


def solver_for(position):
    return Solver(position, board_array(position), params_for(position, 1.0).lines, table_for(1 << 14))


def finish(solver):
    while not solver.is_finished:
        solver.work(NEVER, 1_000_000, Stop())
    return solver.verdict


@pytest.mark.parametrize("start", SMALL)
def test_a_verdict_names_a_column_with_room_or_none(start):
    for position in random_positions(start, 30, (1, 3, 5, 7, 9, 11), seed=8):
        column = finish(solver_for(position)).column
        free = {int(move.text) - 1 for move in RULES.legal_moves(position)}
        assert column is None or column in free, RULES.text(position)


@pytest.mark.parametrize("start", SMALL)
def test_a_solver_that_hears_the_result_finds_the_distance_and_a_move_that_takes_it(start):
    for position in random_positions(start, 24, (7, 9, 10, 11), seed=7):
        best, moves = truth(start, position)
        if best[1] <= 3:
            continue  # what a glance decides
        cells = position.count(".")
        for most in {best[1], min(cells, best[1] + 2), cells}:
            for before in (0, 5, 50, 5000):
                solver = solver_for(position)
                solver.work(NEVER, before, Stop())
                solver.hear(RESULTS[best[0]], most)
                verdict = finish(solver)
                assert pair(verdict.proven) == best, (RULES.text(position), most, before)
                if verdict.column is not None and verdict.column >= 0:
                    assert moves[verdict.column] == best, (RULES.text(position), most, before)


def test_no_kernel_is_left_to_compile_once_the_engine_is_warm():
    code = """
from plyd.engines import registry
from plyd.engines.connect4.exact import book, entries, kernel as exact, words
from plyd.engines.connect4.graph import kernel as graph, memory
from plyd.engines.connect4.solver import alpha_beta
from plyd.engines.connect4.uct import kernel as uct
registry.load("connect4").warm_up()
kernels = (graph.enter, graph.search_slice, memory.recycle, alpha_beta.work, uct.grow)
kernels += (exact.search_slice, entries.spread, words.least_key)
print(*(len(kernel.signatures) for kernel in kernels))
from plyd.engines.connect4.rules import RULES
from plyd.engines.connect4.graph.searcher import OPTIONS, GraphSearcher
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.search import Limits
searcher = GraphSearcher(read_options(OPTIONS, {"threads": "2"}), megabytes=8)
for limits in (Limits(max_nodes=60_000, max_lines=16), Limits(max_seconds=0.05)):
    for start in ("12x12 #3,3", "7x6", "6x6"):
        list(searcher.search(RULES.parse(start), limits, Stop()))
print(*(len(kernel.signatures) for kernel in kernels))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG)
    assert done.stdout.splitlines() == ["1 1 1 1 1 1 1 1"] * 2, done.stderr

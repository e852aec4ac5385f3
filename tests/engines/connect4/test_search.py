"""The searchers of Connect Four: what is forced, what is proven, what is kept, and when they stop."""

import random
import threading
import time
from dataclasses import replace

import pytest

from plyd.engines.connect4.board import board_array
from plyd.engines.connect4.engine import Connect4
from plyd.engines.connect4.exact.solver import ExactSolver
from plyd.engines.connect4.graph.memory import OLDEST
from plyd.engines.connect4.graph.searcher import OPTIONS, params_for
from plyd.engines.connect4.rules import RULES, STONES, landing, lines_of, mover
from plyd.engines.connect4.solver.alpha_beta import table_for
from plyd.engines.connect4.solver.solver import Solver
from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Limits, Proven, Result, StopReason, WinProbability
from tests.engines.conftest import reports_until_stopped, warmed
from tests.engines.connect4 import oracle, slow
from tests.engines.connect4.slow import SlowGame, after, random_positions
from tests.patience import SOON, until

SIZES = ["4x4", "5x4", "4x7", "7x6", "7x6 #4,2", "9x5 #1,3", "16x16", "16x16 #8,2"]
SMALL = ["4x4", "4x4 #2,2", "5x4", "5x4 #3,2", "5x4 #5,1", "4x5", "4x5 #2,3", "4x5 #4,5"]
MANY = 200_000  # nodes; more than a small board needs
RESULTS = {Result.WIN: slow.WIN, Result.DRAW: slow.DRAW, Result.LOSS: slow.LOSS}


@pytest.fixture(scope="module", autouse=True)
def engine():
    """Compiled, so that no test's clock runs while that is done."""
    return warmed("connect4")


def searcher(**options):
    """A new searcher, with little memory unless told otherwise."""
    texts = {name: str(value).lower() for name, value in options.items()}
    return Connect4().searcher("classic", read_options(OPTIONS, {"memory": "32"} | texts))


def answer(position, using=None, **limits):
    """The last report of a search."""
    return list((using or searcher()).search(position, Limits(**limits), Stop()))[-1]


def legal(position):
    return {move.text for move in RULES.legal_moves(position)}


def column_of(report):
    return int(report.move) - 1


def late_positions(start, seed, count=32):
    """Positions in which something is going on, at most half the cells of the board empty; fewer of large boards."""
    cells = RULES.parse(start).count(".")
    return random_positions(start, count if cells < 100 else count // 8, range(2, cells // 2), seed)


# --- Forced moves -----------------------------------------------------------------------------------------------------


def directions_of(position, column, stone):
    """The directions, (down, right), of the fours that a stone in a column would make."""
    rows, at = position.rows, (landing(position, column), column)
    fours = [
        line
        for line in lines_of(len(rows), len(rows[0]))
        if at in line and all(cell == at or rows[cell[0]][cell[1]] == stone for cell in line)
    ]
    return {(line[1][0] - line[0][0], line[1][1] - line[0][1]) for line in fours}


def columns_with(results, result):
    return {column for column, found in results.items() if found == result}


EVERY_DIRECTION = {(0, 1), (1, 0), (1, 1), (1, -1)}


@pytest.mark.parametrize("nodes", [1, 50])
def test_a_win_at_once_is_made_in_every_direction(nodes):
    directions, tried = set(), 0
    for start in SIZES:
        for position in late_positions(start, seed=1):
            game = SlowGame(position)
            wins = columns_with(game.results(game.stacks(position), 1), (slow.WIN, 1))
            if wins:
                report = answer(position, max_nodes=nodes)
                assert column_of(report) in wins, RULES.text(position)
                assert report.score.value == Proven(Result.WIN, 1)
                assert report.stop_reason is StopReason.FINISHED
                directions |= directions_of(position, column_of(report), STONES[mover(position)])
                tried += 1
    assert tried > 20
    assert directions == EVERY_DIRECTION


@pytest.mark.parametrize("nodes", [1, 7, 50])
def test_what_can_be_blocked_is_blocked_in_every_direction_and_no_cell_above_is_handed_over(nodes):
    directions, blocked, others = set(), 0, 0
    for start in SIZES:
        for position in late_positions(start, seed=2):
            game = SlowGame(position)
            results = game.results(game.stacks(position), 2)
            lost = columns_with(results, (slow.LOSS, 2))
            if columns_with(results, (slow.WIN, 1)) or not 0 < len(lost) < len(results):
                continue
            report = answer(position, max_nodes=nodes)
            assert column_of(report) in set(results) - lost, RULES.text(position)
            stone = "x" if STONES[mover(position)] == "o" else "o"
            threats = directions_of(position, column_of(report), stone)
            directions |= threats
            blocked += bool(threats)
            others += not threats
    assert blocked > 10
    assert others > 10
    assert directions == EVERY_DIRECTION


def test_the_cell_above_the_forbidden_one_is_not_handed_over():
    # . . . . . . .
    # . . . . . . .
    # o . . . . . .
    # x o o . o . o      o wins above the forbidden cell as soon as a stone lies below that
    # x x x # x . x
    # o x o . o . x      x to move
    position = RULES.parse("......./......./o....../xoo.o.o/xxx#x.x/oxo.o.x")
    assert mover(position) is Side.PLAYER_ONE
    for nodes in (1, 10, 50):
        report = answer(position, max_nodes=nodes, max_lines=7)
        assert report.move != "4"
        assert next(line for line in report.lines if line.moves[0] == "4").score.value == Proven(Result.LOSS, 2)


# --- Proven results ---------------------------------------------------------------------------------------------------


def assert_proven_lines_are_right(game, position, report):
    """Whatever is said to be certain is, of the position and of each line, and how long it takes if that is said."""
    results = game.results(game.stacks(position))
    if isinstance(report.score.value, Proven):
        result, plies = game.result(game.stacks(position))
        assert RESULTS[report.score.value.result] == result, (RULES.text(position), report)
        assert report.score.value.plies in (None, plies), (RULES.text(position), report)
    assert {int(line.moves[0]) - 1 for line in report.lines} == set(results)
    for line in report.lines:
        if isinstance(line.score.value, Proven):
            result, plies = results[int(line.moves[0]) - 1]
            assert RESULTS[line.score.value.result] == result, (RULES.text(position), line)
            assert line.score.value.plies in (None, plies), (RULES.text(position), line)


@pytest.mark.parametrize("start", SMALL)
def test_a_search_to_the_end_finds_result_distance_and_a_move_that_gets_it(start):
    game = SlowGame(RULES.parse(start))
    for position in random_positions(start, 12, range(2, 11), seed=3):
        report = answer(position, max_nodes=MANY, max_lines=16)
        result, plies = game.result(game.stacks(position))
        value = report.score.value
        assert (RESULTS[value.result], value.plies) == (result, plies), RULES.text(position)
        assert report.stop_reason is StopReason.FINISHED
        assert report.score.exact
        assert game.results(game.stacks(position))[column_of(report)] == (result, plies)
        assert_proven_lines_are_right(game, position, report)


@pytest.mark.parametrize("start", SMALL)
def test_the_graph_alone_proves_the_same_result(start):
    game = SlowGame(RULES.parse(start))
    for position in random_positions(start, 12, range(2, 11), seed=4):
        report = answer(position, searcher(solver=False), max_nodes=20_000, max_lines=16)
        result, _ = game.result(game.stacks(position))
        assert report.stop_reason is StopReason.FINISHED, RULES.text(position)
        assert RESULTS[report.score.value.result] == result
        assert game.results(game.stacks(position))[column_of(report)][0] == result, RULES.text(position)
        assert_proven_lines_are_right(game, position, report)


@pytest.mark.parametrize("start", ["4x4", "4x4 #2,1", "5x4", "4x5 #2,3"])
def test_what_is_called_certain_after_few_nodes_is_so(start):
    game = SlowGame(RULES.parse(start))
    for position in random_positions(start, 10, range(6, 11), seed=5):
        for options in ({}, {"solver": False}):
            using = searcher(**options)
            for nodes in (1, 5, 30, 200):
                assert_proven_lines_are_right(game, position, answer(position, using, max_nodes=nodes, max_lines=16))


def test_the_empty_board_of_4x4_is_a_draw_and_so_is_5x4():
    for start in ("4x4", "5x4"):
        position = RULES.parse(start)
        assert answer(position, max_nodes=10**7).score.value == Proven(Result.DRAW, position.count("."))


# --- The solver -------------------------------------------------------------------------------------------------------


def solver_of(position):
    return Solver(position, board_array(position), params_for(position, 1.0).lines, table_for(1 << 12))


@pytest.mark.parametrize("start", SMALL)
def test_the_solver_finds_result_distance_and_move(start):
    game = SlowGame(RULES.parse(start))
    for position in random_positions(start, 25, range(1, 11), seed=6):
        solver = solver_of(position)
        assert solver.verdict is None
        solver.work(NEVER, NEVER, Stop())
        assert solver.is_finished
        result, plies = game.result(game.stacks(position))
        proven, column = solver.verdict.proven, solver.verdict.column
        assert (RESULTS[proven.result], proven.plies) == (result, plies), RULES.text(position)
        assert column is None or game.results(game.stacks(position)).get(column) == (result, plies)


def test_the_solver_finds_the_same_in_slices():
    for start in ("5x4 #3,2", "5x5", "6x5"):
        for position in random_positions(start, 4, (12, 13), seed=7):
            found = []
            for size in (NEVER, 100, 7, 1):
                solver = solver_of(position)
                while not solver.is_finished:
                    before = solver.nodes
                    solver.work(NEVER, size, Stop())
                    assert before < solver.nodes or solver.is_finished
                    assert solver.nodes - before <= size
                found.append((solver.verdict, solver.nodes))
            assert len(set(found)) == 1


def test_a_solver_told_to_stop_or_out_of_time_goes_on_later():
    position = after("7x6", *"4444423356")
    solver, stop = solver_of(position), Stop()
    stop.set()
    solver.work(NEVER, NEVER, stop)
    stopped = solver.nodes
    solver.work(time.monotonic_ns(), NEVER, Stop())
    assert solver.verdict is None
    assert stopped < solver.nodes < 5000


# --- The same again, and what is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["7x7", "12x10 #5,3"])
@pytest.mark.parametrize("method", ["graph", "uct"])
def test_new_searchers_with_the_same_seed_and_nodes_say_the_same(start, method):
    for position in (RULES.parse(start), after(start, *"443")):
        once, again, other = (
            replace(answer(position, searcher(method=method, seed=seed), max_nodes=1500, max_lines=16), seconds=0.0)
            for seed in (5, 5, 6)
        )
        assert once == again
        assert once.lines != other.lines


def test_what_was_found_out_is_kept_from_move_to_move():
    using, position = searcher(solver=False), RULES.parse("7x6")
    report = answer(position, using, max_nodes=4000)
    for _ in range(4):
        visits = report.lines[0].visits
        position = RULES.play(position, report.move).position
        report = answer(position, using, max_nodes=3000)
        assert report.kept_nodes >= visits > 100
        assert report.nodes == 3000
        assert sum(line.visits for line in answer(position, using, max_nodes=1, max_lines=7).lines) > 3000


def test_pondering_serves_the_next_search():
    using, position, stop, reports = searcher(solver=False, threads=1), after("9x8", *"55"), Stop(), []
    thread = threading.Thread(target=lambda: reports.extend(using.search(position, Limits(), stop)))
    thread.start()
    until(lambda: reports and reports[-1].nodes > 1000)
    stop.set()
    thread.join(SOON)
    assert reports[-1].stop_reason is StopReason.STOPPED
    after_it = RULES.play(position, reports[-1].move).position
    report = answer(after_it, using, max_nodes=1)
    assert report.kept_nodes >= reports[-1].lines[0].visits > 100
    assert report.nodes == 1


def test_another_board_begins_anew():
    using = searcher()
    for start in ("7x7", "7x7 #4,1", "6x8", "7x7"):
        report = answer(RULES.parse(start), using, max_nodes=300)
        assert (report.nodes, report.kept_nodes) == (300, 0)
        assert report.move in legal(RULES.parse(start))


# --- The report -------------------------------------------------------------------------------------------------------


def rank(line):
    """How good a line is as far as that is certain."""
    value = line.score.value
    return {Result.WIN: 2, Result.DRAW: 1, Result.LOSS: 0}[value.result] if isinstance(value, Proven) else 1


@pytest.mark.parametrize("start", SIZES)
def test_every_legal_move_has_one_line_the_best_first_and_lines_can_be_played(start):
    for position in [RULES.parse(start), *late_positions(start, seed=8, count=8)]:
        report = answer(position, max_nodes=200, max_lines=16)
        assert sorted(line.moves[0] for line in report.lines) == sorted(legal(position))
        assert report.move == report.lines[0].moves[0]
        assert report.score == report.lines[0].score
        certain = [line for line in report.lines if isinstance(line.score.value, Proven)]
        assert rank(report.lines[0]) == max(map(rank, certain if report.score.exact else report.lines))
        for line in report.lines:
            assert isinstance(line.score.value, Proven) or 0 <= line.score.value.probability <= 1
            assert line.score.point_of_view is mover(position)
            now = position
            for move in line.moves:
                now = RULES.play(now, move).position


@pytest.mark.parametrize("start", ["4x4", "4x7", "7x6", "7x6 #4,2"])
def test_no_line_of_a_lost_position_has_a_chance(start):
    lost = 0
    for position in late_positions(start, seed=8):
        report = answer(position, max_nodes=200, max_lines=16)
        if isinstance(report.score.value, Proven) and report.score.value.result is Result.LOSS:
            lost += 1
            chances = [line for line in report.lines if not isinstance(line.score.value, Proven)]
            assert not chances, RULES.text(position)
    assert lost > 1


def test_there_are_no_more_lines_than_asked_for():
    position = RULES.parse("7x6")
    assert [len(answer(position, max_nodes=50, max_lines=count).lines) for count in (1, 3, 7, 50)] == [1, 3, 7, 7]


def test_reports_come_while_a_search_goes_on_and_nodes_only_grow():
    reports = reports_until_stopped(searcher(), RULES.parse("12x12"), 3)
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    nodes = [report.nodes for report in reports]
    assert nodes == sorted(nodes)


# --- Memory -----------------------------------------------------------------------------------------------------------


def megabytes_of(using):
    arrays = [*using._graph, *(using._table or ())]
    return sum(array.nbytes for array in arrays) / (1 << 20)


@pytest.mark.parametrize(("start", "nodes"), [("16x16", 45_000), ("7x6", 60_000), ("7x6 #4,1", 60_000)])
def test_a_search_goes_on_past_the_room_there_is(start, nodes):
    using, position = searcher(memory=8, solver=False), RULES.parse(start)
    report = answer(position, using, max_nodes=nodes, max_lines=16)
    assert report.nodes == nodes > using._graph.nodes.size
    assert megabytes_of(using) <= 8
    assert sorted(line.moves[0] for line in report.lines) == sorted(legal(position))
    assert all(isinstance(line.score.value, WinProbability) for line in report.lines)
    assert report.lines[0].visits == max(line.visits for line in report.lines)


def test_a_full_graph_is_walked_on_when_there_is_no_time_to_make_room():
    using, position = searcher(memory=8, solver=False), RULES.parse("16x16")
    answer(position, using, max_nodes=17_000)
    report = answer(position, using, max_seconds=0.24)
    assert report.nodes > 0
    assert report.stop_reason is StopReason.TIME
    assert megabytes_of(using) <= 8


def test_a_search_that_is_stopped_as_it_begins_does_not_recycle_the_graph():
    using, position, stop = searcher(memory=8, solver=False), RULES.parse("16x16"), Stop()
    answer(position, using, max_nodes=12_000)
    generation = int(using._graph.state[0])
    stop.set()
    [report] = using.search(position, Limits(), stop)
    assert report.stop_reason is StopReason.STOPPED
    assert using._graph.state[0] == generation, "nothing was freed"


def test_a_whole_game_with_little_memory_stays_within_it():
    using, position, rng = searcher(memory=8), RULES.parse("8x8 #4,4"), random.Random(1)
    while RULES.outcome(position) is Outcome.ONGOING:
        report = answer(position, using, max_nodes=4000)
        assert report.move in legal(position)
        assert report.nodes <= 4000
        assert megabytes_of(using) <= 8
        move = report.move if rng.random() < 0.5 else rng.choice(sorted(legal(position)))
        position = RULES.play(position, move).position
    assert using._graph.state[OLDEST] > 1, "the graph was recycled"


def test_little_memory_does_not_change_what_is_proven():
    game = SlowGame(RULES.parse("5x4"))
    for position in random_positions("5x4", 5, (10, 11), seed=9):
        report = answer(position, searcher(memory=8), max_nodes=MANY)
        assert RESULTS[report.score.value.result] == game.result(game.stacks(position))[0]


# --- When it stops ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("start", ["7x7", "16x16"])
def test_another_thread_stops_a_search_without_limits(start, threads):
    stop, reports, position = Stop(), [], RULES.parse(start)
    using, has_searched = searcher(threads=threads), threading.Event()

    def search():
        for report in using.search(position, Limits(), stop):
            reports.append(report)
            has_searched.set()

    thread = threading.Thread(target=search)
    thread.start()
    assert has_searched.wait(SOON)
    stop.set()
    thread.join(SOON)
    assert not thread.is_alive()
    assert reports[-1].stop_reason is StopReason.STOPPED
    assert reports[-1].move in legal(position)


def test_time_ends_a_search():
    for method in ("graph", "uct"):
        report = answer(RULES.parse("12x12"), searcher(method=method), max_seconds=0.1)
        assert report.stop_reason is StopReason.TIME
        assert 0.09 < report.seconds < SOON


def test_depth_ends_a_search():
    report = answer(RULES.parse("7x7"), max_depth=6, max_nodes=MANY)
    assert report.stop_reason is StopReason.DEPTH
    assert report.depth == len(report.lines[0].moves) >= 6
    assert report.nodes < MANY


def test_nodes_end_a_search():
    for nodes in (1, 2, 100, 2500):
        report = answer(RULES.parse("12x12"), max_nodes=nodes)
        assert report.stop_reason is StopReason.NODES
        assert report.nodes == nodes


def test_a_finished_game_is_not_searched():
    # x x o o
    # o o x x
    # x x o o      full
    # o o x x
    for method in ("graph", "uct"):
        full = answer(RULES.parse("xxoo/ooxx/xxoo/ooxx"), searcher(method=method), max_nodes=10)
        assert (full.move, full.stop_reason) == (None, StopReason.NO_SEARCH)
        assert full.score.value == Proven(Result.DRAW, 0)
        lost = answer(after("7x6", *"1212121"), searcher(method=method), max_nodes=10)
        assert (lost.move, lost.stop_reason) == (None, StopReason.NO_SEARCH)
        assert lost.score.value == Proven(Result.LOSS, 0)


@pytest.mark.parametrize("method", ["graph", "uct"])
@pytest.mark.parametrize("solver", [True, False])
def test_the_only_legal_move_is_played(method, solver):
    # x x . o      x: the last two cells are in column 3, and nobody makes four
    # o o . x
    # x x o o
    # o o x x
    position = RULES.parse("xx.o/oo.x/xxoo/ooxx")
    assert legal(position) == {"3"}
    for nodes in (1, 20):
        report = answer(position, searcher(method=method, solver=solver), max_nodes=nodes, max_lines=4)
        assert report.move == "3"
        assert len(report.lines) == 1
        if method == "graph":
            assert report.score.value == Proven(Result.DRAW, 2)


# --- Threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["4x4", "5x4 #3,2", "4x5"])
def test_two_threads_prove_the_same(start):
    game = SlowGame(RULES.parse(start))
    for position in random_positions(start, 8, range(5, 11), seed=10):
        result = game.result(game.stacks(position))
        for solver in (True, False):
            report = answer(position, searcher(threads=2, solver=solver), max_seconds=SOON, max_lines=16)
            assert report.stop_reason is StopReason.FINISHED
            assert RESULTS[report.score.value.result] == result[0], RULES.text(position)
            assert_proven_lines_are_right(game, position, report)


def test_two_threads_play_legal_moves():
    for start in SIZES:
        position = RULES.parse(start)
        report = answer(position, searcher(threads=2), max_nodes=2000, max_lines=16)
        assert sorted(line.moves[0] for line in report.lines) == sorted(legal(position))
        assert report.nodes > 0 or report.stop_reason is StopReason.FINISHED


def test_two_searches_at_once_both_answer_and_give_their_cores_back():
    reports = {}

    def run(start):
        reports[start] = answer(RULES.parse(start), searcher(threads=0), max_seconds=0.3)

    spare = CORES.spare()
    threads = [threading.Thread(target=run, args=(start,)) for start in ("7x7", "12x10 #5,3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    for start in ("7x7", "12x10 #5,3"):
        assert reports[start].move in legal(RULES.parse(start))
        assert reports[start].stop_reason is StopReason.TIME
    assert CORES.spare() == spare


# --- Plain UCT --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["4x4", "7x6", "7x6 #4,5", "9x5 #1,5", "16x16 #8,2"])
@pytest.mark.parametrize("columns", ["121212", "343434", "414141"])
def test_uct_takes_a_win_at_once_where_all_else_loses_at_once(start, columns):
    # x o      x wins in the column of its stones, and so does o if x does not
    # x o
    # x o
    report = answer(after(start, *columns), searcher(method="uct"), max_nodes=1500)
    assert report.move == columns[0]
    assert report.score.value.probability > 0.9


@pytest.mark.parametrize("start", SIZES)
def test_uct_always_moves_legally(start):
    for position in [RULES.parse(start), *late_positions(start, seed=11, count=8)]:
        for nodes in (1, 5, 200):
            report = answer(position, searcher(method="uct"), max_nodes=nodes, max_lines=16)
            assert sorted(line.moves[0] for line in report.lines) == sorted(legal(position))
            assert report.move == report.lines[0].moves[0]
            assert report.nodes == nodes


# --- Strength ---------------------------------------------------------------------------------------------------------


def test_few_nodes_keep_the_result_of_played_positions():
    positions = oracle.read()["played"][::15]
    assert len(positions) == 20
    assert sum(oracle.kept(positions, max_nodes=3000)) >= 19


@pytest.mark.slow
def test_a_tenth_of_a_second_keeps_the_result_of_nearly_all_solved_positions():
    found = [is_kept for positions in oracle.read().values() for is_kept in oracle.kept(positions, max_seconds=0.1)]
    assert len(found) == 600
    assert sum(found) >= 0.99 * len(found)


@pytest.mark.parametrize("nodes", [1, 200, 1000, 10_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_move_is_not_called_winning_because_the_book_says_that_some_move_wins(nodes, threads):
    position = after("7x6", *"4444")  # a win in the book, by 4 alone
    report = answer(position, searcher(threads=threads), max_nodes=nodes, max_lines=7)
    proven = {line.moves[0]: line.score.value for line in report.lines if isinstance(line.score.value, Proven)}
    assert {move for move, value in proven.items() if value.result is Result.WIN} <= {"4"}
    assert (report.move == "4") or "4" not in proven


def test_a_node_limit_ends_a_search_whose_winner_is_known_before_its_distance(monkeypatch):
    monkeypatch.setattr(ExactSolver, "is_finished", False)  # the distance takes for ever
    position = after("5x4", *"33322")
    report = list(searcher(threads=1).search(position, Limits(max_seconds=SOON, max_nodes=1500), Stop()))[-1]
    assert isinstance(report.score.value, Proven)
    assert report.stop_reason is StopReason.NODES

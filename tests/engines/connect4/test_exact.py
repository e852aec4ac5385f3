"""The exact solver of small boards: values against brute force and known answers, parity rules, table, slices."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from plyd.engines.connect4.exact import kernel, parity, words
from plyd.engines.connect4.exact.solver import ExactSolver
from plyd.engines.connect4.exact.table import GROWTH, LARGER_BYTES, Table
from plyd.engines.connect4.exact.valuation import Valuation, after
from plyd.engines.connect4.exact.words import board_words, winning_cells
from plyd.engines.connect4.rules import RULES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.search import Proven, Result
from tests.engines.connect4 import oracle, slow
from tests.engines.connect4.slow import SlowGame, random_positions

BOARDS = ["4x4", "4x4 #2,2", "5x4", "5x4 #5,1", "4x5 #2,3", "6x4", "5x5 #3,3", "4x6 #2,4", "6x6", "7x5", "7x6"]
BOARDS += ["7x6 #4,1", "8x6 #3,3", "8x5"]
SIGNS = {Result.WIN: slow.WIN, Result.DRAW: slow.DRAW, Result.LOSS: slow.LOSS}


def solved(position, *, every_column=True, table=None, slice_nodes=NEVER, book=None):
    """The solver of a position, finished."""
    solver = ExactSolver(position, table or Table(1 << 20), book, every_column=every_column)
    while not solver.is_finished:
        solver.work(NEVER, slice_nodes, Stop())
    return solver


def pair(proven):
    return SIGNS[proven.result], proven.plies


def pairs(columns):
    return {column: pair(proven) for column, proven in columns.items()}


def position_after(moves):
    return slow.after("7x6", *moves)


@pytest.mark.parametrize("board", BOARDS)
def test_results_and_distances_of_every_column_agree_with_brute_force(board):
    for position in random_positions(board, 8, range(1, 10), seed=3):
        game = SlowGame(position)
        stacks = game.stacks(position)
        best, moves = game.result(stacks), game.results(stacks)
        solver = solved(position, slice_nodes=50)
        assert pairs(solver.columns) == moves, RULES.text(position)
        for verdict in (solver.verdict, solved(position, every_column=False).verdict):
            assert pair(verdict.proven) == best, RULES.text(position)
            assert moves[verdict.column] == best, RULES.text(position)


@pytest.mark.parametrize(
    ("board", "result", "plies"),
    [("4x4", Result.DRAW, 16), ("5x4", Result.DRAW, 20), ("4x5", Result.DRAW, 20), ("5x5", Result.DRAW, 25)],
)
def test_small_boards_are_solved_from_the_first_move(board, result, plies):
    assert solved(RULES.parse(board), every_column=False).verdict.proven == Proven(result, plies)


@pytest.mark.parametrize("kind", ["random", "played"])
def test_solved_positions_of_7x6_have_their_known_results(kind):
    table = Table(1 << 22)  # kept: what it holds of one position is true of the next
    for moves, results in oracle.read()[kind][::10]:
        found = solved(position_after(moves), table=table).columns
        for column, result in enumerate(results):
            if result == "-":
                assert column not in found
            else:
                proven = found[column]
                text = "D" if proven.result is Result.DRAW else f"{proven.result.value[0].upper()}{proven.plies}"
                assert text == result, (moves, column)


def test_where_a_search_pauses_changes_neither_its_result_nor_its_nodes():
    position = position_after("4277454225266514")
    whole, sliced = solved(position), solved(position, slice_nodes=7)
    assert (whole.columns, whole.nodes) == (sliced.columns, sliced.nodes)
    assert whole.nodes > 7


def test_a_table_that_grows_keeps_its_entries():
    table = Table(LARGER_BYTES)
    position = position_after("521512324641")
    value = Valuation(board_words(position), table)
    value.work(NEVER, 20_000, Stop())
    before = np.sort(table.entries[table.entries != 0])
    bits = table.bits
    table.grow()
    assert table.bits == bits + 1
    assert np.array_equal(np.sort(table.entries[table.entries != 0]), before)
    again = Valuation(board_words(position), table)
    again.work(NEVER, NEVER, Stop())
    assert pair(again.proven) == pair(solved(position, every_column=False).verdict.proven)


def test_a_long_search_uses_more_of_its_table():
    table = Table(1 << 26)
    bits = table.bits
    value = Valuation(board_words(position_after("44444")), table)
    value.work(NEVER, GROWTH[0][0] + 1, Stop())
    assert table.bits > bits


def values_of_moves(position):
    """The value of each move that does not end the game and does not let the opponent win at once."""
    game, left = SlowGame(position), position.count(".")
    results = game.results(game.stacks(position))
    return {move: result * (left + 1 - plies) for move, (result, plies) in results.items() if plies > 2}


def told_of_moves(position, alpha, moves):
    """Of these columns: which win in three plies, and which parity says exceed alpha or do not."""
    here, lanes, bits = board_words(position), np.zeros(parity.LANE_WORDS, np.uint64), 0
    mine, yours, taken = (np.uint64(word) for word in here[:3])
    cells, wins = np.uint64(words.playable(taken)), np.uint64(winning_cells(yours)) & words.CELLS & ~taken
    for move in moves:
        bits |= int(cells & words.COLUMN[move])
    moves = np.uint64(bits)
    won = parity.look_at_moves(lanes, 0, mine, taken, cells, moves, here[words.NO_STONE], here[words.UPPER])
    moves_last = position.count(".") % 2 == 1
    told = parity.told_by_parity(lanes, 0, mine, yours, taken, wins, moves, here, alpha, moves_last)
    return [{words.column_of(bit) for bit in words.COLUMN & np.uint64(found) if bit} for found in (won, *told)]


def test_what_is_said_of_moves_without_a_search_is_true():
    said = dict.fromkeys(("won", "greater", "other"), 0)
    for board in BOARDS:
        for position in random_positions(board, 20, range(6, 12), seed=5):
            values, left = values_of_moves(position), position.count(".")
            for alpha in range(-7, 8):
                won, greater, other = told_of_moves(position, alpha, values)
                assert won == {move for move, value in values.items() if value == left - 2}, RULES.text(position)
                assert all(values[move] > alpha for move in greater), (RULES.text(position), alpha, greater)
                assert all(values[move] <= alpha for move in other), (RULES.text(position), alpha, other)
                said["won"] += len(won)
                said["greater"] += len(greater) * (alpha > 0)
                said["other"] += len(other) * (alpha < -1)
    assert min(said.values()) > 4, said


def test_each_position_has_a_key_of_its_own():
    chance, seen = random.Random(1), {}
    for board in ("7x6", "7x6 #4,2", "8x5 #1,1"):
        seen.clear()
        for _ in range(60):
            for position in slow.random_game(board, chance):
                here = board_words(position)
                key = int(words.key_of(here[words.MINE], here[words.TAKEN]))
                assert seen.setdefault(key, position) == position
                assert key < 1 << words.KEY_BITS


def test_a_stone_falls_as_the_rulebook_says():
    for board in BOARDS:
        for position in random_positions(board, 5, range(2, 12), seed=6):
            for move in RULES.legal_moves(position):
                grown = after(board_words(position), int(move.text) - 1)
                assert np.array_equal(grown, board_words(RULES.play(position, move.text).position))


def test_threads_that_share_a_table_find_the_same_results():
    for position in (position_after("4277454225266514"), position_after("521512324641"), RULES.parse("5x5")):
        alone, table = solved(position), Table(LARGER_BYTES)
        solver = ExactSolver(position, table, None, every_column=True)
        with ThreadPoolExecutor(3) as pool:
            while not solver.is_finished:
                for job in [pool.submit(solver.work_beside, NEVER, 3_000, Stop()) for _ in range(3)]:
                    job.result()
                solver.make_room()
        assert solver.columns == alone.columns
        assert solver.verdict.proven == alone.verdict.proven
        assert solver.columns[solver.verdict.column] == solver.verdict.proven


def test_a_thread_never_works_on_what_another_has():
    solver = ExactSolver(position_after("444444"), Table(1 << 20), None, every_column=True)
    tasks = [solver._claim() for _ in range(8)]
    assert len({task for task, distance in tasks[:7] if not distance}) == 7  # the position and its six columns
    assert tasks[7] is None


def test_the_results_of_all_columns_are_known_before_a_distance():
    solver = ExactSolver(position_after("4277454225"), Table(1 << 22), None, every_column=True)
    while any(proven.plies is None for proven in solver.columns.values()) or len(solver.columns) < 7:
        if solver._next()[1]:
            assert len(solver.columns) == 7
        solver.work(NEVER, 500, Stop())
    assert solver.nodes > 500


def test_a_stopped_solver_resumes():
    stop = Stop()
    stop.set()
    solver = ExactSolver(position_after("444442"), Table(1 << 20), None, every_column=False)
    solver.work(NEVER, NEVER, stop)
    assert not solver.is_finished
    assert solver.nodes <= kernel.POLL

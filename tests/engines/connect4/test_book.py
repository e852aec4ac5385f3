"""Opening books of Connect Four: made, resumed, packed, read, refused, and used by the searcher."""

import functools
import logging
import random
import threading

import numpy as np
import pytest
from click.testing import CliRunner

from plyd.engines.book import book as book_command
from plyd.engines.connect4.engine import Connect4
from plyd.engines.connect4.exact import book as book_module
from plyd.engines.connect4.exact.book import Book, most_stones, read_book, shipped_book
from plyd.engines.connect4.exact.build import BookBuilder
from plyd.engines.connect4.exact.solver import ExactSolver
from plyd.engines.connect4.exact.table import Table
from plyd.engines.connect4.exact.valuation import Valuation
from plyd.engines.connect4.exact.words import board_words
from plyd.engines.connect4.rules import RULES
from plyd.engines.core.intrinsics import NEVER, Stop
from plyd.engines.core.options import read_options
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Limits, Proven, Result, StopReason
from plyd.models.errors import BadWeights
from tests.engines.connect4.slow import SlowGame, after

BOARD, PLIES = "4x4", 4


def built(max_count=None, into=None, board=BOARD, plies=PLIES):
    builder = into or BookBuilder(board, plies, megabytes=8)
    for _ in builder.train(threading.Event(), max_count):
        pass
    return builder


@pytest.fixture(scope="module")
def whole():
    return built().book()


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder of books, empty, instead of the one that comes with the package."""
    monkeypatch.setattr(book_module, "FOLDER", tmp_path)
    shipped_book.cache_clear()
    yield tmp_path
    shipped_book.cache_clear()


def early_positions(start, plies):
    """Every position after at most so many plies where the game goes on."""
    level = {RULES.parse(start)}
    for _ in range(plies + 1):
        yield from level
        grown = {RULES.play(position, move.text).position for position in level for move in RULES.legal_moves(position)}
        level = {position for position in grown if RULES.outcome(position) is Outcome.ONGOING}


@functools.cache
def slow_game(board):
    return SlowGame(RULES.parse(board))


def depth_of(position):
    """A depth that all positions of one board share, so that a slow game knows the later ones."""
    return 100 - position.count("x") - position.count("o")


def value_of(game, position):
    result, plies = game.result(game.stacks(position), depth_of(position))
    return result * (position.count(".") + 1 - plies)


@pytest.mark.parametrize(("board", "plies"), [("4x4", 4), ("4x4 #1,2", 5)])
def test_a_book_has_the_value_of_every_position_and_of_its_mirror_image(board, plies):
    book, game = built(board=board, plies=plies).book(), slow_game(board)
    for position in early_positions(board, plies):
        value = value_of(game, position)
        listed = book.value_of(board_words(position))
        assert listed == (None if value == position.count(".") else value), RULES.text(position)  # a win at once


def test_a_resumed_book_equals_an_uninterrupted_one(tmp_path, whole):
    first = built(max_count=10)
    assert not first.is_complete
    first.save(tmp_path / "checkpoint.plyd")
    second = BookBuilder(BOARD, PLIES, megabytes=8)
    second.load(tmp_path / "checkpoint.plyd")
    assert second.count == 10
    resumed = built(into=second)
    assert resumed.is_complete
    book = resumed.book()
    assert np.array_equal(book.keys, whole.keys)
    assert np.array_equal(book.values, whole.values)


def test_an_unfinished_book_lists_only_what_is_certain(whole):
    partial = built(max_count=10).book()
    assert 10 <= len(partial) < len(whole)
    known = dict(zip(whole.keys.tolist(), whole.values.tolist(), strict=True))
    assert all(known[key] == value for key, value in zip(partial.keys.tolist(), partial.values.tolist(), strict=True))


def test_a_book_read_is_the_book_written(tmp_path, whole):
    whole.save(tmp_path / "a.book")
    again = read_book(tmp_path / "a.book")
    assert again.board == BOARD
    assert np.array_equal(again.keys, whole.keys)
    assert np.array_equal(again.values, whole.values)


@pytest.mark.parametrize("damage", ["cut", "flip", "other version", "empty"])
def test_a_damaged_book_is_refused_and_the_engine_goes_on_without_it(damage, shipped, whole, monkeypatch, caplog):
    path = shipped / f"connect4-{BOARD}.book"
    with monkeypatch.context() as patch:
        patch.setattr(book_module, "VERSION", 2 if damage == "other version" else book_module.VERSION)
        whole.save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= damage == "flip"
    path.write_bytes({"cut": data[:-40], "empty": b""}.get(damage, data))
    with pytest.raises(BadWeights, match=path.name):
        read_book(path)
    with caplog.at_level(logging.WARNING):
        assert shipped_book(BOARD) is None
    assert path.name in caplog.text
    report = search(BOARD, max_lines=5)
    assert report.score.value == Proven(Result.DRAW, 16)


def search(text, **limits):
    searcher = Connect4().searcher("classic", read_options(Connect4.card.options, {"memory": "16", "threads": "1"}))
    position = RULES.parse(text) if isinstance(text, str) else text
    *_, last = searcher.search(position, Limits(**limits), Stop())
    return last


def test_a_whole_game_from_a_book_is_proven_at_every_move(shipped, whole):
    whole.save(shipped / f"connect4-{BOARD}.book")
    position, game, left = RULES.parse(BOARD), slow_game(BOARD), []
    while RULES.outcome(position) is Outcome.ONGOING:
        report = search(position, max_lines=5)
        assert report.stop_reason is StopReason.FINISHED
        assert len(report.lines) == len(RULES.legal_moves(position))
        for line in report.lines:
            result, plies = game.results(game.stacks(position), depth_of(position))[int(line.moves[0]) - 1]
            assert line.score.value == Proven([Result.DRAW, Result.WIN, Result.LOSS][result], plies)
        left.append(report.score.value.plies)
        position = RULES.play(position, report.move).position
    assert left == list(range(16, 0, -1))


def test_positions_of_a_book_take_no_search(whole):
    for position in early_positions(BOARD, PLIES - 1):  # the replies are listed too
        solver = ExactSolver(position, Table(1 << 20), whole, every_column=True)
        assert solver.is_finished
        assert solver.nodes == 0


def test_a_best_move_is_found_where_a_book_ends(whole):
    for position in list(early_positions(BOARD, PLIES))[-40:]:
        solver = ExactSolver(position, Table(1 << 20), whole, every_column=False)
        game = slow_game(BOARD)
        result, plies = game.result(game.stacks(position), depth_of(position))
        solver.work(NEVER, NEVER, Stop())
        assert game.results(game.stacks(position), depth_of(position))[solver.verdict.column] == (result, plies)


def test_a_search_looks_positions_up_in_its_book(whole):
    is_last = np.array([most_stones(whole.keys[i : i + 1]) == PLIES for i in range(len(whole))])
    last = Book(BOARD, whole.keys[is_last], whole.values[is_last])
    assert last.listed.plies == PLIES
    nodes = {None: 0, last: 0}
    for position in early_positions(BOARD, PLIES - 2):
        for book in nodes:
            solver = ExactSolver(position, Table(1 << 20), book, every_column=True)
            solver.work(NEVER, NEVER, Stop())
            results = slow_game(BOARD).results(slow_game(BOARD).stacks(position), depth_of(position))
            found = {column: ("DWL".index(p.result.value[0].upper()), p.plies) for column, p in solver.columns.items()}
            assert found == {column: (result % 3, plies) for column, (result, plies) in results.items()}
            nodes[book] += solver.nodes
    assert nodes[last] < nodes[None] / 2


def test_a_book_continues_the_shipped_one(shipped, whole):
    assert not BookBuilder(BOARD, PLIES, megabytes=8).is_complete
    whole.save(shipped / f"connect4-{BOARD}.book")
    shipped_book.cache_clear()
    assert BookBuilder(BOARD, PLIES, megabytes=8).is_complete


def test_the_command_makes_a_book_and_says_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("plyd.engines.connect4.exact.build.lower_priority", lambda: None)
    command = ["connect4", "--board", "4x4", "--plies", "3", "--out", str(tmp_path), "--memory", "8"]
    done = CliRunner().invoke(book_command, command)
    assert done.exit_code == 0, done.output
    assert "complete" in done.output
    assert read_book(tmp_path / "connect4-4x4.book").value_of(board_words(RULES.parse("4x4"))) == 0
    refused = CliRunner().invoke(book_command, [*command[:2], "12x12", *command[3:]])
    assert refused.exit_code == 1
    assert "12x12" in refused.output


def test_the_shipped_book_knows_that_the_first_player_wins_in_41_plies_by_the_middle_column_only():
    report = search("7x6", max_lines=7)
    assert report.stop_reason is StopReason.FINISHED
    found = {line.moves[0]: (line.score.value.result, line.score.value.plies) for line in report.lines}
    lost_soon, lost_late, drawn = (Result.LOSS, 40), (Result.LOSS, 42), (Result.DRAW, 42)
    assert found["4"] == (Result.WIN, 41)
    assert [found[column] for column in "123567"] == [lost_soon, lost_late, drawn, drawn, lost_late, lost_soon]
    assert report.move == "4"


def test_the_shipped_book_agrees_with_the_solver_on_samples():
    book, seen = shipped_book("7x6"), 0
    assert isinstance(book, Book)
    for moves in ("", "4", "44", "443", "4443"):
        best = book.value_of(board_words(after("7x6", *moves)))
        replies = [book.value_of(board_words(after("7x6", *moves, move))) for move in "1234567"]
        if best is not None and None not in replies:
            assert best == max(-value for value in replies), moves
            seen += 1
    assert seen > 0


@pytest.mark.slow
def test_values_of_the_shipped_books_last_ply_are_those_that_the_solver_finds():
    book, stones = shipped_book("7x6"), 0
    chance = random.Random(1)
    for _ in range(400):
        position = after("7x6", *(chance.choice("1234567") for _ in range(chance.randint(1, 8))))
        listed = book.value_of(board_words(position))
        if listed is not None and position.count("x") + position.count("o") >= 4:
            valuation = Valuation(board_words(position), Table(1 << 28))
            valuation.work(NEVER, NEVER, Stop())
            assert valuation.value == listed, RULES.text(position)
            stones += 1
            if stones == 5:
                return

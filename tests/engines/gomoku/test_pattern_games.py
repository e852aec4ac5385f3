"""Games of NegaScout against itself: the scores beside the moves, and files that are continued."""

import json
import random
from math import log

import pytest
from click.testing import CliRunner

from plyd.engines.core.errors import BadPosition
from plyd.engines.core.rules import Outcome
from plyd.engines.gomoku.fit.pattern_games import GLANCE_NODES, Sparring, main, near_moves, play_game
from plyd.engines.gomoku.fit.records import PatternGame, read_records
from plyd.engines.gomoku.negascout.techniques import shipped
from plyd.engines.gomoku.negascout.workspace import DECIDED
from plyd.engines.gomoku.rules import FREESTYLE, RULES, Rule, empty_board, point_of


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def replayed(record):
    """The positions of a game, each before the move with the same index, and the last one."""
    position, found = empty_board(record.size), []
    for move in record.moves:
        found.append(position)
        position = RULES[record.variant].play(position, move).position
    return [*found, position]


@pytest.mark.parametrize("variant", list(RULES))
def test_each_move_has_the_score_that_the_search_gave_it_and_the_last_one_proves_the_result(variant):
    rules, chosen = RULES[variant], []

    class Watched(Sparring):
        def choose(self, position, nodes=None):
            chosen.append((position, *super().choose(position, nodes)))
            return chosen[-1][1:]

    player = Watched(rules, 300, params=shipped())
    for seed in range(3):
        chosen.clear()
        record = play_game(player, 9, 4, random.Random(seed))
        positions = replayed(record)
        assert record.scores[:4] == (None,) * 4
        assert list(zip(positions, record.moves, record.scores, strict=False))[4:] == chosen
        ended = rules.outcome(positions[-1])
        if abs(record.scores[-1]) > DECIDED:
            assert record.result == (1 if record.scores[-1] > 0 else -1) * (1 if len(record.moves) % 2 else -1)
        else:
            assert ended is Outcome.DRAW
            assert record.result == 0


def test_random_moves_are_near_stones_and_have_no_score():
    record = play_game(Sparring(FREESTYLE, 100, params=shipped()), 15, 3, random.Random(1), slip=0.5)
    slips = [ply for ply, score in enumerate(record.scores) if score is None and ply >= 3]
    assert 0 < len(slips) < len(record.moves) - 3
    for ply in slips:
        row, column = point_of(record.moves[ply], 15)
        rows = replayed(record)[ply].rows
        around = [rows[r][max(0, column - 2) : column + 3] for r in range(max(0, row - 2), min(15, row + 3))]
        assert any(cell in "xo" for cells in around for cell in cells)


def test_a_game_of_random_moves_ends_as_the_rulebook_says():
    record = play_game(Sparring(FREESTYLE, 100), 7, 2, random.Random(3), slip=1.0)
    assert set(record.scores) == {None}
    ended = FREESTYLE.outcome(replayed(record)[-1])
    assert record.result == {Outcome.PLAYER_ONE_WINS: 1, Outcome.PLAYER_TWO_WINS: -1, Outcome.DRAW: 0}[ended]


@pytest.mark.parametrize("variant", list(RULES))
def test_an_opening_within_a_margin_is_even_by_a_short_search(variant):
    glances = []

    class Watched(Sparring):
        def choose(self, position, nodes=None):
            move, value = super().choose(position, nodes)
            if nodes == GLANCE_NODES:
                glances.append((position, value))
            return move, value

    player = Watched(RULES[variant], 100, params=shipped())
    for seed in range(4):
        glances.clear()
        record = play_game(player, 15, 6, random.Random(seed), margin=0.2)
        assert replayed(record)[6] == glances[-1][0]
        assert [abs(value) < 256 * log(0.7 / 0.3) for _, value in glances] == [False] * (len(glances) - 1) + [True]
    glances.clear()
    play_game(player, 15, 6, random.Random(1))
    assert not glances, "any opening will do"


def test_without_stones_every_move_is_near():
    assert len(near_moves(FREESTYLE, empty_board(5))) == 25
    one = FREESTYLE.play(empty_board(9), "a1").position
    assert sorted(near_moves(FREESTYLE, one)) == ["a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]


def test_a_file_is_continued_as_if_it_had_not_been_interrupted(tmp_path):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    settings = ("--nodes", 60, "--size", 7, "--slip", 0.1, "--seed", 5)
    assert run(whole, "--games", 5, *settings).exit_code == 0
    assert run(parts, "--games", 2, *settings).exit_code == 0
    with parts.open("a") as file:
        file.write('{"size": 7, "var')  # killed while writing
    assert run(parts, "--games", 5, *settings).exit_code == 0
    assert parts.read_text() == whole.read_text()
    assert len(set(whole.read_text().splitlines())) == 5
    assert all(len(record.scores) == len(record.moves) for record in read_records(whole))


def test_records_are_read_as_written_with_scores_and_without(tmp_path):
    path = tmp_path / "games.jsonl"
    scored = PatternGame(15, Rule.RENJU, 1, ("h8", "i9", "g7"), -1, (None, 12, -30))
    plain = PatternGame(15, Rule.FREESTYLE, 1, ("h8", "i9"), 1)
    before = {name: value for name, value in json.loads(plain.text()).items() if name != "scores"}
    path.write_text(f"{scored.text()}\n{plain.text()}\n{json.dumps(before)}\n")
    assert list(read_records(path)) == [scored, plain, plain]


@pytest.mark.parametrize("scores", ["[1]", "[1, 2, 3]", "3", '["a", 1]', '{"a": 1}', "[1e999, 1]"])
def test_scores_that_do_not_fit_the_moves_are_refused(tmp_path, scores):
    path = tmp_path / "games.jsonl"
    text = '{"size": 15, "variant": "freestyle", "opening": 1, "moves": "h8 i9", "result": 1, "scores": %s}\n'
    path.write_text(text % scores)
    with pytest.raises(BadPosition, match="line 1 of"):
        list(read_records(path))

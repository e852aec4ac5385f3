"""Saved games of a match: what is no game is refused, however it is nested, numbered or typed."""

import io
import json

import pytest

from plyd.clients.match.results import GameFile, MatchTally, PlayedGame, SearchStats, parse_game
from plyd.clients.match.side import BadMatch

GAME = PlayedGame(
    3, "7x6", ["4"], ["4", "3"], "first", "rules", SearchStats([1.5], [9], [None]), SearchStats([2], [8], [0.5])
)


def test_a_game_is_read_as_it_was_written():
    assert parse_game(json.dumps(GAME.as_json())) == GAME


@pytest.mark.parametrize(
    "changed",
    [
        {"game": -1},
        {"game": 10**18},  # pairs up to there would be counted one by one
        {"game": True},
        {"winner": "nobody"},
        {"start": 7},
        {"opening": "4"},
        {"moves": [4]},
        {"first": []},
        {"second": {"ms": ["soon"]}},
        {"second": {"scores": [float("nan")]}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_field_of_another_kind_makes_a_line_no_game(changed):
    with pytest.raises(ValueError, match=r"game|list|number"):
        parse_game(json.dumps(GAME.as_json() | changed))


def test_a_game_is_written_whole_or_not_at_all(tmp_path):
    class NearlyFull(io.FileIO):
        def write(self, data):
            return super().write(data[:10])

    path = tmp_path / "games.jsonl"
    with GameFile(path, {"games": 2}, parse_game) as file:
        file.begin()
        file._file = NearlyFull(path, "ab")
        file.add(GAME)
        file._file.close()
    with GameFile(path, {"games": 2}, parse_game) as file:
        assert file.begin() == [GAME]


@pytest.mark.parametrize("line", ["", "[]", "7", "{}", "[" * 100_000, '{"a":' * 100_000])
def test_a_line_that_is_no_game_is_told_with_its_number(tmp_path, line):
    path = tmp_path / "games.jsonl"
    path.write_text(f"{json.dumps({'games': 2})}\n{line}\n")
    with GameFile(path, {"games": 2}, parse_game) as file, pytest.raises(BadMatch, match=r"line 2: .* is not a game"):
        file.begin()


def test_a_first_line_nested_without_end_is_told_to_be_of_no_match(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text("[" * 100_000 + "\n")
    with GameFile(path, {"games": 2}, parse_game) as file, pytest.raises(BadMatch, match="not a match file"):
        file.begin()


def test_a_saved_game_counts():
    tally = MatchTally()
    tally.add(GAME)
    assert (tally.games(), tally.pairs()) == ([GAME], [0] * 5)

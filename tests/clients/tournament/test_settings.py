"""The file of a tournament: what it may say, and what is refused in which words."""

import re
from pathlib import Path

import pytest

from plyd.clients.match.adjudication import Adjudication
from plyd.clients.match.side import BadMatch, SideLimits
from plyd.clients.tournament.settings import parse_settings, read_settings

TWO = [{"name": "a"}, {"name": "b"}]


def parsed(**fields):
    return parse_settings({"game": "connect4", "player": TWO} | fields, Path("cups"))


def test_file_with_every_key(tmp_path):
    path = tmp_path / "cup.toml"
    path.write_text("""
        game = "gomoku"
        variant = "renju"
        schedule = "gauntlet"
        gauntlet_players = 2
        rounds = 3
        games = 4
        concurrency = 2
        openings = "book.txt"
        openings_order = "random"
        seed = 7
        format = "psq"
        nodes = 100
        [adjudication]
        resign_score = 0.05
        resign_moves = 2
        resign_both = false
        draw_score = 0.01
        draw_moves = 5
        draw_after = 40
        max_plies = 120
        proven = true
        [[player]]
        name = "a"
        time = 0.25
        options = { method = "mcts", seed = 3, batch = 0.5, deep = true }
        [[player]]
        name = "b"
        at = "127.0.0.1:1"
        clock = "60+0.5"
        [[player]]
        serve = "--model 'my net'"
    """)
    found = read_settings(path)
    assert (found.variant, found.schedule, found.gauntlet_players, found.rounds, found.games) == (
        "renju",
        "gauntlet",
        2,
        3,
        4,
    )
    assert (found.openings, found.openings_order, found.seed, found.format) == (
        tmp_path / "book.txt",
        "random",
        7,
        "psq",
    )
    assert found.adjudication == Adjudication(0.05, 2, False, 0.01, 5, 40, 120, True)
    a, b, c = found.players
    assert a.options == {"method": "mcts", "seed": "3", "batch": "0.5", "deep": "true"}
    assert (a.limits, b.limits, c.limits) == (
        SideLimits(seconds=0.25),
        SideLimits(clock=(60, 0.5)),
        SideLimits(nodes=100),
    )
    assert (b.at, c.name, c.serve) == ("127.0.0.1:1", "player 3", "--model 'my net'")


def test_game_and_two_players_are_enough():
    found = parsed()
    assert (found.schedule, found.rounds, found.games, found.adjudication) == ("round-robin", 1, 2, Adjudication())
    assert {player.limits for player in found.players} == {SideLimits(seconds=0.1)}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"game": ""}, "game is missing"),
        ({"player": TWO[:1]}, r"1 players; allowed are 2 to 256 tables \[\[player\]\]"),
        ({"player": [{"name": "a"}, {"name": "a"}]}, "two players are named 'a'"),
        ({"player": [{"name": "a", "node": 3}, {}]}, "player 'a': unknown key 'node'; keys are name, options, time"),
        ({"player": [{"name": "a", "nodes": 0}, {}]}, "player 'a': nodes is '0'; allowed is a whole number from 1"),
        ({"player": [{"at": "x:1", "serve": "y"}, {}]}, "player 'player 1': at=x:1 and serve='y' exclude each other"),
        ({"player": [{"name": "a", "options": {"x": [1]}}, {}]}, r"player 'a': \[1\] is not a text, a number"),
        ({"player": [{"name": "a\nb"}, {}]}, r"a name is 'a\\nb'; allowed are at most 40 printable"),
        ({"player": 3}, r"player is 3; allowed is a list of tables \[\[player\]\]"),
        ({"player": [3, 4]}, "player 1: 3 is not a table"),
        ({"schedule": "knockout"}, "schedule is 'knockout'; allowed is round-robin, gauntlet, swiss"),
        ({"rounds": True}, "rounds is True; allowed is a whole number, 1 to"),
        ({"games": 3}, "games is 3; it must be even"),
        ({"schedule": "gauntlet", "gauntlet_players": 2}, "gauntlet_players is 2; allowed is 1 to 1"),
        ({"schedule": "swiss", "rounds": 2}, "2 rounds; a Swiss tournament of 2 players has at most 1"),
        ({"rounds": 100_000, "games": 10_000}, "more than 5000000 games"),
        ({"openings": "x", "start": "7x6"}, "openings excludes start and opening_plies"),
        ({"start": [1]}, r"start is \[1\]; allowed is a text or a list of texts"),
        (
            {"adjudication": {"resign_score": 0.7}},
            "adjudication: resign_score is 0.7; allowed is a number from 0 to 0.5",
        ),
        ({"adjudication": {"proven": 1}}, "adjudication: proven is 1; allowed is true or false"),
        ({"adjudication": {"resign": 1}}, "adjudication: unknown key 'resign'; keys are resign_score"),
        ({"Rounds": 3}, "unknown key 'Rounds'; keys are game"),
    ],
)
def test_what_is_refused(fields, message):
    with pytest.raises(BadMatch, match=message):
        parsed(**fields)


@pytest.mark.parametrize(
    ("data", "message"), [(b"game =", "Invalid value"), (b"\xff", "it is not text in UTF-8"), (None, "No such file")]
)
def test_file_that_cannot_be_read(tmp_path, data, message):
    path = tmp_path / "cup.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadMatch, match=f"cannot read {re.escape(str(path))}: .*{message}"):
        read_settings(path)

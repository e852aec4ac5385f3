"""Openings of a match: random ones, those of a file, and their order."""

from plyd.clients.library.client import EngineClient
from plyd.clients.match.openings import random_openings
from plyd.v1 import position_pb2
from tests.clients.match.matches import QUICK, saved


def test_openings_are_played_twice_with_sides_changed(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 8, "--opening-plies", 3, "--save", path)
    header, games = saved(path)
    assert (header["start"], header["opening_plies"], header["seed"]) == (["5x4"], 3, 0)
    assert [game["game"] for game in games] == list(range(8))
    assert [game["moved_first"] for game in games] == ["first", "second"] * 4
    for one, other in zip(games[::2], games[1::2], strict=True):
        assert (one["start"], one["opening"]) == (other["start"], other["opening"])
        assert len(one["opening"]) == 3
    assert len({tuple(game["opening"]) for game in games}) == 4


def test_winner_is_who_the_rules_say(play, tmp_path, connect4):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 8, "--opening-plies", 3, "--save", path)
    with EngineClient(connect4, "connect4") as client:
        for game in saved(path)[1]:
            state = client.inspect(game["start"], game["opening"] + game["moves"])
            last = ("first", "second")[(game["game"] + len(game["moves"]) + 1) % 2]  # who made the last move
            draw = state.outcome == position_pb2.OUTCOME_DRAW
            assert state.outcome != position_pb2.OUTCOME_ONGOING
            assert (game["winner"], game["reason"]) == ("draw" if draw else last, "rules")
            assert len(game["first"]["ms"]) + len(game["second"]["ms"]) == len(game["moves"])


def test_starts_are_taken_in_turn(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play("--start", "4x4", "--start", "5x4 #3,1", "--nodes", 5, "--games", 8, "--save", path)
    assert [game["start"] for game in saved(path)[1]] == ["4x4", "4x4", "5x4 #3,1", "5x4 #3,1"] * 2


def test_openings_of_a_file(play, tmp_path):
    path, book = tmp_path / "games.jsonl", tmp_path / "book.txt"
    book.write_text("5x4 | 1 2 3\n\n  4x4\n..../..../..o./.xx. | 1\n")
    done = play("--nodes", 5, "--games", 8, "--openings", book, "--save", path)
    header, games = saved(path)
    assert header["openings"].startswith("3 with SHA-256 ")
    assert [(game["start"], game["opening"]) for game in games[::2]] == [
        ("5x4", ["1", "2", "3"]),
        ("4x4", []),
        ("..../..../..o./.xx.", ["1"]),
        ("5x4", ["1", "2", "3"]),
    ]
    assert f"{book} has 3 openings for 8 games; they are repeated" in done.stderr


def test_random_openings_are_distinct_as_far_as_possible(connect4):
    with EngineClient(connect4, "connect4") as client:
        some = random_openings(client, ["4x4"], 1, 7)
        first, second = ([next(some).moves for _ in range(4)] for _ in range(2))
        assert sorted(first) == sorted(second) == [("1",), ("2",), ("3",), ("4",)]
        texts = [opening.text for opening, _ in zip(random_openings(client, ["5x4"], 4, 7), range(60), strict=False)]
        assert len(set(texts)) == 60


def test_seed_gives_other_openings(connect4):
    with EngineClient(connect4, "connect4") as client:

        def some(seed):
            return [
                opening.moves for opening, _ in zip(random_openings(client, ["7x6"], 4, seed), range(5), strict=False)
            ]

        assert some(1) == some(1) != some(2)


def test_games_do_not_depend_on_concurrency(play, tmp_path):
    paths = [tmp_path / "one.jsonl", tmp_path / "three.jsonl"]
    for path, concurrency in zip(paths, (1, 3), strict=True):
        play(*QUICK, "--games", 6, "--concurrency", concurrency, "--save", path, first="seed=1", second="seed=2")
    one, three = ([(game["moves"], game["winner"]) for game in saved(path)[1]] for path in paths)
    assert one == three


def test_more_games_at_once_than_slots_is_told(play, connect4):
    with EngineClient(connect4, "connect4") as client:
        slots = client.describe().daemon.slots
    done = play(*QUICK, "--games", 2, "--concurrency", slots + 1)
    assert f"{slots + 1} concurrent games, but a daemon runs only {slots} concurrent searches" in done.stderr


def test_games_far_beyond_the_slots_wait_and_nobody_forfeits(play, tmp_path):
    play("--start", "4x4", "--move-time", "10", "--concurrency", "12", "--games", "12", "--save", tmp_path / "games")
    _, games = saved(tmp_path / "games")
    assert len(games) == 12
    assert {game["reason"] for game in games} == {"rules"}

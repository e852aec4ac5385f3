"""`plyd analyze FILE`: whole games of every kind of file, and wrong usage."""

import csv
import io
import itertools

import pytest
from click.testing import CliRunner

from plyd.clients.analyze.query import Query
from plyd.clients.analyze.review import review_rows, review_table
from plyd.clients.cli import main
from plyd.servers.search.known import reports as known_reports
from plyd.servers.search.known.store import ReportStore
from tests.patience import LONG, SOON
from tests.servers.daemons import OpenDaemon
from tests.servers.fakes import FakeEngine

SGF = "(;FF[4]GM[4]SZ[15];B[hh];W[hg];B[ig];W[gi];B[fj];W[ih])"
TILES = "game: 2584-2x3\n1@0 1@1 left 1@3 up 1@4\n"


def run(*arguments, **settings):
    return CliRunner().invoke(main, ["analyze", *map(str, arguments)], prog_name="plyd", **settings)


def rows_of(done):
    assert done.exit_code == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.fixture
def tiles(tmp_path):
    file = tmp_path / "game.txt"
    file.write_text(TILES)
    return file


def test_slide_loses_what_the_best_one_would_have_gained(daemon, tiles):
    first, second = rows_of(run(tiles, "--connect", daemon, "--csv"))
    assert (first["ply"], first["move"], first["best"]) == ("3", "left", "down")
    assert float(first["loss"]) == pytest.approx(float(first["before"]) - float(first["after"]))
    assert 0 < float(first["loss"]) < 1
    assert (second["ply"], second["move"], second["best"], second["loss"]) == ("5", "up", "up", "0.0")


def test_table_has_a_row_for_each_move_and_the_loss_of_each_side(daemon, tiles):
    done = run(tiles, "--connect", daemon)
    assert done.stdout.splitlines() == [
        "ply  side  move  before   after  best  loss",
        "  3  one   left  1426.2  1426.2  down   0.0",
        "  5  one   up    1424.4  1424.4  up     0.0",
        "",
        "one: lost 0.0 a move, in 2 moves",
    ]


def test_a_daemon_with_a_store_searches_a_game_once(house, tmp_path, monkeypatch):
    monkeypatch.setattr(known_reports, "LOOKUP_SECONDS", SOON)
    file = tmp_path / "game.txt"
    file.write_text("game: sticks\nstart: 7 one\n2 1 2\n")
    tables = []
    for _ in range(2):
        with OpenDaemon(house, FakeEngine(), store=ReportStore(str(tmp_path / "reports.db"), 100)) as daemon:
            done = run(file, "--connect", daemon.target, "--move-time", 60_000)
            assert done.exit_code == 0, done.stderr
            tables.append(done.stdout)
            assert len(daemon.engine.asked) == (0 if len(tables) == 2 else 4)
    assert tables[0] == tables[1]


def test_value_after_a_move_is_for_the_side_that_made_it():
    query = Query("a", game="gomoku", moves=("h8", "h9", "i9"), turns=(0, 1, 2, 3))
    scores = [
        {"pointOfView": "player_one", "winProbability": 0.75},
        {"pointOfView": "player_two", "winProbability": 0.5},
        {"pointOfView": "player_one", "proven": "win"},
        {"pointOfView": "player_two", "proven": "loss"},
    ]
    answers = {turn: {"score": score, "move": "h9"} for turn, score in enumerate(scores)}
    assert review_rows(query, answers)[1:] == [
        [1, "one", "h8", 0.75, 0.5, "h9", 0.25],
        [2, "two", "h9", 0.5, 0.0, "h9", 0.0],  # the engine's own move
        [3, "one", "i9", 1.0, 1.0, "h9", 0.0],
    ]


def test_turn_that_was_not_searched_has_no_values():
    query = Query("a", game="gomoku", moves=("h8",), turns=(0, 1))
    assert review_rows(query, {})[1:] == [[1, None, "h8", None, None, None, None]]
    assert review_table("", review_rows(query, {})).splitlines()[1] == "  1  -     h8         -      -  -        -"


@pytest.mark.slow
def test_gomoku_game_is_reviewed_and_drawn(gomoku, tmp_path):
    file = tmp_path / "game.sgf"
    file.write_text(SGF)
    plot = tmp_path / "game.svg"
    rows = rows_of(run(file, "--connect", gomoku, "--nodes", 200, "--csv", "--plot", plot))
    assert [(row["ply"], row["side"], row["move"]) for row in rows][:2] == [("1", "one", "h8"), ("2", "two", "h9")]
    for row, following in itertools.pairwise(rows):
        assert float(row["after"]) == pytest.approx(1 - float(following["before"]))
    assert plot.read_text().count("<svg") == 1


def test_illegal_move_in_a_file_is_told_with_its_turn(daemon, tmp_path):
    file = tmp_path / "game.txt"
    file.write_text(TILES.replace("left", "up"))
    done = run(file, "--connect", daemon)
    assert done.exit_code == 1
    assert f"Error: {file}, turn 4: move 3: illegal move" in done.stderr


def test_an_illegal_move_in_a_file_does_not_end_the_review_of_the_others(daemon, tiles, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text(TILES.replace("left", "up"))
    alone = run(tiles, "--connect", daemon).stdout
    done = run(bad, tiles, bad, "--connect", daemon)
    assert done.exit_code == 1
    assert done.stderr.count("illegal move") == 1
    assert done.stdout.endswith(f"{tiles}\n{alone}")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    good, empty = tmp_path / "good.sgf", tmp_path / "empty.sgf"
    good.write_text(SGF)
    empty.write_text("")
    done = run(good, empty)
    assert done.exit_code == 1
    assert done.stderr == (
        f"Error: cannot read {empty}: '' holds no game; expected a game such as (;GM[4]SZ[15];B[hh];W[hg])\n"
    )


def test_further_games_of_a_file_are_told(gomoku, tmp_path):
    file = tmp_path / "two.sgf"
    file.write_text(SGF + "\n" + SGF)
    done = run(file, "--connect", gomoku, "--nodes", 10, "--csv")
    assert done.stderr == f"{file} holds 2 games; this is the first (others: fileGame of a query)\n"
    assert len(rows_of(done)) == 6


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--plot", "a.png"], 2, "--plot needs one game file"),
        (["x.sgf", "--plot", "a.bmp"], 2, "its name has to end in .png, .svg, .pdf"),
        (["x.sgf", "--resume", "a"], 2, "--resume goes with queries on stdin, not with game files"),
        (["--resume", "a", "--csv"], 2, "--resume needs answers as JSON; --csv excludes it"),
        (["--connect", ""], 2, "--connect is empty; an address is HOST:PORT"),
        (["--connect", "a:1", "--store", "x"], 2, "--store is for the private daemon"),
        (["--option", "x"], 2, "'x'; expected NAME=VALUE"),
        (["/no/where.sgf"], 1, "cannot read /no/where.sgf: No such file or directory"),
    ],
)
def test_wrong_usage(arguments, status, message):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (status, "")
    assert message in done.stderr


@pytest.mark.slow
def test_private_daemon_that_is_killed_is_started_again(plyd, tmp_path):
    """A process of its own: its daemon is killed in the middle of a queue, and every query is answered."""
    import json
    import subprocess

    queries = "".join(
        json.dumps({"id": str(at), "moves": ["4"] * (at % 6), "nodes": 20_000}) + "\n" for at in range(40)
    )
    process = subprocess.Popen([*plyd, "analyze", "--game", "connect4"], stdin=-1, stdout=-1, text=True)
    process.stdin.write(queries)
    process.stdin.close()
    answers = [process.stdout.readline()]
    [child] = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    subprocess.run(["kill", "-9", child], check=True)
    answers += process.stdout.readlines()
    assert process.wait(LONG) == 0
    assert sorted(int(json.loads(line)["id"]) for line in answers) == list(range(40))

"""Whole tournaments: their files, their standings, and how they go on after a kill."""

import fcntl
import json
import os
import signal
import subprocess

import pytest

from plyd.clients.formats import files
from plyd.clients.match import connect
from tests.clients.match.conftest import fake  # noqa: F401
from tests.clients.match.fakes import plays
from tests.clients.match.matches import PLYD, invoke, saved
from tests.patience import SOON, until


@pytest.fixture
def cup(connect4, tmp_path):
    """A function that writes the file of a small tournament on the session's daemon; its path."""

    def cup(*players, **keys):
        keys = {"game": "connect4", "start": "4x4", "opening_plies": 2} | keys
        tables = keys.pop("tables", "")
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        for player in players or ("nodes = 20", "nodes = 10", "nodes = 5", "nodes = 2"):
            at = "" if "at =" in player else f'at = "{connect4}"'
            lines.append(f"[[player]]\n{at}\n{player}")
        path = tmp_path / "cup.toml"
        path.write_text("\n".join([*lines, tables]))
        return path

    return cup


def play(path, *arguments, exit_code=0):
    done = invoke("tournament", path, "--no-page", *arguments)
    assert done.exit_code == exit_code, done.stderr
    return done


def games_of(path):
    """The games of a tournament without what differs from run to run: times."""
    games = saved(path.with_suffix("") / "games.jsonl")[1]
    for game in games:
        for side in ("first", "second"):
            del game[side]["ms"]
    return games


def test_round_robin_to_its_end(cup):
    path = cup()
    told = play(path).stdout
    folder, games = path.with_suffix(""), games_of(path)
    assert told == (folder / "standings.txt").read_text()
    assert told.startswith("connect4: round-robin of 4 players, 12 of 12 games\n")
    found = json.loads((folder / "standings.json").read_text())
    assert [row["games"] for row in found["players"]] == [6] * 4
    assert sum(row["points"] for row in found["players"]) == 12
    assert all(cell["points"] + found["cross_table"][b][a]["points"] == 2
               for a, row in enumerate(found["cross_table"]) for b, cell in enumerate(row) if a != b)  # fmt: skip
    for name in ("player 1", "player 4"):  # each moves first in half of its games
        own = [game for game in games if name in game["players"]]
        firsts = [game["players"][0 if game["moved_first"] == "first" else 1] == name for game in own]
        assert (len(own), sum(firsts)) == (6, 3)
    for a, b in zip(games[::2], games[1::2], strict=True):  # an opening is played twice
        assert (a["players"], a["opening"]) == (b["players"], b["opening"])
    assert {tuple(game["opening"]) for game in games[::2]} == {tuple(games[0]["opening"])}  # the same for all pairs


def test_files_of_games_hold_the_games(cup):
    path = cup("nodes = 20\nname = 'A b'", "nodes = 5\nname = 'C'")
    play(path)
    written = sorted((path.with_suffix("") / "games").iterdir())
    assert [file.name for file in written] == ["00000-A_b-C.txt", "00001-C-A_b.txt"]
    for file, game in zip(written, games_of(path), strict=True):
        record = files.read(file.name, file.read_bytes())
        assert list(record.moves) == game["opening"] + game["moves"]
        assert record.players == (("A b", "C") if game["game"] == 0 else ("C", "A b"))
        one = "first" if game["game"] == 0 else "second"
        assert record.result == {"draw": "1/2-1/2", one: "1-0"}.get(game["winner"], "0-1")


def test_second_run_plays_nothing_and_says_the_same(cup):
    path = cup()
    first, games = play(path).stdout, games_of(path)
    written = path.with_suffix("") / "games" / "00003-player_3-player_2.txt"
    written.unlink()
    assert play(path).stdout == first
    assert games_of(path) == games
    assert written.exists()


@pytest.mark.parametrize("schedule", ["round-robin", "gauntlet", "swiss"])
def test_tournament_that_lost_its_last_games_plays_the_same_ones_again(cup, schedule):
    path = cup(schedule=schedule, rounds=2 if schedule == "swiss" else 1, concurrency=1)
    play(path)
    games, file = games_of(path), path.with_suffix("") / "games.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:5]) + lines[5][:40])  # as a kill in the middle of a line leaves it
    play(path)
    assert games_of(path) == games


def test_killed_tournament_goes_on(cup):
    path = cup("nodes = 10", "nodes = 5", rounds=10)
    command = [*PLYD, "tournament", str(path), "--no-page", "--concurrency", "2"]
    file = path.with_suffix("") / "games.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until(lambda: file.exists() and file.read_bytes().count(b"\n") > 3)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=SOON)
    before = file.read_bytes().splitlines(keepends=True)
    assert 3 < len(before) <= 21
    play(path)
    after = file.read_bytes().splitlines(keepends=True)
    assert after[: len(before) - 1] == before[:-1]  # the last line may have been cut off
    assert [game["game"] for game in games_of(path)] == list(range(20))


def test_folder_that_another_process_writes_is_refused(cup):
    path = cup("nodes = 5", "nodes = 6")
    play(path)
    file = path.with_suffix("") / "games.jsonl"
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert play(path, exit_code=1).stderr.startswith(f"Error: another process is writing {file}")


def test_swiss_with_a_bye(cup):
    path = cup("nodes = 20", "nodes = 10", "nodes = 5", schedule="swiss", rounds=3)
    found = json.loads(play(path, "--json").stdout)
    assert found["games"] == found["games_planned"] == 6
    assert sorted(row["bye_points"] for row in found["players"]) == [2, 2, 2]
    assert [row["points"] for row in found["players"]] == sorted(
        (row["points"] for row in found["players"]), reverse=True
    )
    assert {tuple(sorted(game["players"])) for game in games_of(path)} == {
        ("player 1", "player 2"),
        ("player 1", "player 3"),
        ("player 2", "player 3"),
    }


def test_gauntlet_player_meets_all_others(cup):
    path = cup(schedule="gauntlet")
    found = json.loads(play(path, "--json").stdout)
    assert {row["name"]: row["games"] for row in found["players"]} == {
        "player 1": 6,
        "player 2": 2,
        "player 3": 2,
        "player 4": 2,
    }


def test_player_that_fails_loses_and_the_tournament_goes_on(cup, fake, monkeypatch):  # noqa: F811
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.1)
    address = fake(plays("9"))
    path = cup("nodes = 5", f"name = 'liar'\nat = '{address}'\nnodes = 5", "nodes = 10")
    done = play(path, "--json")
    found = json.loads(done.stdout)
    liar = next(row for row in found["players"] if row["name"] == "liar")
    assert (liar["games"], liar["losses"], liar["forfeits"]) == (4, 4, 4)
    assert sum(row["forfeits"] for row in found["players"]) == 4
    assert "liar plays '9': " in done.stderr


def test_player_whose_daemon_is_gone_forfeits(cup, fake, monkeypatch):  # noqa: F811
    monkeypatch.setattr(connect, "AGAIN_SECONDS", 0.1)

    def goes(number, context):
        for server in fake.servers:
            server.stop(None)
        context.cancel()

    address = fake(goes)
    path = cup("nodes = 5", f"name = 'leaver'\nat = '{address}'\nnodes = 5", "nodes = 10", concurrency=1)
    found = json.loads(play(path, "--json").stdout)
    leaver = next(row for row in found["players"] if row["name"] == "leaver")
    assert (found["games"], leaver["losses"], leaver["forfeits"]) == (6, 4, 4)


def test_adjudicated_games_say_so(cup):
    path = cup(
        "nodes = 400", "nodes = 400\noptions = {seed = 2}", tables="[adjudication]\nmax_plies = 5\nproven = true"
    )
    found = json.loads(play(path, "--json").stdout)
    assert {game["reason"].partition(":")[0] for game in games_of(path)} == {"adjudicated"}
    assert [row["forfeits"] for row in found["players"]] == [0, 0]


def test_file_that_has_changed_is_refused_but_more_rounds_are_played(cup):
    path = cup("nodes = 5", "nodes = 6")
    play(path)
    games = games_of(path)
    cup("nodes = 5", "nodes = 7")
    assert "belongs to another match: its players is" in play(path, exit_code=1).stderr
    cup("nodes = 5", "nodes = 6", rounds=2)
    play(path)
    assert games_of(path)[:2] == games
    assert len(games_of(path)) == 4


def test_game_for_one_player_is_refused(daemon, tmp_path):
    path = tmp_path / "cup.toml"
    path.write_text(f'game = "2584-2x3"\n[[player]]\nat = "{daemon}"\n[[player]]\nat = "{daemon}"\n')
    assert play(path, exit_code=1).stderr == "Error: 2584-2x3 is a game for one player; a match needs a game for two\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "the page is for this machine only"),
        (["--listen", "nonsense"], "nonsense"),
    ],
)
def test_page_for_other_machines_is_refused(cup, arguments, message):
    done = invoke("tournament", cup(), *arguments)
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_format_is_refused(cup):
    done = play(cup(format="pgn"), exit_code=1)
    assert done.stderr == "Error: format is 'pgn'; connect4 has text\n"

"""Match files: resuming a match, and files that are damaged or belong to another match."""

import json
import re
import subprocess

import pytest

from tests.clients.match.matches import PLYD, QUICK, saved
from tests.patience import until


def test_resume_after_a_kill(play, connect4, tmp_path):
    path, whole = tmp_path / "games.jsonl", tmp_path / "whole.jsonl"
    options = [*QUICK, "--concurrency", 2]
    sides = ["--first", f"at={connect4} ", "--second", f"at={connect4} "]
    command = [*PLYD, "match", "connect4", *sides, *options, "--games", 1000, "--save", path]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL) as process:
        until(lambda: path.exists() and path.read_bytes().count(b"\n") > 3)
        process.kill()
    before = path.read_bytes()
    games = max(game["game"] for game in saved(path)[1]) // 2 * 2 + 4  # two pairs at least are still to be played
    with path.open("ab") as file:
        file.write(b'{"game": 15, "sta')  # as if the kill had come in the middle of a line
    done = play(*options, "--games", games, "--save", path, "--resume")
    assert re.search(rf"games +{games} of {games}", done.stdout)
    assert path.read_bytes().startswith(before)
    play(*options, "--games", games, "--save", whole)
    resumed, clean = ([game["moves"] for game in saved(path)[1]] for path in (path, whole))
    assert resumed == clean


def test_resumed_match_can_grow(play, tmp_path):
    path = tmp_path / "games.jsonl"
    for games in (4, 8):
        play(*QUICK, "--games", games, "--save", path, "--resume")
        assert len(saved(path)[1]) == games
    assert json.loads(play(*QUICK, "--games", 2, "--save", path, "--resume", "--json").stdout)["games"] == 2


def test_file_of_another_match(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 2, "--save", path)
    for options, message in [
        (["--seed", 1], "its seed is 0, not 1"),
        (["--opening-plies", 2], "its opening_plies is 4, not 2"),
        (["--start", "4x4"], 'its start is ["5x4"], not ["5x4", "4x4"]'),
    ]:
        done = play(*QUICK, "--games", 2, "--save", path, "--resume", *options, exit_code=1)
        assert done.stderr == f"Error: {path} belongs to another match: {message}\n"
    done = play(*QUICK, "--games", 2, "--save", path, "--resume", first="seed=5", exit_code=1)
    assert re.search(r'its first is {"name": "first", .*}, not .*{"seed": "5"}}\n', done.stderr)
    done = play(*QUICK, "--games", 2, "--save", path, exit_code=1)
    assert done.stderr == f"Error: {path} already exists; continue it with --resume, or save elsewhere\n"


@pytest.mark.parametrize("text", ["hello\n", "[1]\n", "hello", "\n"])
def test_file_of_no_match_stays_as_it_is(play, tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    done = play(*QUICK, "--games", 2, "--save", path, "--resume", exit_code=1)
    assert done.stderr.startswith(f"Error: {path} is not a match file")
    assert path.read_text() == text


def test_saved_games_that_are_damaged(play, tmp_path):
    path = tmp_path / "games.jsonl"
    play(*QUICK, "--games", 2, "--save", path)
    header, one, _ = path.read_text().splitlines()
    for line in ["hello", "{}", '{"game": 1}', one.replace('"winner":"', '"winner":"x'), "[]"]:
        path.write_text(f"{header}\n{one}\n{line}\n")
        done = play(*QUICK, "--games", 2, "--save", path, "--resume", exit_code=1)
        assert done.stderr == f"Error: {path}, line 3: {line[:60]!r} is not a game of a match\n"
    path.write_text(f"{header}\n{one.replace('5x4', '4x4')}\n")
    done = play(*QUICK, "--games", 2, "--save", path, "--resume", exit_code=1)
    assert re.search(r"game \d was saved with the opening '4x4 \| .*'; now it would have '5x4", done.stderr)

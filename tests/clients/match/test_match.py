"""`plyd match`: the result for people and for programs, and the daemons of the sides."""

import json
import re

from tests.clients.match.fakes import plays
from tests.clients.match.matches import QUICK, invoke

SEARCHED = ["4x7" if word == "5x4" else word for word in QUICK]  # too tall for the exact solver, so that nodes count


def test_result_for_people(play):
    done = play(*SEARCHED, "--games", 4, first="name=A seed=1", second="name=B seed=2")
    title, _, games, result, *_ = done.stdout.splitlines()
    assert title == "connect4: A against B"
    assert games.split() == ["games", "4", "of", "4"]
    won, drawn, lost = map(int, re.match(r"A +\+(\d) =(\d) -(\d)  \d+\.\d%$", result).groups())
    assert won + drawn + lost == 4
    for words in [
        r"moving first +\+",
        r"moving second +\+",
        r"Elo +\S+ \[.* to .*\]  LOS ",
        r"pairs +\d",
        r"length +\d",
    ]:
        assert re.search(words, done.stdout)
    assert re.search(r"^A +5 nodes, seed=1, at \S+ +\d+ +\d+\.\d +- +[\d,]+ +0$", done.stdout, re.MULTILINE)
    assert done.stderr.splitlines()[-1].startswith("4/4 games  +")


def test_result_for_programs(play):
    told = json.loads(play(*SEARCHED, "--games", 6, "--json", first="seed=1", second="time=0.002 name=B").stdout)
    assert told["games"] == told["wins"] + told["draws"] + told["losses"] == 6
    assert told["score"] == (told["wins"] + told["draws"] / 2) / 6
    assert sum(told["pairs"]) == 3
    for name in ("wins", "draws", "losses"):
        assert told["moved_first"][name] + told["moved_second"][name] == told[name]
    assert 0 <= told["los"] <= 1
    assert 4 < told["mean_plies"] <= 28
    first, second = told["first"], told["second"]
    assert (first["name"], first["nodes"], first["options"], first["forfeits"]) == ("first", 5, {"seed": "1"}, 0)
    assert (second["name"], second["seconds"], second["options"]) == ("B", 0.002, {})
    assert first["worst_overshoot_ms"] is None
    assert second["worst_overshoot_ms"] >= 0
    assert min(side[key] for side in (first, second) for key in ("moves", "mean_ms", "nodes_per_second")) > 0
    assert "sprt" not in told


def test_sides_without_address_share_a_private_daemon(private_daemons):
    done = invoke("match", "connect4", *QUICK, "--games", 2, "--first", "seed=1", "--second", "seed=2")
    assert (done.exit_code, private_daemons) == (0, [("connect4",)])
    assert "games" in done.stdout


def test_a_side_is_played_by_the_plyd_of_another_environment(private_daemons, tmp_path):
    program = tmp_path / "old" / "bin" / "plyd"
    program.parent.mkdir(parents=True)
    program.touch()
    done = invoke(
        "match", "connect4", *QUICK, "--games", 2, "--second", f"env={tmp_path / 'old'} serve='--slots 1'", "--json"
    )
    assert (done.exit_code, private_daemons) == (0, [("connect4",), ("connect4", "--slots", "1", str(program))])
    assert json.loads(done.stdout)["second"]["env"] == str(tmp_path / "old")


def test_an_environment_without_plyd_is_refused(private_daemons, tmp_path):
    done = invoke("match", "connect4", *QUICK, "--games", 2, "--second", f"env={tmp_path}")
    assert done.exit_code == 1
    assert f"env={tmp_path}: {tmp_path}/bin/plyd does not exist" in done.stderr


def test_one_side_elsewhere(fake, connect4, private_daemons):
    fake_address = fake(plays("9"))
    done = invoke("match", "connect4", *QUICK, "--games", 2, "--first", f"at={fake_address} name=new", "--json")
    assert (done.exit_code, private_daemons) == (0, [("connect4",)])
    found = json.loads(done.stdout)
    assert (found["first"]["at"], "at" in found["second"]) == (fake_address, False)
    assert (found["first"]["forfeits"], found["second"]["forfeits"]) == (2, 0)


def test_common_limits_are_for_sides_without_their_own(play):
    told = json.loads(play("--start", "4x4", "--move-time", 5, "--games", 2, "--json", first="nodes=3").stdout)
    assert told["first"]["plays_with"].startswith("3 nodes, at")
    assert told["second"]["plays_with"].startswith("5 ms a move, at")
    told = json.loads(play("--start", "4x4", "--clock", "9+1", "--depth", 1, "--games", 2, "--json").stdout)
    assert told["first"]["plays_with"].startswith("depth 1, clock 9+1, at")

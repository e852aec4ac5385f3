"""Games that a side loses other than by the rules, and the sequential test, with fake engines."""

import json
import re
import time

import grpc
import pytest

from plyd.clients.match import seat
from plyd.v1 import engine_pb2, search_pb2
from tests.clients.library.resets import CuttingRelay
from tests.clients.match.fakes import plays
from tests.clients.match.matches import QUICK, invoke, saved


def refuses(number, context):
    """An answer with an error that leaves the stream open."""
    return engine_pb2.PlayResponse(id=number, error=engine_pb2.CommandError(code=13, message="out of ideas"))


def sleeps(number, context):
    """No answer for as long as somebody waits."""
    while context.is_active():
        time.sleep(0.05)
    return plays("1")(number, context)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (plays("9"), "first plays '9': unknown move \"9\"; moves are columns, 1 to 5"),
        (plays(None), "first has no move"),
        (refuses, "first returns an error: out of ideas"),
        (lambda _, context: context.abort(grpc.StatusCode.INTERNAL, "boom"), "first returns an error: "),
        (
            lambda _, context: context.abort(grpc.StatusCode.UNAVAILABLE, "gone"),
            "first is unavailable 3 times during one move: ",
        ),
        (
            plays("1", search_pb2.STOP_REASON_STOPPED),
            "first is unavailable 3 times during one move: the daemon shuts down",
        ),
        (sleeps, "first gives no answer within 0.5 s"),
    ],
)
def test_forfeits(fake, connect4, tmp_path, monkeypatch, answer, reason):
    path = tmp_path / "games.jsonl"
    if answer is sleeps:
        monkeypatch.setattr(seat, "UNTIMED_MOVE_SECONDS", 0.5)
    sides = ["--first", f"at={fake(answer)}", "--second", f"at={connect4}"]
    done = invoke("match", "connect4", *sides, *QUICK, "--games", 2, "--save", path, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["losses"], told["first"]["forfeits"], told["second"]["forfeits"]) == (2, 2, 0)
    games = saved(path)[1]
    assert [game["winner"] for game in games] == ["second", "second"]
    assert [len(game["moves"]) for game in games] == [0, 1]
    for game in games:
        assert game["reason"].startswith(reason)
        assert f"game {game['game']}: {reason}" in done.stderr


def test_streams_that_a_proxy_cuts_forfeit_no_game(connect4, tmp_path, monkeypatch):
    monkeypatch.setattr(seat, "RETRY_SECONDS", 0.01)
    path = tmp_path / "games.jsonl"
    with CuttingRelay(connect4, messages=29) as proxy:
        sides = ["--first", f"at={proxy.address}", "--second", f"at={connect4}"]
        done = invoke("match", "connect4", *sides, *QUICK, "--games", 4, "--save", path, "--json")
    assert done.exit_code == 0, done.stderr
    assert proxy.cuts > 0
    told = json.loads(done.stdout)
    assert (told["first"]["forfeits"], told["second"]["forfeits"]) == (0, 0), path.read_text()
    assert [game["reason"] for game in saved(path)[1]] == ["rules"] * 4


def test_clock_runs_out(fake, connect4):
    def slow(number, context):
        time.sleep(0.4)
        return plays("1")(number, context)

    sides = ["--first", f"at={fake(slow)} clock=0.2+1", "--second", f"at={connect4} nodes=1"]
    done = invoke("match", "connect4", *sides, "--start", "5x4", "--games", 2, "--json")
    assert json.loads(done.stdout)["first"]["forfeits"] == 2
    assert re.search(r"game 0: first is out of time: 0\.\d+ s for a move with 0\.200 s left", done.stderr)


def test_overshoot_is_seen(fake, connect4):
    def slow(number, context):
        time.sleep(0.1)
        return plays("9")(number, context)

    sides = ["--first", f"at={fake(slow)} time=0.02", "--second", f"at={connect4} nodes=1"]
    told = json.loads(invoke("match", "connect4", *sides, "--start", "5x4", "--games", 2, "--json").stdout)
    assert told["first"]["worst_overshoot_ms"] > 75
    assert told["first"]["mean_ms"] > 95


def test_sequential_test_ends_the_match(fake, connect4, tmp_path):
    path = tmp_path / "games.jsonl"
    sides = ["--first", f"at={fake(plays('9'))}", "--second", f"at={connect4}"]
    options = [*sides, *QUICK, "--games", 1000, "--sprt", -200, 0, "--save", path]
    done = invoke("match", "connect4", *options, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["sprt"]["accepted"] == "H0"
    assert told["sprt"]["llr"] <= told["sprt"]["lower"] == pytest.approx(-2.944, abs=1e-3)
    assert told["games"] == 2 * sum(told["pairs"]) == 2 * told["pairs"][0] == 16  # (score_of(200) / 0.5)^n > 19
    assert len(saved(path)[1]) >= told["games"]
    text = invoke("match", "connect4", *options, "--resume").stdout
    assert "between -2.94 and 2.94; H0 is accepted: -200 Elo" in text
    assert re.search(rf"games +{told['games']} of 1000", text)


def test_sequential_test_that_is_not_decided(play):
    done = play(*QUICK, "--games", 4, "--sprt", -1, 1)
    assert "; not decided between -1 and 1 Elo" in done.stdout
    assert "  LLR " in done.stderr

"""`plyd stress`: short runs of it, and the judgement it comes to."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.commands.bench import figure
from plyd.clients.stress import game, known, rate, soak
from plyd.clients.stress.tally import LoadTally
from plyd.clients.stress.verdict import is_reached, print_verdict
from tests.patience import SOON, until


def stress(*arguments):
    """Run plyd stress with some arguments, in this process."""
    return CliRunner().invoke(main, ["stress", *map(str, arguments)], prog_name="plyd")


def told(result):
    """The figures that a command printed as JSON, by name."""
    assert result.exit_code in (0, 1), result.output
    return {line["name"]: line["value"] for line in map(json.loads, result.stdout.splitlines())}


# --- Judgement --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "at_most", "at_least", "reached"),
    [
        (1, None, None, True),
        (1, 1, None, True),
        (1.01, 1, None, False),
        (1, None, 1, True),
        (0.99, None, 1, False),
        (math.nan, 1, None, False),
        (math.nan, None, 1, False),
    ],
)
def test_a_figure_is_reached_or_not(value, at_most, at_least, reached):
    assert is_reached(figure("game", "name", value, "", at_most, at_least)) is reached


@pytest.mark.parametrize(("value", "status"), [(0, 0), (1, 1)])
def test_a_broken_promise_is_status_1(capsys, value, status):
    with pytest.raises(SystemExit) as end:
        print_verdict([figure("game", "wrong answers", value, "", at_most=0)], as_json=True, notes=["wrong: 2 + 2 = 5"])
    assert end.value.code == status
    told = capsys.readouterr()
    assert json.loads(told.out)["reached"] is (status == 0)
    assert told.err == "wrong: 2 + 2 = 5\n"


def test_bounds_of_a_ratio_hold_it_and_are_wide_if_rounds_differ():
    assert rate.bounds([(90, 100)] * 10) == (0.9, 0.9)
    low, high = rate.bounds([(80, 100), (100, 100)] * 10)
    assert 0.8 < low < 0.87 < 0.9 < 0.93 < high < 1


def test_growth_is_that_of_means_after_the_warm_up():
    hour = [(10.0 * i, 200 if i < 30 else 1000, 0) for i in range(361)]  # warm after five minutes
    assert soak.growth(hour) == 0
    leaking = [(seconds, resident + int(seconds), 0) for seconds, resident, _ in hour]
    assert soak.growth(leaking) == pytest.approx(100 * (4450 / 1450 - 1), rel=0.01)
    assert soak.growth(hour[:3]) is None
    assert soak.growth([(seconds, 0, 0) for seconds, _, _ in hour]) is None


def test_late_means_later_than_limit_and_margin():
    tally = LoadTally()
    tally.took(0.14, 0.1, 0.05, "one")
    tally.took(0.16, 0.1, 0.05, "other")
    assert (tally.late, tally.examples) == (1, ["late: other took 0.160 s of 0.100 s"])


@pytest.mark.parametrize(("callers", "processes", "counts"), [(16, 4, [4] * 4), (5, 2, [3, 2]), (2, 4, [1, 1])])
def test_callers_are_shared_out_to_processes(callers, processes, counts):
    assert rate.shares(callers, processes) == counts


# --- Short runs -------------------------------------------------------------------------------------------------------


def test_a_load_below_capacity_is_answered_and_hardly_refused(daemon):
    options = ["--factor", 0.2, "--seconds", 1, "--move-time", 20, "--margin", 1000 * SOON, "--connect", daemon]
    found = told(stress("overload", *options, "--json"))
    assert found["errors and unfinished calls"] == 0
    assert found["answered within limit + 120000 ms"] == 100
    assert found["answered"] > found["rejected"]


def test_an_overload_is_refused_in_part_and_every_call_ends(narrow_daemon):
    options = ["--factor", 8, "--seconds", 1, "--margin", 1000 * SOON, "--connect", narrow_daemon]
    found = told(stress("overload", *options, "--json"))
    assert found["errors and unfinished calls"] == 0
    assert found["answered"] > 0
    assert found["rejected"] > 0


def test_lateness_tells_how_late_answers_are_and_where(narrow_daemon):
    options = ["--games", "2584-2x3", "--callers", "2", "--move-time", 20, "--seconds", 1, "--connect", narrow_daemon]
    found = told(stress("lateness", *options, "--json"))
    assert found["2 callers: answers"] > 0
    assert found["2 callers: late, p50"] <= found["2 callers: late, p99"] <= found["2 callers: late, maximum"]
    assert found["2 callers: late in the search itself, maximum"] <= found["2 callers: late, maximum"]


@pytest.mark.slow
def test_an_overload_starts_a_daemon_with_these_slots():
    found = told(stress("overload", "--factor", 8, "--seconds", 3, "--slots", 1, "--margin", 1000 * SOON, "--json"))
    assert found["errors and unfinished calls"] == 0
    assert found["rejected"] > 0


@pytest.mark.slow
def test_a_short_soak_finds_nothing_wrong_and_writes_what_it_saw(tmp_path):
    file = tmp_path / "soak.csv"
    result = stress("soak", "--minutes", 0.08, "--every", 0.5, "--margin", 1000 * SOON, "--csv", file, "--json")
    found = told(result)
    assert [found[name] for name in ("wrong answers", "crashes", "errors", "answers later than 120000 ms")] == [0] * 4
    assert min(found[f"answers: {kind}"] for kind in ("exact", "batch", "timed", "rules", "move")) > 0
    header, *rows = file.read_text().splitlines()
    assert header == "seconds,resident_bytes,answers"
    assert all(int(row.split(",")[1]) > 10 << 20 for row in rows)


def test_a_soak_that_is_told_to_go_says_what_it_saw_and_leaves_no_daemon_behind(tmp_path):
    file = tmp_path / "soak.csv"
    few = "from plyd.clients.stress import known, soak; soak.POSITIONS, known.CHECKED = 20, 2"
    code = f"{few}; from plyd.clients.cli import main; main()"
    command = [sys.executable, "-c", code, "stress", "soak", "--every", "0.2", "--csv", str(file), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    until(lambda: file.exists() and len(file.read_text().splitlines()) > 3)
    [daemon] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.terminate()
    figures, _ = process.communicate(timeout=SOON)
    assert '"wrong answers", "value": 0' in figures
    assert not Path(f"/proc/{daemon}").exists()


def test_values_that_are_not_right_are_seen_before_the_load_begins(daemon, monkeypatch):
    monkeypatch.setattr(known, "FIRST", ("b 2 2 0 0 0 0", 1422.0))
    monkeypatch.setattr(soak, "POSITIONS", 5)
    result = stress("soak", "--minutes", 0.05, "--connect", daemon)
    assert result.exit_code == 1
    assert "the value of b 2 2 0 0 0 0 is 1422.0, but Evaluate returns 1422.339260970406" in result.stderr


def test_a_rate_is_told_beside_that_of_an_echo(daemon, monkeypatch):
    monkeypatch.setattr(rate, "WARM_SECONDS", 0.1)
    options = ["--rounds", 1, "--seconds", 0.2, "--processes", 2, "--callers", 4, "--connect", daemon]
    found = told(stress("rate", *options, "--json"))
    assert found["Describe, 4 callers"] > 0
    assert found["Describe, share of the echo's rate"] > 0


def test_whole_games_are_told_beside_an_echo(daemon):
    found = told(stress("game", "--game", "2584-2x3", "--slides", 30, "--connect", daemon, "--json"))
    for how in ("Play", "Play, go with the move", "Apply and Search"):
        assert found[f"{how}: plies of the game"] == 62  # the opening's two tiles, and a tile after each slide
        assert found[f"{how}: share of the echo's rate"] > 0
    assert len(found) == 9  # too few slides to compare the last with the first


def test_the_last_slides_are_compared_with_the_first():
    turns = [game.Turn(25, seconds, 1.0) for seconds in [9.0] * 10 + [1.0] * 40 + [1.0] * 20 + [2.0] * 40]
    played = game.Played(None, seed=1, most_slides=10_000)
    plies, rate, share, steady = (each["value"] for each in game.figures_of("2048", "Play", played, turns))
    assert (plies, rate, share, steady) == (0, 2500 / 140, 1.0, 0.5)


def test_a_plot_without_matplotlib_is_refused_before_the_run(monkeypatch):
    monkeypatch.setattr(soak.importlib.util, "find_spec", lambda name: None)
    result = stress("soak", "--plot", "soak.png")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: --plot needs matplotlib: pip install 'plyd[plot]'\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["soak", "--games", "2048"], "--games must include 2584-2x3"),
        (["overload", "--move-time", "soon"], "--move-time needs whole milliseconds"),
        (["overload", "--factor", "0"], "0.1<=x<=100"),
        (["lateness", "--callers", "all"], "--callers needs whole numbers"),
    ],
)
def test_wrong_usage(arguments, complaint):
    result = stress(*arguments)
    assert (result.exit_code, complaint in result.stderr) == (2, True)

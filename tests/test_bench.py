"""`plyd bench`: the figures are there, and the signature stands for the search. Speed itself is not tested."""

import io
import json

import pytest

from plyd.clients.commands import bench
from plyd.engines import bench as engine_bench
from plyd.engines import registry

GAME = "2584-2x3"


@pytest.fixture(scope="module")
def engine():
    engine = registry.load(GAME)
    engine.warm_up()
    return engine


def test_the_signature_is_the_same_twice_and_changes_with_the_search(engine, monkeypatch):
    monkeypatch.setattr(engine_bench, "NODES", 2000)
    once, twice = (engine_bench.search_figure(engine, {"method": "expectimax"}) for _ in range(2))
    assert once.name == twice.name
    assert once.value > 0
    assert engine_bench.search_figure(engine, {"method": "exact"}).name != once.name


def test_queries_are_states_that_can_occur(engine):
    from plyd.engines.tiles_2584_2x3.bench import queries

    lines = queries(engine.solution, 500)
    assert lines.count(b"\n") == 500
    answers = engine.evaluate("classic", lines, as_text=False, with_moves=False)
    assert not answers.errors
    assert (answers.values >= 0).all()
    assert {line[:1] for line in lines.splitlines()} == {b"b", b"a"}


def test_gomoku_is_measured_on_games_that_go_on_and_on_wins_by_fours_of_fifteen_plies():
    from plyd.engines.core.intrinsics import Stop
    from plyd.engines.core.search import Limits, Result
    from plyd.engines.gomoku import bench as gomoku

    assert all(gomoku.FREESTYLE.to_move(gomoku.middle_game(moves)) for moves in gomoku.MIDDLE_GAMES)
    using = gomoku.searcher()
    for text in gomoku.LONG_CHASES:
        *_, last = using.search(gomoku.FREESTYLE.parse(text), Limits(max_depth=1), Stop())
        assert last.score.value.result is Result.WIN
        assert last.score.value.plies >= 15


def test_percentiles():
    assert bench.percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert bench.percentile([float(i) for i in range(100)], 99) == 99.0


def test_the_table_says_which_goals_are_reached():
    from rich.console import Console

    console = Console(width=120, record=True, file=io.StringIO())
    good, bad = bench.figure(GAME, "quick", 1.0, "ms", at_most=2), bench.figure(GAME, "slow", 1.0, "M/s", at_least=2)
    console.print(bench.table([good, bad]))
    lines = console.export_text().splitlines()
    assert any("quick" in line and "2 or less" in line and "yes" in line for line in lines)
    assert any("slow" in line and "2 or more" in line and "no" in line for line in lines)


@pytest.mark.slow
def test_the_whole_bench_prints_every_figure_as_json():
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "plyd.clients", "bench", GAME, "--json", "--no-cold"], capture_output=True, check=True
    )
    figures = {figure["name"]: figure for figure in map(json.loads, done.stdout.splitlines())}
    for name in ("solve all states", "warm start to SERVING", "time limit overshoot, p99"):
        assert figures[name]["value"] > 0
        assert figures[name]["at_most"] > 0
    assert figures["plyd solve, 1M queries file to file"]["at_least"] == 2


def test_the_longest_task_is_told_with_its_cpu_time_and_the_most_of_any():
    from plyd.clients.web.bench import task_figures

    longest, its_cpu, most_cpu = task_figures([(10.0, 9.0), (120.0, 8.0), (1.0, 1.0)])
    assert (longest["value"], its_cpu["value"], most_cpu["value"]) == (120.0, 8.0, 9.0)
    assert [figure["value"] for figure in task_figures([])] == [0.0, 0.0, 0.0]

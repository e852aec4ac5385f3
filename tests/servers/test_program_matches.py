"""Matches of programs that crash, lie and hang at random: every game has its verdict, and the daemons stay up."""

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.engines.gomoku.engine import CARD
from plyd.engines.gomoku.rules import RULES
from plyd.engines.programs.engine import ProgramEngine
from plyd.engines.programs.process import Program
from tests.patience import SOON, until
from tests.servers.test_programs import BRAIN


@pytest.mark.parametrize(
    ("how", "games", "seconds", "margin"),
    [("random", 6, SOON, SOON), pytest.param("random-and-slow", 200, 0.3, 3.0, marks=pytest.mark.slow)],
)
def test_programs_that_misbehave_at_random_lose_and_daemons_stay_up(open_daemon, tmp_path, how, games, seconds, margin):
    daemons, logs = [], []
    for name in ("first", "second"):
        logs.append(tmp_path / name)
        logs[-1].write_text("")
        program = Program((*BRAIN, how, "1", str(logs[-1])), name, margin_seconds=margin, start_seconds=SOON)
        engine = ProgramEngine(SimpleNamespace(card=CARD, variants=RULES), program, "gomocup")
        daemons.append(open_daemon(engine, slots=2))
    file = tmp_path / "games.jsonl"
    first, second = (f"at={daemon.target} time={seconds}" for daemon in daemons)
    arguments = ["--start", "5x5", "--games", games, "--save", file, "--concurrency", 2]
    words = ["match", "gomoku", "--first", first, "--second", second, *arguments]
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.stderr
    played = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert len(played) == games
    bad = {"first": 0, "second": 0}
    for game in played:
        if game["reason"] != "rules":
            loser = "second" if game["winner"] == "first" else "first"
            assert game["reason"].startswith(f"{loser} returns an error: {loser} ")
            bad[loser] += 1
    assert bad == {name: len(log.read_text().splitlines()) for name, log in zip(bad, logs, strict=True)}
    for daemon in daemons:
        until(daemon.is_idle)
        assert daemon.engine._pool._busy == 0

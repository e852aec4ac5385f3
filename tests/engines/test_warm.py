"""`plyd warm`: every kernel compiled beforehand."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from plyd.engines import registry, warm
from plyd.engines.core.errors import BadModel
from tests.patience import LONG


@pytest.fixture
def here(monkeypatch):
    """Run it in this process, with engines that only say that they were warmed up."""
    warmed = []
    monkeypatch.setattr(warm, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    monkeypatch.setattr(registry, "load", lambda game: SimpleNamespace(warm_up=lambda: warmed.append(game)))

    def run(*games):
        return CliRunner().invoke(warm.warm, games), warmed

    return run


@pytest.mark.parametrize("games", [(), ("gomoku",), ("connect4", "2048", "connect4")])
def test_every_game_that_is_asked_for_is_warmed_up_once_and_told(here, games):
    result, warmed = here(*games)
    assert result.exit_code == 0
    assert sorted(warmed) == sorted(set(games or registry.ENGINES))
    told = [re.fullmatch(r"(\S+) is ready after \d+\.\d s", line)[1] for line in result.stderr.splitlines()]
    assert sorted(told) == sorted(warmed)  # as they get ready


def test_a_game_that_is_not_there_is_refused_before_anything_is_compiled(here):
    result, warmed = here("2048", "chess")
    assert (result.exit_code, warmed) == (2, [])
    assert 'unknown game "chess"; games are 2584-2x3, 2584, 2048, connect4, gomoku' in result.stderr


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (BadModel("the weights are not there"), "the weights are not there"),
        (BrokenProcessPool(), "a process that compiled was killed; is there enough memory?"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(here, monkeypatch, problem, told):
    def load(_):
        raise problem

    monkeypatch.setattr(registry, "load", load)
    result, _ = here("2048")
    assert (result.exit_code, result.stderr) == (1, f"Error: {told}\n")


def test_a_real_engine_in_a_process_of_its_own():
    command = [sys.executable, "-m", "plyd.clients", "warm", "2584-2x3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(r"2584-2x3 is ready after \d+\.\d s\n", done.stderr)

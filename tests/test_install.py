"""The wheels installed from the registry, as users install them: with pip and with pipx. Slow."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.patience import LONG
from tests.wheels import ROOT, build_wheels

pytestmark = pytest.mark.slow
INSTALL_SECONDS = 10 * LONG  # hundreds of megabytes, from a registry
HEAVY = {"plyd", "numba", "numpy", "onnxruntime", "rich", "starlette", "uvicorn", "torch"}

USER = """
import asyncio

from plyd.clients import AsyncEngineClient, EngineClient, Line, PlydError, Position, Report, State


def value(line: Line) -> float:
    return line.score.win_probability


def best(position: str) -> str:
    with EngineClient("127.0.0.1:25840", "2584-2x3") as engine:
        state: State = engine.new_game(seed=1)
        root: Position = state.position
        moves: list[str] = [each.move for each in state.legal_moves]
        report: Report = engine.search(root, seconds=0.1, options={"threads": 1}, lines=2)
        picture: str = state.svg(report)
        for line in sorted(report.lines, key=value):
            print(list(line.moves), line.visits, line.message.visits, moves, picture)
        for step in engine.analyze(position, nodes=100):
            print(step.nodes, step.HasField("move"))
        with engine.play(root) as game:
            print(game.moves("left").plies, game.state.text)
        return report.move


async def ask(position: str) -> float:
    async with await AsyncEngineClient.start("gomoku") as engine:
        async for report in engine.analyze(position, nodes=10):
            print(report.score.exact)
        return (await engine.search(position)).score.expected_points


try:
    print(best("b 2 2 0 0 0 0"), asyncio.run(ask("15x15")))
except PlydError as error:
    print(error)
"""
MISTAKES = {
    'game.moves("left")': "game.moves(1)",
    "return report.move": "return report.nodes",
    "line.score.win_probability": "line.score.win_chance",
    "root: Position = state.position": "root: Position = state.text",
}


def run(*command, **settings):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, **settings
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return build_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def client_venv(wheels, tmp_path_factory):
    """A virtual environment with plyd-client in it, installed by pip."""
    folder = tmp_path_factory.mktemp("client")
    venv.create(folder, with_pip=True)
    status, _, errors = run(folder / "bin/pip", "install", "--quiet", wheels["plyd_client"])
    assert status == 0, errors
    return folder


def test_the_client_installs_without_what_engines_need(client_venv):
    _, listed, _ = run(client_venv / "bin/pip", "list", "--format=freeze")
    names = {line.partition("==")[0] for line in listed.splitlines()}
    assert "plyd-client" in names
    assert not names & HEAVY
    code = "from plyd.clients import EngineClient; EngineClient.start('gomoku')"
    status, _, errors = run(client_venv / "bin/python", "-c", code)
    assert (status, errors.splitlines()[-1].partition(": ")[2]) == (
        1,
        "a private daemon for gomoku did not start: Error: serve is a command of the package plyd: pip install plyd",
    )


def test_a_users_program_passes_mypy_strict(client_venv, tmp_path):
    def check(program):
        (tmp_path / "user.py").write_text(program)
        command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", client_venv / "bin/python"]
        return run(*command, "user.py", cwd=tmp_path)

    assert check(USER)[:2] == (0, "Success: no issues found in 1 source file\n")
    for right, wrong in MISTAKES.items():
        status, told, _ = check(USER.replace(right, wrong))
        assert status == 1, told
        assert ": error:" in told


def test_twine_finds_nothing_wrong(wheels):
    status, told, errors = run(sys.executable, "-m", "twine", "check", "--strict", *wheels.values())
    assert (status, told.count("PASSED")) == (0, 2), told + errors


def test_pipx_installs_plyd_and_it_plays(wheels, tmp_path):
    environment = os.environ | {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIPX_MAN_DIR": str(tmp_path / "man"),
        "HOME": str(tmp_path),
    }
    (tmp_path / "dist").symlink_to(wheels["plyd"].parent)
    [command] = re.findall(r"^\$ (pipx install .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    status, told, errors = run("sh", "-c", command, cwd=tmp_path, env=environment)
    assert status == 0, told + errors
    assert {path.name for path in (tmp_path / "bin").iterdir()} == {"plyd", "pbrain-plyd"}
    plyd = Path(tmp_path / "bin/plyd")
    assert run(plyd, "--version", env=environment)[1].startswith("plyd, version ")
    assert run(plyd, "solve", "--moves", input="b 2 2 0 0 0 0\n", env=environment)[1] == "= 1422.339261 right\n"
    findings = run(plyd, "doctor", env=environment)[1]
    assert "packages" in findings
    assert "missing: " not in findings

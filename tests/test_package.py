"""The wheel: one namespace, the schema in it, and nothing that would collide in somebody's site-packages."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    return wheel


def test_the_wheel_installs_one_namespace_with_the_schema_in_it(wheel, tmp_path):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"plyd"}
    for name in (
        "plyd/v1/engine.proto",
        "plyd/v1/engine_pb2.py",
        "plyd/v1/engine_pb2.pyi",
        "plyd/engines/registry.py",
        "plyd/servers/daemon.py",
        "plyd/clients/library/client.py",
        "plyd/clients/web/static/index.html",
        "plyd/models/__init__.py",
        "plyd/clients/py.typed",
        "plyd/v1/py.typed",
        "plyd/protocols/ugi.py",
    ):
        assert name in names
    assert "plyd/__init__.py" not in names
    assert not any("node_modules" in name or "__pycache__" in name for name in names)
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    code = "import plyd.clients.cli, plyd.v1.rules_pb2, plyd.servers.daemon; print(plyd.clients.cli.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "HOME": str(tmp_path)},
    )
    assert done.stdout == f"{installed}/plyd/clients/cli.py\n", done.stderr


USER = """
import asyncio

from plyd.clients import AsyncEngineClient, EngineClient, PlydError


def best(position: str) -> str:
    with EngineClient("127.0.0.1:25840", "2584-2x3") as engine:
        report = engine.search(position, seconds=0.1, options={"threads": "1"}, lines=2)
        for line in report.lines:
            print(list(line.moves), line.score.win_probability)
        for step in engine.analyze(position, nodes=100):
            print(step.nodes)
        with engine.play() as game:
            game.moves("left")
        return report.move


async def ask(position: str) -> float:
    async with await AsyncEngineClient.start("gomoku") as engine:
        return (await engine.search(position)).score.expected_points


try:
    print(best("b 2 2 0 0 0 0"), asyncio.run(ask("15x15")))
except PlydError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_users_program_passes_mypy_strict_with_the_types_of_the_wheel(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(USER.replace('game.moves("left")', "game.moves(1)"))
    for name, status in (("user.py", 0), ("wrong.py", 1)):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", name],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"MYPYPATH": str(tmp_path / "installed"), "HOME": str(tmp_path)},
        )
        assert done.returncode == status, done.stdout

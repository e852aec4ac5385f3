"""The examples in compiled languages, built from the .proto files alone, play a game with a real daemon."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from plyd.engines import registry
from plyd.v1 import engine_pb2, rules_pb2
from tests.patience import LONG, SOON
from tests.servers.daemons import House, OpenDaemon

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
TOOLS = {  # what each example needs on the PATH, and whether its libraries are there
    "cpp": (("g++", "make", "pkg-config", "protoc", "grpc_cpp_plugin"), "pkg-config --exists grpc++ protobuf"),
    "go": (
        ("go", "make", "protoc", "protoc-gen-go", "protoc-gen-go-grpc"),
        "cd /usr/share/gocode/src/google.golang.org && test -d grpc && test -d protobuf",
    ),
}


@pytest.fixture(scope="module")
def daemon():
    house = House()
    with OpenDaemon(house, registry.load("2584-2x3")) as daemon:
        yield daemon
    house.close()


@pytest.fixture(scope="module", params=TOOLS)
def program(request, tmp_path_factory):
    """Run an example, built in a folder of the test."""
    folder = EXAMPLES / request.param
    tools, libraries = TOOLS[request.param]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing or subprocess.run(libraries, shell=True, capture_output=True).returncode != 0:
        lacking = f"not on the PATH: {' '.join(missing)}" if missing else f"fails: {libraries}"
        pytest.skip(f"examples/{request.param} needs the packages in its README.md ({lacking})")
    build = tmp_path_factory.mktemp(request.param)
    command = ["make", f"-j{os.cpu_count()}", f"BUILD={build}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr

    def run(*arguments):
        return subprocess.run([build / "play", *arguments], capture_output=True, text=True, timeout=SOON)

    return run


def game_in_python(caller):
    """The last state of the game that the examples play."""
    request = rules_pb2.NewGameRequest(game="2584-2x3", seed=1, without_history=True)
    state = caller.rules.NewGame(request, timeout=SOON).state
    while state.legal_moves:
        question = engine_pb2.SearchRequest(position=state.position, limits={"move_time_ms": 100})
        move = caller.engine.Search(question, timeout=SOON).report.move
        request = rules_pb2.ApplyRequest(
            position=state.position, moves=[move], with_chance=True, seed=1, without_history=True
        )
        state = caller.rules.Apply(request, timeout=SOON).state
    return state


def test_example_plays_the_game_that_python_plays_and_follows_an_analysis(program, daemon):
    done = program(daemon.target)
    assert done.stderr == ""
    assert done.returncode == 0
    top, bottom, summary, *reports = done.stdout.splitlines()
    end = game_in_python(daemon.caller)
    assert f"{top}\n{bottom}" == end.picture
    assert summary == f"{end.points:g} points in {end.plies} moves"
    assert end.plies > 20
    assert reports[-1] == "depth 4: right, 9.18731, final"
    assert not any(line.endswith("final") for line in reports[:-1])


def test_example_says_what_is_wrong(program, daemon, tmp_path):
    nowhere = f"unix:{tmp_path}/nobody.sock"
    done = program(nowhere)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"{nowhere}: status 14: ")

"""What the README shows is what happens."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plyd.engines import registry
from tests.clients.http.bridge import Bridge
from tests.lacking import give_up
from tests.patience import SOON
from tests.servers.daemons import House, OpenDaemon

README = (Path(__file__).parent.parent / "README.md").read_text()


@pytest.fixture(scope="module")
def house():
    house = House()
    yield house
    house.close()


@pytest.fixture(scope="module")
def address(house):
    with OpenDaemon(house, registry.load("2584-2x3")) as daemon:
        yield daemon.target


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_python_example_plays_a_game_to_its_end(address):
    example, _ = blocks("python")
    assert len([line for line in example.splitlines() if line]) <= 10
    code = example.replace("127.0.0.1:25840", address)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 0, done.stderr
    top, bottom, summary = done.stdout.splitlines()
    assert len(top.split()) == len(bottom.split()) == 3
    points, moves = re.fullmatch(r"(\d+) points in (\d+) moves", summary).groups()
    assert int(points) > 100
    assert int(moves) > 20


def test_the_solve_transcript_is_what_solve_prints(address):
    [transcript] = [block for block in blocks("console") if block.startswith("$ plyd solve\n")]
    lines = transcript.splitlines()[1:]
    queries, answers = lines[::2], lines[1::2]
    command = [sys.executable, "-m", "plyd.clients", "solve", "--connect", address]
    done = subprocess.run(command, input="\n".join(queries), capture_output=True, text=True, timeout=SOON)
    assert done.stdout.splitlines() == answers


def test_the_python_example_of_a_stream_plays_the_game_in_one_round_trip_a_move(address):
    first, second = blocks("python")
    code = f"{first.splitlines()[0]}\n{second}".replace("127.0.0.1:25840", address)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ points in \d+ moves\n", done.stdout)


def test_the_first_example_is_true(address):
    query, answer = re.search(r'\$ echo "(.*?)" \| \.venv/bin/plyd solve --moves\n(.*)\n', README).groups()
    command = [sys.executable, "-m", "plyd.clients", "solve", "--moves", "--connect", address]
    done = subprocess.run(command, input=query, capture_output=True, text=True, timeout=SOON)
    assert done.stdout.strip() == answer


def test_the_curl_example_is_true(house, address):
    if not shutil.which("curl"):
        give_up("curl is not installed")
    [transcript] = [block for block in blocks("console") if "$ curl" in block]
    command, answer = re.search(r"\$ (curl .*?)\n(\{.*?), \.\.\.\n", transcript, re.DOTALL).groups()
    with Bridge(house, address) as bridge:
        arguments = shlex.split(command.replace("127.0.0.1:25851", bridge.host))
        done = subprocess.run([*arguments, "--silent"], capture_output=True, text=True, timeout=SOON)
    assert done.stdout.startswith(answer)


def test_every_command_the_readme_names_exists():
    from plyd.clients.cli import COMMANDS

    named = set(re.findall(r"\bplyd ([a-z]+)", README)) - {"is"}
    assert named <= set(COMMANDS)
    assert {"up", "serve", "solve", "bench", "health"} <= named

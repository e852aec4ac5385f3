"""The program `plyd`: what it says of itself, and how it refuses."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from plyd.clients.cli import COMMANDS, main
from tests.patience import SOON


@pytest.fixture
def run(plyd):
    """Run plyd with some arguments."""

    def run(*arguments, program=plyd):
        return subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=SOON)

    return run


def invoke(*arguments):
    """Run plyd with some arguments, in this process."""
    return CliRunner().invoke(main, arguments, prog_name="plyd")


def test_help_lists_every_command(run):
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: plyd [OPTIONS] COMMAND [ARGS]...\n")
    listed = done.stdout.partition("Commands:\n")[2]
    assert re.findall(r"^  (\w+)  +\S", listed, re.MULTILINE) == list(COMMANDS)
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["solve", "--help"]])
def test_output_that_cannot_be_written_is_an_error_in_one_line(plyd, arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*plyd, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=SOON)
    assert done.returncode == 1
    assert done.stderr == "Error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("solve", ["--connect ADDRESS", "--moves", "--strict", "--banner", '"= -1"', "= 1422.339261 right"]),
        ("solve", ["--listen HOST:PORT", "--insecure", "listening on HOST:PORT", "nc -N 127.0.0.1 2584"]),
        ("serve", ["GAME...", "--listen ADDRESS", "--slots", "--queue", "--sessions", "127.0.0.1:25840"]),
        ("health", ["[ADDRESS]", "--service", "--wait SECONDS"]),
    ],
)
def test_help_of_a_command(command, words):
    done = invoke(command, "--help")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: plyd {command} ")
    for word in [*words, "-h, --help"]:
        assert word in done.stdout
    assert invoke(command, "-h").stdout == done.stdout


def test_example_in_the_help_of_solve_is_true(plyd, daemon):
    text = invoke("solve", "--help").stdout
    query, answer = re.search(r'echo "(.*)" \| plyd solve --moves\n +(= .*)\n', text).groups()
    command = [*plyd, "solve", "--moves", "--connect", daemon]
    done = subprocess.run(command, input=query, capture_output=True, text=True, check=True, timeout=SOON)
    assert done.stdout == f"{answer}\n"


def test_installed_program_is_the_same(run):
    program = [str(Path(sys.executable).with_name("plyd"))]
    told = run("--version", program=program).stdout
    assert re.fullmatch(r"plyd, version \d+\.\d+\.\d+\n", told)
    assert told == run("--version").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "--fast"], "No such option '--fast'"),
        (["solve", "b 2 2 0 0 0 0"], "unexpected extra argument"),
        (["serve"], "missing GAME"),
        (["serve", "2584-2x3", "--slots", "0"], "0 is not in the range"),
        (["health", "--wait", "long"], "'long' is not a valid float"),
    ],
)
def test_wrong_usage(arguments, message):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dance"], "No such command 'dance'."),
        (["modls"], "No such command 'modls'. Did you mean 'models'?"),
        (["stress", "soka"], "No such command 'soka'. Did you mean 'soak'?"),
        (["models", "pak"], "No such command 'pak'"),
        (["play", "gomku"], "'gomku' is not one of '2048', '2584', 'connect4', 'gomoku'."),
    ],
)
def test_unknown_command(arguments, message):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"Error: {message}" in done.stderr


def test_game_that_is_not_there():
    done = invoke("serve", "chess")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert re.fullmatch(r'Error: unknown game "chess"; games are .*2584-2x3.*\n', done.stderr)


def test_health(daemon):
    for arguments in ([], ["--service", "plyd.v1.EngineService", "--wait", "5"]):
        done = invoke("health", daemon, *arguments)
        assert (done.stdout, done.stderr, done.exit_code) == ("SERVING\n", "", 0)


def test_health_of_a_service_that_is_not_there(daemon):
    done = invoke("health", daemon, "--service", "chess")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {daemon}: ")


@pytest.mark.parametrize("arguments", [[], ["--wait", "0.2"]])
def test_health_of_nobody(nowhere, arguments):
    done = invoke("health", nowhere, *arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    [told] = done.stderr.splitlines()
    assert told.startswith(f"Error: {nowhere}")


def test_health_waits_for_a_daemon_that_warms_up(own_daemon):
    own_daemon.kill()
    own_daemon.launch()
    done = invoke("health", own_daemon.address, "--wait", str(SOON))
    assert (done.stdout, done.exit_code) == ("SERVING\n", 0)

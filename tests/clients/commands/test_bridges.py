"""`plyd bridges`: every bridge that it names is there, and so is the page that explains it."""

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import astuple
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from plyd.clients.cli import COMMANDS, main
from plyd.clients.commands.bridges import BRIDGES
from plyd.v1 import engine_pb2
from tests.patience import SOON
from tests.terminals import shown_on

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guis.md").read_text()


def check_plyd(command, *options):
    found = main.get_command(click.Context(main), command)
    assert found is not None, f"no command {command}; there are {', '.join(COMMANDS)}"
    known = {name for parameter in found.params for name in parameter.opts}
    assert {option for option in options if option.startswith("--")} <= known


def check(command):
    """Fail unless a command names something that exists."""
    program, *words = shlex.split(command)
    if program == "plyd":
        check_plyd(*words)
    elif program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "node":
        assert (ROOT / words[0]).is_file()
    elif program == "from":
        assert getattr(import_module(words[0]), words[2])
    elif program == "buf":
        service, method = words[-1].split("/")[-2:]
        assert method in engine_pb2.DESCRIPTOR.services_by_name[service.removeprefix("plyd.v1.")].methods_by_name
    elif "." in program:
        assert import_module(program)
    else:
        assert program in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


@pytest.mark.parametrize("bridge", BRIDGES, ids=lambda bridge: bridge.name)
def test_every_bridge_and_its_page_exist(bridge):
    check(bridge.command)
    assert (ROOT / bridge.page).is_file()


def test_lines_for_programs():
    done = CliRunner().invoke(main, ["bridges"])
    assert done.exit_code == 0
    assert [tuple(line.split("\t")) for line in done.stdout.splitlines()] == [astuple(bridge) for bridge in BRIDGES]


def test_table_for_people(plyd):
    ours, theirs = pty.openpty()
    done = subprocess.run([*plyd, "bridges"], stdout=theirs, env={**os.environ, "COLUMNS": "200"}, timeout=SOON)
    os.close(theirs)
    shown = shown_on(ours)
    assert done.returncode == 0
    assert "\t" not in shown
    for bridge in BRIDGES:
        assert bridge.page in shown
        assert bridge.name in shown


# docs/guis.md


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def port(plyd, daemon):
    """Where `plyd solve --listen` answers."""
    command = [*plyd, "solve", "--listen", "127.0.0.1:0", "--connect", daemon]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().rpartition(":")[2].strip()
        process.terminate()


def test_python_example_of_the_guide(port):
    [code] = blocks("python")
    assert len([line for line in code.splitlines() if line]) <= 10
    command = [sys.executable, "-c", code.replace("2584)", f"{port})")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=True)
    assert done.stdout == "b 2 2 0 0 0 0 = 1422.339261\na 5 1 6 0 12 0 = 316.0030443\nb 1 1 1 1 1 1 = -1\n"


def test_shell_example_of_the_guide(port):
    if not shutil.which("nc"):
        pytest.skip("nc is not installed")
    [(command, answers)] = re.findall(r"\$ (printf [^\n]* \| nc -N 127.0.0.1) 2584\n(.*?)```", GUIDE, re.DOTALL)
    done = subprocess.run(["bash", "-c", f"{command} {port}"], capture_output=True, text=True, timeout=SOON)
    if "invalid option" in done.stderr:
        pytest.skip("this nc is another one")
    assert done.stdout == answers


def test_links_and_commands_of_the_guide_lead_somewhere():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", GUIDE):
        assert (ROOT / "docs" / link).exists(), link
    assert set(re.findall(r"\bplyd ([a-z]+)\b", GUIDE)) - {"has", "vs", "when", "cmd"} <= set(COMMANDS)
    for image in (ROOT / "docs" / "images").glob("gui-*.png"):
        assert image.name in GUIDE
        assert image.stat().st_size < 80_000

"""Runs `plyd match` in this process, and reads its files."""

import json
import sys

from click.testing import CliRunner

from plyd.clients.cli import main

PLYD = [sys.executable, "-m", "plyd.clients"]
QUICK = ["--start", "5x4", "--nodes", "5"]


def invoke(*arguments):
    """The result of plyd with some arguments, in this process."""
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="plyd")


def saved(path):
    """The first line and the games of a match file, games by number."""
    header, *games = map(json.loads, path.read_text().splitlines())
    assert len({game["game"] for game in games}) == len(games)
    return header, sorted(games, key=lambda game: game["game"])

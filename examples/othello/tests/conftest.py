"""The engine under test. In a checkout of plyd the package need not be installed: its folder is put on the path."""

import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("plyd_othello") is None:
    sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(scope="session")
def engine():
    """The engine, warmed up."""
    from plyd_othello.engine import Othello

    engine = Othello()
    engine.warm_up()
    return engine

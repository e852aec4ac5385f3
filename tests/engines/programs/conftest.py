"""Engines whose moves come from the programs in this folder."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from plyd.engines.gomoku.engine import CARD
from plyd.engines.gomoku.rules import RULES
from plyd.engines.programs.engine import ProgramEngine
from plyd.engines.programs.process import Program
from tests.patience import SOON

PYTHON = (sys.executable, "-I", "-S")
HERE = Path(__file__).parent


@pytest.fixture
def program_engine():
    """Makes an engine of a program: built-in game, protocol, the program's words, and limits; its processes end."""
    made = []

    def make(game, protocol, *words, **limits):
        limits = {"start_seconds": SOON, "margin_seconds": SOON, "processes": 2, **limits}
        engine = ProgramEngine(game, Program(tuple(map(str, words)), "tester", **limits), protocol)
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def brain(program_engine):
    """Makes an engine of Gomoku whose moves come from brain.py with these arguments."""
    gomoku = SimpleNamespace(card=CARD, variants=RULES)
    return lambda *words, **limits: program_engine(gomoku, "gomocup", *PYTHON, HERE / "brain.py", *words, **limits)

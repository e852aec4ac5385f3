"""Daemons of the fake game for `plyd analyze`."""

import contextlib

import pytest

from tests.patience import until
from tests.servers.daemons import OpenDaemon
from tests.servers.fakes import FakeEngine


@pytest.fixture(scope="session")
def shared_sticks(house):
    with OpenDaemon(house, FakeEngine(), slots=2, queue_size=8) as daemon:
        yield daemon


@pytest.fixture
def sticks(shared_sticks):
    """A daemon of the fake game with two slots, idle before and after each test."""
    shared_sticks.engine.asked.clear()
    yield shared_sticks
    until(shared_sticks.is_idle)


@pytest.fixture
def open_daemon(house):
    """Opens a daemon of the fake game for one test alone."""
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(OpenDaemon(house, FakeEngine(), **settings))

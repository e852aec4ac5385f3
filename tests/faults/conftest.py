"""A daemon in a process of its own for callers who mean no good, and the daemons that tests of servers have."""

import pytest

from tests.faults.victim import Victim
from tests.servers.conftest import house, keep_loggers, open_daemon, serve  # noqa: F401


@pytest.fixture(scope="session")
def shared_victim(tmp_path_factory):
    with Victim(tmp_path_factory.mktemp("victim")) as victim:
        yield victim


@pytest.fixture
def victim(shared_victim):
    """A daemon of 2584 on 2x3 with two slots, a queue of eight and sixteen games; well before and after each test."""
    shared_victim.check()
    yield shared_victim
    shared_victim.check()

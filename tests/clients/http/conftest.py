"""Daemons within this process, and bridges to them."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from plyd.engines import registry
from tests.clients.http.bridge import BY_NAME, Bridge
from tests.patience import SOON, until
from tests.servers.daemons import House, OpenDaemon
from tests.servers.fakes import FakeEngine


@pytest.fixture(scope="session")
def house():
    house = House()
    yield house
    house.close()


@pytest.fixture(scope="session")
def shared_sticks(house):
    with OpenDaemon(house, FakeEngine(), max_sessions=3, max_batch_bytes=1000, max_message_bytes=100_000) as daemon:
        yield daemon


@pytest.fixture
def sticks(shared_sticks):
    """A daemon of the fake game with one slot and a queue of two, idle before and after each test."""
    yield shared_sticks
    until(shared_sticks.is_idle)


@pytest.fixture(scope="session")
def fibonacci(house):
    """A daemon of 2584 on 2x3."""
    with OpenDaemon(house, registry.load("2584-2x3"), slots=2) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def bridge(house, shared_sticks):
    """A bridge to the daemon of the fake game."""
    with Bridge(house, shared_sticks.target) as bridge:
        yield bridge


@pytest.fixture(scope="session")
def wide_bridge(house, shared_sticks, fibonacci):
    """A bridge to two daemons."""
    with Bridge(house, shared_sticks.target, fibonacci.target) as bridge:
        yield bridge


@pytest.fixture
def open_daemon(house):
    """Opens a daemon of the fake game, and a bridge to it, for one test alone."""
    with contextlib.ExitStack() as stack:

        def open_one(**settings):
            daemon = stack.enter_context(OpenDaemon(house, FakeEngine(), **settings))
            return daemon, stack.enter_context(Bridge(house, daemon.target))

        yield open_one


@pytest.fixture
def buf():
    """Calls a method with `buf curl`, which has the Connect protocol and gRPC-Web in binary protobuf."""

    def call(bridge, protocol, name, fields):
        program, schema = Path(sys.executable).with_name("buf"), Path(__file__).parents[3] / "proto"
        url = f"http://{bridge.host}{BY_NAME[name].path}"
        command = [program, "curl", "--protocol", protocol, "--schema", schema, "-d", json.dumps(fields), url]
        return subprocess.run(command, capture_output=True, text=True, timeout=SOON)

    return call

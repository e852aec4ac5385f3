"""Daemons to test: shared ones that are left idle, and some for one test alone."""

import contextlib
import logging
import time

import pytest

from plyd.engines import registry
from plyd.servers.telemetry.log import calls_of
from tests.patience import until
from tests.servers.daemons import House, OpenDaemon, Process
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
    shared_sticks.engine.asked.clear()
    yield shared_sticks
    until(shared_sticks.is_idle)


@pytest.fixture(scope="session")
def shared_fibonacci(house):
    with OpenDaemon(house, registry.load("2584-2x3"), slots=2) as daemon:
        yield daemon


@pytest.fixture
def fibonacci(shared_fibonacci):
    """A daemon of 2584 on 2x3."""
    yield shared_fibonacci
    until(shared_fibonacci.is_idle)


@pytest.fixture
def open_daemon(house):
    """Opens a daemon of fake engines for one test alone."""
    with contextlib.ExitStack() as stack:

        def open_one(*engines, **settings):
            return stack.enter_context(OpenDaemon(house, *(engines or [FakeEngine()]), **settings))

        yield open_one


@pytest.fixture
def serve(tmp_path):
    """Starts `plyd serve` with these arguments; it is gone after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **settings: stack.enter_context(Process(tmp_path, *arguments, **settings))


@pytest.fixture
def keep_loggers():
    """Has the loggers as they were after a test that sets them up."""
    root, ours = logging.getLogger(), [logging.getLogger(name) for name in ("plyd", "plyd.request")]
    handlers, levels = root.handlers[:], [logger.level for logger in ours]
    yield
    root.handlers[:] = handlers
    for logger, level in zip(ours, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def logged(caplog):
    """The log fields of the requests that ended since the test began; lines of earlier ones may still come."""
    caplog.set_level(logging.INFO, "plyd")
    began = time.time()
    return lambda: [fields_of(call) for record in caplog.records for call in calls_of(record) if call.ended >= began]


def fields_of(call):
    """The fields of a call's log line."""
    ms = round(call.seconds * 1000, 3)
    return {"method": call.method, "status": call.status, "ms": ms, "peer": call.peer, **call.fields}

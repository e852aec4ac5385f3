"""Clients of either kind."""

import contextlib

import pytest

from plyd.clients import EngineClient
from tests.clients.library.blocking import Loop, blocking_client


@pytest.fixture(scope="module")
def loop():
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(params=["blocking", "asyncio"])
def connect(request, loop):
    """Opens a client of either kind; each is closed after the test."""
    with contextlib.ExitStack() as stack:

        def open_client(*arguments, **settings):
            if request.param == "blocking":
                return stack.enter_context(EngineClient(*arguments, **settings))
            return stack.enter_context(blocking_client(loop, *arguments, **settings))

        yield open_client

"""Engines warmed up once for all tests: compiled and solved."""

import functools

import pytest

from plyd.engines import registry


@functools.cache
def warmed(game):
    """The engine of a game, ready to search."""
    engine = registry.load(game)
    engine.warm_up()
    return engine


@pytest.fixture(scope="session", params=registry.ENGINES)
def engine(request):
    """Each engine of the registry in turn."""
    return warmed(request.param)


@pytest.fixture(scope="session")
def tiles_2584_2x3():
    """The engine of 2584 on 2x3."""
    return warmed("2584-2x3")

"""Engines warmed up once for all tests: compiled and solved."""

import functools

import pytest

from plyd.engines import registry
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.search import Limits


@functools.cache
def warmed(game):
    """The engine of a game, ready to search."""
    engine = registry.load(game)
    engine.warm_up()
    return engine


def reports_until_stopped(searcher, position, count):
    """All reports of a search without limits that is stopped after so many."""
    reports, stop = [], Stop()
    for report in searcher.search(position, Limits(), stop):
        reports.append(report)
        if len(reports) == count:
            stop.set()
    return reports


@pytest.fixture(scope="session", params=registry.ENGINES)
def engine(request):
    """Each engine of the registry in turn."""
    return warmed(request.param)


@pytest.fixture(scope="session")
def tiles_2584_2x3():
    """The engine of 2584 on 2x3."""
    return warmed("2584-2x3")

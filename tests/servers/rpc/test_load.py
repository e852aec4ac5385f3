"""WatchLoad: how busy a daemon is, as it changes."""

import itertools

import grpc

from plyd.v1 import engine_pb2
from tests.patience import SOON
from tests.servers.daemons import SLOW, read_out, search_request
from tests.servers.fakes import FakeEngine


def numbers(load):
    return load.slots, load.running, load.waiting


def test_the_load_is_told_at_once_and_as_it_changes(sticks):
    stream = sticks.caller.engine.WatchLoad(engine_pb2.WatchLoadRequest(), timeout=SOON)
    loads = (load for load, _ in itertools.groupby(map(numbers, stream)))
    assert next(loads) == (1, 0, 0)
    running = sticks.occupied()
    assert next(loads) == (1, 1, 0)
    waiting = sticks.caller.engine.Search.future(search_request(options=SLOW))
    assert next(loads) == (1, 1, 1)
    waiting.cancel()
    assert next(loads) == (1, 1, 0)
    running.cancel()
    assert next(loads) == (1, 0, 0)
    stream.cancel()


def test_the_load_ends_when_the_daemon_shuts_down(open_daemon):
    sticks = open_daemon(FakeEngine())
    loads = sticks.caller.engine.WatchLoad(engine_pb2.WatchLoadRequest(), timeout=SOON)
    assert numbers(next(loads)) == (1, 0, 0)
    stopped = sticks.stop()
    rest, error = read_out(loads)
    assert (rest, error.code()) == ([], grpc.StatusCode.UNAVAILABLE)
    assert stopped.result(SOON)

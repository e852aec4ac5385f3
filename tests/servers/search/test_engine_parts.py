"""Parts of engines over a real socket: loaded when they are first asked for, once, while others are served."""

import threading

import grpc
import pytest

from plyd.engines.core.errors import BadModel
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import OpenDaemon, search_request
from tests.servers.fakes import FakeEngine


class TwoParts(FakeEngine):
    """Each variant is a part; the greedy one waits for `greedy_gate`, and fails while `is_broken`."""

    parts = ("normal", "greedy")

    def __init__(self):
        super().__init__()
        self.greedy_gate = threading.Event()
        self.is_broken = False
        self.prepared = []

    def prepare(self, part):
        self.prepared.append(part)
        if part == "greedy":
            assert self.greedy_gate.wait(SOON)
            if self.is_broken:
                raise BadModel("greedy.plyd is corrupt")

    def search_parts(self, variant, options):
        return (variant,)


@pytest.fixture
def daemon(house):
    engine = TwoParts()
    with OpenDaemon(house, engine) as daemon:
        yield daemon
        engine.greedy_gate.set()


def greedy_request():
    return engine_pb2.SearchRequest(position={"variant": "greedy"})


def test_daemon_serves_once_a_default_search_is_ready(daemon):
    assert daemon.engine.prepared == ["normal"]
    assert daemon.caller.engine.Search(search_request(), timeout=SOON).report.move


def test_part_is_loaded_once_when_first_asked_for_and_others_are_served_meanwhile(daemon):
    engine, caller = daemon.engine, daemon.caller.engine
    waiting = [caller.Search.future(greedy_request(), timeout=SOON) for _ in range(2)]
    until(lambda: engine.prepared == ["normal", "greedy"])
    assert caller.Search(search_request(), timeout=SOON).report.move
    assert not any(search.done() for search in waiting)
    engine.greedy_gate.set()
    assert all(search.result().report.move for search in waiting)
    assert engine.prepared == ["normal", "greedy"]


def test_caller_who_leaves_does_not_end_the_loading(daemon):
    engine, caller = daemon.engine, daemon.caller.engine
    leaving = caller.Search.future(greedy_request(), timeout=SOON)
    until(lambda: "greedy" in engine.prepared)
    staying = caller.Search.future(greedy_request(), timeout=SOON)
    leaving.cancel()
    engine.greedy_gate.set()
    assert staying.result().report.move
    assert engine.prepared == ["normal", "greedy"]


def test_part_that_cannot_be_loaded_is_told_and_tried_again(daemon):
    engine, caller = daemon.engine, daemon.caller.engine
    engine.greedy_gate.set()
    engine.is_broken = True
    with pytest.raises(grpc.RpcError, match="corrupt"):
        caller.Search(greedy_request(), timeout=SOON)
    engine.is_broken = False
    assert caller.Search(greedy_request(), timeout=SOON).report.move


def test_new_game_of_a_stream_waits_so_that_its_first_search_need_not(daemon):
    engine = daemon.engine
    commands = [{"new_game": {"position": {"variant": "greedy"}}}, {"go": {"limits": {"nodes": 1}}}]
    requests = (engine_pb2.PlayRequest(id=at, **command) for at, command in enumerate(commands))
    replies = daemon.caller.engine.Play(requests, timeout=SOON)
    until(lambda: "greedy" in engine.prepared)
    assert engine.asked == []
    engine.greedy_gate.set()
    kinds = [reply.WhichOneof("reply") for reply in replies]
    assert kinds[0] == "state"
    assert set(kinds[1:]) == {"report"}

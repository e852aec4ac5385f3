"""Calls that come in a crowd: all are answered, whatever their kind, and their messages are read in turn."""

import grpc
import pytest

from plyd.v1 import engine_pb2, rules_pb2
from tests.patience import SOON
from tests.servers.daemons import Caller, analyze_request, read_out, search_request
from tests.servers.fakes import FakeEngine


@pytest.fixture
def waiting(open_daemon, monkeypatch):
    """A daemon where every call has to wait for its turn; it counts them."""
    daemon = open_daemon(FakeEngine())
    daemon.waited = []
    turns = daemon.runtime.turns
    monkeypatch.setattr(turns, "must_wait", lambda: daemon.waited.append(1) or True)
    return daemon


def test_every_kind_of_call_may_have_to_wait_for_its_turn(waiting):
    engine, rules = waiting.caller.engine, waiting.caller.rules
    assert engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON).engines[0].game == "sticks"
    assert engine.Search(search_request("7 one"), timeout=SOON).report.move == "2"
    reports, error = read_out(engine.Analyze(analyze_request("7 one", options={"reports": "2"}), timeout=SOON))
    assert (reports[-1].report.final, error) == (True, None)
    commands = [
        engine_pb2.PlayRequest(id=1, new_game=engine_pb2.NewGameCommand(position={"start": "7 one"})),
        engine_pb2.PlayRequest(id=2, go=engine_pb2.GoCommand()),
    ]
    replies, error = read_out(engine.Play(iter(commands), timeout=SOON))
    assert ([reply.id for reply in replies], error) == ([1, 2], None)
    assert rules.NewGame(rules_pb2.NewGameRequest(), timeout=SOON).state.text == "7 one"
    with pytest.raises(grpc.RpcError) as caught:
        rules.Inspect(rules_pb2.InspectRequest(position={"start": "x"}), timeout=SOON)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert next(engine.WatchLoad(engine_pb2.WatchLoadRequest(), timeout=SOON)).slots == 1
    assert len(waiting.waited) == 7


def test_a_crowd_is_answered_whole(open_daemon):
    daemon = open_daemon(FakeEngine())
    callers = [Caller(daemon.target) for _ in range(4)]
    calls = [
        callers[number % 4].engine.Describe.future(engine_pb2.DescribeRequest(), timeout=SOON) for number in range(400)
    ]
    assert {call.code() for call in calls} == {grpc.StatusCode.OK}
    assert len(daemon.runtime.turns._queue) == 0
    for caller in callers:
        caller.channel.close()

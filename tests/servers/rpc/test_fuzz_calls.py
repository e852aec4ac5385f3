"""Whatever message comes, a call ends with a status of the documented ones, and the daemon goes on."""

import grpc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plyd.engines import registry
from plyd.v1 import engine_pb2, rules_pb2
from tests.fuzz.messages import messages
from tests.servers.daemons import OpenDaemon, until
from tests.servers.fakes import FakeEngine

SECONDS = 0.3  # that a caller waits; a search without limits takes all of it
DOCUMENTED = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}
METHODS = {
    f"{service.name}/{method.name}": method
    for schema in (engine_pb2, rules_pb2)
    for service in schema.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
GAMES = {
    "sticks": (["7 one", "3 two", "0 one", "² one"], ["1", "2", "3"], ["normal", "greedy"]),
    "2584-2x3": (["b 2 2 0 0 0 0", "a 1 0 0 0 0 0", "b 1 3 1 3 1 3"], ["left", "up", "1@4"], ["classic"]),
    "connect4": (["7x6", "5x4 #2,1", "..../..../..o./.xx."], ["1", "4", "7"], ["classic"]),
}
OPTIONS = {
    "sticks": st.fixed_dictionaries(
        {}, optional={"reports": st.just("3"), "score": st.sampled_from(["proven", "bad"])}
    ),
    "2584-2x3": st.fixed_dictionaries({}, optional={"method": st.sampled_from(["exact", "expectimax", "bad"])}),
}


def hints_of(game):
    """Values that make a message valid more often than not."""
    starts, moves, variants = GAMES[game]
    lines = st.lists(st.sampled_from(starts), max_size=4).map(lambda texts: "\n".join(texts).encode())
    return {
        "game": st.sampled_from([game, game, "", "chess"]),
        "variant": st.sampled_from([*variants, ""]),
        "start": st.sampled_from([*starts, ""]),
        "moves": st.sampled_from(moves),
        "PlayOnCommand.moves": st.integers(0, 20),
        "nodes": st.integers(0, 50),
        "depth": st.integers(0, 3),
        "move_time_ms": st.integers(0, 20),
        "max_lines": st.integers(0, 5),
        "lines": lines | st.binary(max_size=40),
        "options": OPTIONS.get(game, st.just({})),
        "plies": st.integers(0, 3),
    }


@pytest.fixture(scope="module")
def daemons(house):
    """A daemon for each game, opened when it is asked for."""
    opened = {}

    def daemon_of(game):
        if game not in opened:
            engine = FakeEngine() if game == "sticks" else registry.load(game)
            opened[game] = OpenDaemon(house, engine, slots=1, max_batch_bytes=1000, max_message_bytes=100_000)
            opened[game].__enter__()
        return opened[game]

    yield daemon_of
    for daemon in opened.values():
        daemon.__exit__()


def status_of(daemon, name, requests):
    """How a call with these bytes ends."""
    method, path = METHODS[name], f"/plyd.v1.{name}"
    if method.client_streaming:
        call = daemon.caller.channel.stream_stream(path)(iter(requests), timeout=SECONDS)
    else:
        call = daemon.caller.channel.unary_stream(path)(requests[0], timeout=SECONDS)  # reads one answer or many
    answer = METHODS[name].output_type
    try:
        for data in call:
            assert messages_class(answer).FromString(data) is not None
    except grpc.RpcError:
        pass
    return call.code(), call.details()


def messages_class(kind):
    return getattr(engine_pb2, kind.name, None) or getattr(rules_pb2, kind.name)


def check_call(daemon, name, requests):
    code, details = status_of(daemon, name, requests)
    assert code in DOCUMENTED, (code, details, requests)
    assert "Traceback" not in (details or "")
    until(daemon.is_idle)
    assert daemon.caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=10).engines


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
def test_a_call_ends_with_a_documented_status(daemons, name, game, data):
    made = messages(METHODS[name].input_type, hints_of(game))
    requests = data.draw(st.lists(made, min_size=1, max_size=4 if METHODS[name].client_streaming else 1))
    check_call(daemons(game), name, [request.SerializeToString() for request in requests])


@pytest.mark.parametrize("name", METHODS)
@given(data=st.binary(min_size=1, max_size=60))
@example(data=b"\xff\xff\xff")  # no message
@example(data=b"\x0a\x02\xff\xfe")  # a text that is not UTF-8
def test_bytes_that_may_be_no_message_end_a_call_with_a_documented_status(daemons, name, data):
    check_call(daemons("sticks"), name, [data])


@pytest.mark.parametrize("name", METHODS)
def test_bytes_that_are_no_message_are_told_to_be_none(daemons, name):
    code, details = status_of(daemons("sticks"), name, [b"\xff\xff\xff"])
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert details.startswith("the bytes are not a message of the schema: ")


def test_a_batch_that_is_no_message_does_not_keep_its_caller_waiting(daemons):
    good = engine_pb2.EvaluateRequest(lines=b"b 2 2 0 0 0 0\n").SerializeToString()
    code, _ = status_of(daemons("2584-2x3"), "EngineService/Evaluate", [good, b"\xff\xff\xff"])
    assert code is grpc.StatusCode.INVALID_ARGUMENT

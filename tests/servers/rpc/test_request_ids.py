"""Request ids: every call has one, its caller is told it, and every line that the call logs has it."""

import io
import json
import logging
import sys

import grpc
import pytest

from plyd.servers.rpc.call import request_id
from plyd.servers.telemetry import log
from plyd.v1 import engine_pb2
from tests.patience import until
from tests.servers.daemons import analyze_request, read_out, search_request


def id_of(call):
    """The one request id that a call's trailing metadata has."""
    [value] = [value for key, value in call.trailing_metadata() if key == "x-request-id"]
    return value


def search(daemon, request=None, **arguments):
    _, call = daemon.caller.engine.Search.with_call(request or search_request(), **arguments)
    return call


@pytest.mark.parametrize("given", ["a", "42", "8c0e7a52-5f0c-4a1b-9a7e-1f0f8d5f5b3a", "x" * 64, "two words"])
def test_an_id_that_is_fit_for_a_log_is_kept(given):
    assert request_id([("user-agent", "x"), ("x-request-id", given)]) == (given, True)


@pytest.mark.parametrize("given", ["", "x" * 65, "tab\there", "line\nbreak", "\N{SNOWMAN}", "\x7f"])
def test_an_id_that_is_not_gets_another_in_its_place(given):
    made, is_given = request_id([("x-request-id", given)])
    assert is_given
    assert made != given
    assert request_id([("x-request-id", made)]) == (made, True)


def test_calls_without_an_id_get_different_ones(sticks, logged):
    calls = [search(sticks) for _ in range(5)]
    until(lambda: len(logged()) == 5)
    assert len({facts["request_id"] for facts in logged()}) == 5
    assert all(key != "x-request-id" for call in calls for key, _ in call.trailing_metadata())


def test_a_failed_call_tells_the_id_that_nobody_asked_for(sticks, logged):
    with pytest.raises(grpc.RpcError) as error:
        search(sticks, search_request("nonsense"))
    until(logged)
    assert id_of(error.value) == logged()[0]["request_id"]


def test_the_id_comes_back_and_stands_in_the_log(sticks, logged):
    call = search(sticks, metadata=(("x-request-id", "mine-1"),))
    assert id_of(call) == "mine-1"
    until(logged)
    assert [facts["request_id"] for facts in logged()] == ["mine-1"]


@pytest.mark.parametrize("request_", [search_request("nonsense"), search_request(options={"fail": "true"})])
def test_a_call_that_fails_has_its_id_too(sticks, request_):
    with pytest.raises(grpc.RpcError) as error:
        search(sticks, request_, metadata=(("x-request-id", "mine-2"),))
    assert id_of(error.value) == "mine-2"


def test_streams_have_ids_too(sticks):
    stream = sticks.caller.engine.Analyze(analyze_request(), metadata=(("x-request-id", "mine-3"),))
    assert read_out(stream)[1] is None
    assert id_of(stream) == "mine-3"
    stream = sticks.caller.engine.Play(iter([]), metadata=(("x-request-id", "mine-4"),))
    assert read_out(stream)[1] is None
    assert id_of(stream) == "mine-4"


@pytest.fixture
def written(monkeypatch, keep_loggers):
    """The lines of the log that a call left, in the form asked for."""
    stderr = io.StringIO()

    def set_up(form, call):
        monkeypatch.setattr(sys, "stderr", stderr)
        log.set_up("info", form)
        return lambda: [line for line in stderr.getvalue().splitlines() if call in line]  # others may still come

    return set_up


def test_the_traceback_of_a_fault_has_the_id_of_its_call(sticks, written):
    lines = written("json", "mine-5")
    with pytest.raises(grpc.RpcError):
        search(sticks, search_request(options={"fail": "true"}), metadata=(("x-request-id", "mine-5"),))
    until(lambda: len(lines()) == 2)
    fault, request = map(json.loads, lines())
    assert "RuntimeError" in fault["traceback"]
    assert fault["request_id"] == request["request_id"] == "mine-5"
    assert (fault["message"], request["status"]) == ("Search failed", "INTERNAL")


def test_a_search_that_fails_within_a_game_has_the_id_of_the_stream(sticks, written):
    lines = written("json", "mine-6")
    commands = [
        engine_pb2.PlayRequest(id=1, new_game={"position": {"start": "7 one"}, "options": {"fail": "true"}}),
        engine_pb2.PlayRequest(id=2, go={}),
    ]
    list(sticks.caller.engine.Play(iter(commands), metadata=(("x-request-id", "mine-6"),)))
    until(lambda: len(lines()) == 2)
    assert [json.loads(line)["request_id"] for line in lines()] == ["mine-6", "mine-6"]
    assert json.loads(lines()[0])["logger"] == "plyd.play"


def test_people_see_the_id_too_and_lines_of_no_call_have_none(sticks, written):
    lines = written("human", "mine-7")
    search(sticks, metadata=(("x-request-id", "mine-7"),))
    until(lines)
    logging.getLogger("plyd.daemon").info("hello, mine-7")
    request, hello = lines()
    assert " request_id=mine-7" in request
    assert hello.endswith(" hello, mine-7")


def test_calls_at_the_same_time_keep_their_ids_apart(open_daemon, logged):
    daemon = open_daemon(slots=2)
    slow = search_request(options={"reports": "5", "seconds_per_report": "0.02"})
    ids = [f"call-{i}" for i in range(4)]
    calls = [daemon.caller.engine.Search.future(slow, metadata=(("x-request-id", each),)) for each in ids]
    assert [id_of(call) for call in calls if call.result()] == ids
    until(lambda: len(logged()) == 4)
    assert sorted(facts["request_id"] for facts in logged()) == ids

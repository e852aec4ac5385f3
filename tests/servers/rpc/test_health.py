"""A daemon from its first moment to its last: warm-up, health, reflection, drain."""

import threading

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from plyd.v1 import engine_pb2, rules_pb2, search_pb2
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, analyze_request, read_out, search_request
from tests.servers.fakes import FakeEngine

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
SERVICES = ("", "plyd.v1.EngineService", "plyd.v1.RulesService")


@pytest.fixture
def cold(open_daemon):
    """A daemon that listens and does not get warm until its engine's gate opens."""
    engine = FakeEngine()
    engine.gate.clear()
    yield open_daemon(engine, warm=False)
    engine.gate.set()


def status_of(daemon, service):
    return daemon.caller.health.Check(HealthCheckRequest(service=service), timeout=SOON).status


@pytest.mark.parametrize("service", SERVICES)
def test_watch_tells_of_warm_up_service_and_drain(cold, service):
    watch = cold.caller.health.Watch(HealthCheckRequest(service=service), timeout=30)
    assert next(watch).status == NOT_SERVING
    cold.engine.gate.set()
    assert next(watch).status == SERVING
    cold.stop()
    assert next(watch).status == NOT_SERVING


def test_check_says_serving_only_once_the_engine_is_warm(cold):
    assert [status_of(cold, service) for service in SERVICES] == [NOT_SERVING] * 3
    cold.engine.gate.set()
    until(lambda: status_of(cold, "") == SERVING)
    assert [status_of(cold, service) for service in SERVICES] == [SERVING] * 3


def test_every_engine_is_warm_before_the_daemon_says_serving(open_daemon):
    quick, slow = FakeEngine("quick"), FakeEngine("slow")
    slow.gate.clear()
    daemon = open_daemon(quick, slow, warm=False)
    request = search_request()
    request.position.game = "quick"
    call = daemon.caller.engine.Search.future(request, timeout=30)
    until(lambda: daemon.runtime.calls == 1)
    assert status_of(daemon, "") == NOT_SERVING
    slow.gate.set()
    assert call.result().report.final
    assert status_of(daemon, "") == SERVING


def test_health_of_an_unknown_service_is_not_found(sticks):
    with pytest.raises(grpc.RpcError) as error:
        status_of(sticks, "plyd.v1.NoSuchService")
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


def test_reflection_lists_every_service_and_gives_the_schema(sticks):
    stub = reflection_pb2_grpc.ServerReflectionStub(sticks.caller.channel)
    requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="plyd.v1.EngineService"),
    ]
    listed, schema = stub.ServerReflectionInfo(iter(requests), timeout=SOON)
    assert {service.name for service in listed.list_services_response.service} == {
        "plyd.v1.EngineService",
        "plyd.v1.RulesService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }
    assert engine_pb2.DESCRIPTOR.serialized_pb in schema.file_descriptor_response.file_descriptor_proto


# --- Warm-up ----------------------------------------------------------------------------------------------------------


def test_searches_that_come_during_warm_up_wait_and_then_answer(cold):
    engine = cold.caller.engine
    search = engine.Search.future(search_request("7 one"), timeout=30)
    analysis = engine.Analyze(analyze_request("5 two"), timeout=30)
    game = engine.Play(
        iter([engine_pb2.PlayRequest(id=4, new_game={}), engine_pb2.PlayRequest(id=5, go={})]), timeout=30
    )
    until(lambda: cold.runtime.calls == 3)
    assert not search.done()
    assert cold.engine.asked == []
    cold.engine.gate.set()
    assert search.result().report.move == "2"
    assert [response.report.final for response in analysis] == [True]
    assert [(reply.id, reply.WhichOneof("reply")) for reply in game] == [(4, "state"), (5, "report")]


def test_who_answers_and_what_the_rules_say_need_no_warm_up(cold):
    assert cold.caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON).engines[0].game == "sticks"
    assert cold.caller.rules.Inspect(rules_pb2.InspectRequest(), timeout=SOON).state.text == "7 one"


def test_a_bad_request_is_refused_before_the_daemon_is_warm(cold):
    with pytest.raises(grpc.RpcError) as error:
        cold.caller.engine.Search(search_request("seven"), timeout=SOON)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_calls_that_wait_for_warm_up_are_turned_away_when_the_daemon_goes(cold):
    search = cold.caller.engine.Search.future(search_request(), timeout=30)
    until(lambda: cold.runtime.calls == 1)
    stopping = cold.stop()
    assert search.code() is grpc.StatusCode.UNAVAILABLE
    assert "shutting down" in search.details()
    assert stopping.result(SOON) is True


# --- Drain ------------------------------------------------------------------------------------------------------------


def test_drain_lets_searches_answer_with_the_best_they_have(open_daemon):
    daemon = open_daemon(slots=2)
    search = daemon.occupied()
    analysis = daemon.caller.engine.Analyze(analyze_request(options=SLOW), timeout=30)
    assert not next(analysis).report.final
    stopping = daemon.stop()
    *_, last = analysis
    for report in (search.result().report, last.report):
        assert report.final
        assert report.move == "2"
        assert report.stop_reason == search_pb2.STOP_REASON_STOPPED
    assert stopping.result(SOON) is True
    assert daemon.is_idle()


def test_drain_gives_a_game_its_final_report_and_then_ends_the_stream(open_daemon):
    daemon = open_daemon()
    done = threading.Event()

    def commands():
        yield engine_pb2.PlayRequest(id=1, new_game={"options": SLOW})
        yield engine_pb2.PlayRequest(id=2, go={})
        done.wait(30)

    game = daemon.caller.engine.Play(commands(), timeout=30)
    assert next(game).id == 1
    assert not next(game).report.final
    stopping = daemon.stop()
    replies, error = read_out(game)
    done.set()
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert [(reply.id, reply.report.final) for reply in replies[-1:]] == [(2, True)]
    assert replies[-1].report.stop_reason == search_pb2.STOP_REASON_STOPPED
    assert stopping.result(SOON) is True


def test_drain_ends_an_idle_game_and_an_idle_stream_of_batches(open_daemon):
    daemon = open_daemon()
    done = threading.Event()

    def silence():
        done.wait(30)
        yield from ()

    streams = [daemon.caller.engine.Play(silence(), timeout=30), daemon.caller.engine.Evaluate(silence(), timeout=30)]
    until(lambda: daemon.runtime.calls == 2)
    assert daemon.stop().result(SOON) is True
    done.set()
    assert [stream.code() for stream in streams] == [grpc.StatusCode.UNAVAILABLE] * 2


def test_drain_turns_away_who_waits_for_a_slot(open_daemon):
    daemon = open_daemon()
    running = daemon.occupied()
    waiting = daemon.caller.engine.Search.future(search_request(), timeout=30)
    until(lambda: daemon.searches.waiting == 1)
    daemon.stop()
    assert waiting.code() is grpc.StatusCode.UNAVAILABLE
    assert running.result().report.stop_reason == search_pb2.STOP_REASON_STOPPED


def test_new_calls_are_turned_away_while_old_ones_end(open_daemon):
    daemon = open_daemon()
    old = daemon.caller.engine.Search.future(
        search_request(options={"reports": "1", "seconds_per_report": "0.5", "ignores_stop": "true"})
    )
    until(lambda: daemon.searches.running == 1)
    stopping = daemon.stop()
    until(daemon.runtime.draining.is_set)
    with pytest.raises(grpc.RpcError) as error:
        daemon.caller.rules.Inspect(rules_pb2.InspectRequest(), timeout=SOON)
    assert error.value.code() is grpc.StatusCode.UNAVAILABLE
    assert old.result().report.final
    assert stopping.result(SOON) is True


def test_stop_says_so_if_a_search_does_not_end_in_time(open_daemon):
    daemon = open_daemon()
    call = daemon.caller.engine.Search.future(
        search_request(options={"reports": "1", "seconds_per_report": "1", "ignores_stop": "true"})
    )
    until(lambda: daemon.searches.running == 1)
    assert daemon.stop(grace_seconds=0.1).result(SOON) is False
    assert call.code() is not grpc.StatusCode.OK
    until(lambda: daemon.searches.running == 0)


def test_stop_waits_for_a_search_whose_caller_has_left(open_daemon):
    daemon = open_daemon()
    call = daemon.caller.engine.Search.future(
        search_request(options={"reports": "1", "seconds_per_report": "0.4", "ignores_stop": "true"})
    )
    until(lambda: daemon.searches.running == 1)
    call.cancel()
    until(lambda: daemon.runtime.calls == 0)
    assert daemon.searches.running == 1
    assert daemon.stop().result(SOON) is True
    assert daemon.searches.running == 0

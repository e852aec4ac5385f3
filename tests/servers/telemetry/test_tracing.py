"""OpenTelemetry traces, sent to a collector that speaks OTLP over gRPC."""

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures

import grpc
import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1 import trace_pb2

from plyd.servers import daemon
from plyd.servers.access.addresses import BadAddress
from plyd.servers.daemon_config import read_tracing_endpoint
from plyd.servers.settings import gather
from plyd.servers.telemetry.tracing import Tracing
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import Caller, analyze_request, search_request

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps the spans it is sent."""

    def __init__(self):
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        self._lock = threading.Lock()
        self._spans = []
        self.resources = []

    def Export(self, request, context):  # noqa: N802
        with self._lock:
            for resource in request.resource_spans:
                self.resources.append(attributes(resource.resource))
                for scope in resource.scope_spans:
                    self._spans.extend(scope.spans)
        return trace_service_pb2.ExportTraceServiceResponse()

    def spans(self, count):
        """The spans, once there are so many, in the order of their beginning."""
        until(lambda: len(self._spans) >= count)
        with self._lock:
            assert len(self._spans) == count
            return sorted(self._spans, key=lambda span: (span.start_time_unix_nano, span.end_time_unix_nano))

    def close(self):
        self._server.stop(0).wait()


def attributes(thing):
    """The attributes of a span or a resource, as a dict."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in thing.attributes}


def seconds(span):
    return (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.close()


@pytest.fixture
def traced(open_daemon, collector):
    """Opens a daemon of fake engines that sends its traces to the collector; `flush` sends them now."""
    with contextlib.ExitStack() as stack:

        def open_one(**settings):
            tracing = Tracing(f"http://{collector.address}")
            stack.callback(tracing.close)
            opened = open_daemon(**settings)
            opened.runtime.observer.tracing = tracing
            opened.flush = lambda: until(opened.is_idle) and tracing._provider.force_flush()
            return opened

        yield open_one


def test_a_call_is_a_span_with_its_wait_and_its_search_within(traced, collector):
    opened = traced()
    options = {"reports": "3", "seconds_per_report": "0.05"}
    opened.caller.engine.Search(search_request(options=options), metadata=(("x-request-id", "mine"),))
    opened.flush()
    call, wait, search = collector.spans(3)
    assert [call.name, wait.name, search.name] == ["plyd.v1.EngineService/Search", "wait for a slot", "search"]
    assert call.kind == trace_pb2.Span.SPAN_KIND_SERVER
    assert call.parent_span_id == b""
    assert wait.parent_span_id == search.parent_span_id == call.span_id
    assert wait.trace_id == search.trace_id == call.trace_id
    told = attributes(call)
    assert (told["rpc.system"], told["rpc.service"], told["rpc.method"]) == ("grpc", "plyd.v1.EngineService", "Search")
    assert (told["plyd.status"], told["plyd.game"], told["plyd.nodes"]) == ("OK", "sticks", 3)
    assert told["plyd.request_id"] == "mine"
    assert told["plyd.waited_ms"] >= 0
    assert attributes(search) == {"plyd.game": "sticks", "plyd.stop_reason": "finished", "plyd.nodes": 3}
    assert 0.15 <= seconds(search) <= seconds(call) + 0.01
    assert wait.end_time_unix_nano == search.start_time_unix_nano
    [resource] = collector.resources
    assert resource["service.name"] == "plyd"


def test_the_wait_for_a_slot_is_as_long_as_it_was(traced, collector):
    opened = traced(slots=1)
    busy = opened.occupied()
    waiting = opened.caller.engine.Search.future(search_request())
    until(lambda: opened.searches.waiting == 1)
    time.sleep(0.2)
    busy.cancel()
    waiting.result()
    opened.flush()
    waits = [span for span in collector.spans(6) if span.name == "wait for a slot"]
    assert [seconds(wait) >= 0.2 for wait in waits] == [False, True]


def test_a_call_is_part_of_the_trace_that_its_caller_names(traced, collector):
    opened = traced()
    metadata = (("traceparent", f"00-{TRACE}-{PARENT}-01"), ("tracestate", "vendor=1"))
    opened.caller.engine.Describe(engine_pb2.DescribeRequest(), metadata=metadata)
    opened.flush()
    [call] = collector.spans(1)
    assert (call.trace_id.hex(), call.parent_span_id.hex(), call.trace_state) == (TRACE, PARENT, "vendor=1")


def test_a_caller_who_does_not_want_a_trace_gets_none(traced, collector):
    opened = traced()
    opened.caller.engine.Search(search_request(), metadata=(("traceparent", f"00-{TRACE}-{PARENT}-00"),))
    opened.caller.engine.Describe(engine_pb2.DescribeRequest())
    opened.flush()
    [call] = collector.spans(1)
    assert call.name == "plyd.v1.EngineService/Describe"


@pytest.mark.parametrize("traceparent", ["nonsense", "00-0-0-01", f"ff-{TRACE}-{PARENT}-01"])
def test_a_caller_who_names_no_proper_trace_gets_a_new_one(traced, collector, traceparent):
    opened = traced()
    opened.caller.engine.Describe(engine_pb2.DescribeRequest(), metadata=(("traceparent", traceparent),))
    opened.flush()
    [call] = collector.spans(1)
    assert call.parent_span_id == b""


def test_an_error_marks_its_span(traced, collector):
    opened = traced()
    with pytest.raises(grpc.RpcError):
        opened.caller.engine.Search(search_request("nonsense"))
    opened.flush()
    [call] = collector.spans(1)
    assert call.status.code == trace_pb2.Status.STATUS_CODE_ERROR
    assert call.status.message.startswith('cannot read "nonsense"')
    assert attributes(call)["plyd.status"] == "INVALID_ARGUMENT"


def test_every_search_of_a_game_is_a_span_of_its_stream(traced, collector):
    opened = traced()
    commands = [
        engine_pb2.PlayRequest(id=1, new_game={"position": {"start": "7 one"}, "options": {"reports": "2"}}),
        engine_pb2.PlayRequest(id=2, go={"limits": {"nodes": 1}}),
        engine_pb2.PlayRequest(id=3, moves={"moves": ["1"]}),
    ]
    list(opened.caller.engine.Play(iter(commands)))
    list(opened.caller.engine.Analyze(analyze_request()))
    opened.flush()
    spans = collector.spans(6)
    calls = {span.name.removeprefix("plyd.v1.EngineService/"): span for span in spans if span.parent_span_id == b""}
    assert set(calls) == {"Play", "Analyze"}
    parents = [span.parent_span_id for span in spans if span.name == "search"]
    assert parents == [calls["Play"].span_id, calls["Analyze"].span_id]


def test_a_process_sends_what_is_left_when_it_goes(serve, collector):
    process = serve("--listen", "127.0.0.1:0", "--tracing-endpoint", f"http://{collector.address}")
    [address] = process.addresses()
    with Caller(address) as caller:
        caller.engine.Search(search_request("b 2 2 0 0 0 0"))
    process.signal(signal.SIGTERM)
    assert process.exit_status() == 0
    call, *_ = collector.spans(3)
    assert attributes(call)["plyd.game"] == "2584-2x3"


def test_a_collector_that_is_away_holds_nobody_up(serve):
    process = serve("--listen", "127.0.0.1:0", "--tracing-endpoint", "127.0.0.1:1")
    [address] = process.addresses()
    with Caller(address) as caller:
        caller.engine.Search(search_request("b 2 2 0 0 0 0"), timeout=SOON)
    process.signal(signal.SIGTERM)
    assert process.exit_status(SOON) == 0


def test_without_the_package_the_way_to_get_it_is_told(monkeypatch):
    monkeypatch.delitem(sys.modules, "plyd.servers.telemetry.tracing")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(BadAddress, match=r'cannot send traces to "localhost:4317": .*pip install "plyd\[trace\]"'):
        daemon._tracing("localhost:4317")


@pytest.mark.parametrize("endpoint", ["ftp://localhost:4317", "http://", "unix:///tmp/x", "http://[::1", "here:many"])
def test_an_endpoint_of_another_form_is_refused(endpoint):
    with pytest.raises(BadAddress, match=f'tracing.endpoint is "{re.escape(endpoint)}"; allowed is http://HOST:PORT'):
        read_tracing_endpoint(gather({"tracing.endpoint": endpoint}, {}, None))


def test_tracing_is_not_even_imported_unless_it_is_asked_for():
    code = "import sys, plyd.servers.daemon; print({'opentelemetry', 'prometheus_client'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SOON)
    assert done.stdout == "set()\n"

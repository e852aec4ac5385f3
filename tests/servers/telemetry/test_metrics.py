"""Prometheus metrics: what a daemon says of itself when it is asked."""

import contextlib
import socket
import time
import urllib.error
import urllib.request

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from plyd.servers.access.addresses import BadAddress, parse_address
from plyd.servers.telemetry.exporter import Exporter
from plyd.servers.telemetry.metrics import Histogram
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, search_request
from tests.servers.fakes import FakeEngine


def get(url, **headers):
    """The status and the body of what a URL answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=SOON) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Scraped:
    """The metrics of a daemon, asked for over HTTP."""

    def __init__(self, runtime):
        self._exporter = Exporter(runtime, parse_address("127.0.0.1:0"))
        self.base = f"http://{self._exporter.address}"
        self.close = self._exporter.close

    def samples(self):
        status, text = get(f"{self.base}/metrics")
        assert status == 200
        families = text_string_to_metric_families(text)
        return [sample for family in families for sample in family.samples]

    def __call__(self, name, **labels):
        """The value of one sample; None if there is none."""
        found = [s.value for s in self.samples() if s.name == name and labels.items() <= s.labels.items()]
        assert len(found) <= 1, f"{name} {labels} is not one sample"
        return found[0] if found else None


@pytest.fixture
def scrape():
    """Serves the metrics of a daemon within this process."""
    with contextlib.ExitStack() as stack:

        def of(daemon):
            scraped = Scraped(daemon.runtime)
            stack.callback(scraped.close)
            return scraped

        yield of


def test_a_value_on_a_bound_is_within_it():
    tally = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 2.1):
        tally.add(value)
    assert tally.counts == [2, 2, 1]
    assert tally.total == pytest.approx(7.1)


def test_calls_are_counted_by_method_and_status(open_daemon, scrape):
    daemon = open_daemon()
    value = scrape(daemon)
    for _ in range(3):
        daemon.caller.engine.Search(search_request())
    with pytest.raises(grpc.RpcError):
        daemon.caller.engine.Search(search_request("nonsense"))
    daemon.caller.engine.Describe(engine_pb2.DescribeRequest())
    assert value("plyd_requests_total", method="Search", status="OK", client="") == 3
    until(lambda: value("plyd_requests_total", method="Search", status="INVALID_ARGUMENT") == 1)
    assert value("plyd_requests_total", method="Describe", status="OK") == 1


def test_latency_is_counted_by_method_in_growing_buckets(open_daemon, scrape):
    daemon = open_daemon()
    scraped = scrape(daemon)
    slow = {"reports": "1", "seconds_per_report": "0.3"}
    daemon.caller.engine.Search(search_request(options=slow))
    daemon.caller.engine.Search(search_request())
    buckets = [
        s for s in scraped.samples() if s.name == "plyd_request_seconds_bucket" and s.labels["method"] == "Search"
    ]
    counts = {float(s.labels["le"]): s.value for s in buckets}
    assert list(counts.values()) == sorted(counts.values())
    assert counts[float("inf")] == scraped("plyd_request_seconds_count", method="Search") == 2
    assert counts[0.25] <= 1  # one of them took longer
    assert 0.3 <= scraped("plyd_request_seconds_sum", method="Search") < 20


def test_searches_are_counted_by_game_and_by_what_ended_them_and_so_are_their_nodes(open_daemon, scrape):
    daemon = open_daemon()
    value = scrape(daemon)
    daemon.caller.engine.Search(search_request(options={"reports": "5"}))
    daemon.caller.engine.Search(search_request(options={"reports": "9"}, limits={"nodes": 7}))
    daemon.caller.engine.Search(search_request("0 one"))
    assert value("plyd_searches_total", game="sticks", stop_reason="finished") == 1
    assert value("plyd_searches_total", game="sticks", stop_reason="nodes") == 1
    assert value("plyd_searches_total", game="sticks", stop_reason="no_search") == 1
    assert value("plyd_nodes_total", game="sticks") == 12
    assert (
        value("plyd_search_seconds_count", game="sticks") == value("plyd_queue_wait_seconds_count", game="sticks") == 3
    )


def test_a_search_that_fails_is_counted_as_failed(open_daemon, scrape):
    daemon = open_daemon()
    value = scrape(daemon)
    with pytest.raises(grpc.RpcError):
        daemon.caller.engine.Search(search_request(options={"fail": "true"}))
    assert value("plyd_searches_total", stop_reason="failed") == 1
    until(lambda: value("plyd_requests_total", status="INTERNAL") == 1)


def test_nodes_are_counted_while_a_search_runs(open_daemon, scrape):
    daemon = open_daemon()
    value = scrape(daemon)
    call = daemon.occupied()
    until(lambda: (value("plyd_nodes_total", game="sticks") or 0) > 3)
    assert value("plyd_searches_total") is None
    call.cancel()


def test_only_a_search_whose_time_ran_out_has_an_overshoot(open_daemon, scrape):
    daemon = open_daemon()
    value = scrape(daemon)
    daemon.caller.engine.Search(search_request(limits={"move_time_ms": 5000}))
    assert value("plyd_overshoot_seconds_count") is None  # it finished long before
    daemon.caller.engine.Search(search_request(options=SLOW, limits={"move_time_ms": 50}))
    assert value("plyd_overshoot_seconds_count", game="sticks") == 1
    assert 0 <= value("plyd_overshoot_seconds_sum", game="sticks") < 5


def test_slots_queue_and_calls_are_what_they_are_now(open_daemon, scrape):
    daemon = open_daemon(slots=1, queue_size=2)
    value = scrape(daemon)
    assert (value("plyd_slots"), value("plyd_queue_limit"), value("plyd_searches_running")) == (1, 2, 0)
    calls = [daemon.occupied()]
    calls.append(daemon.caller.engine.Search.future(search_request()))
    until(lambda: value("plyd_searches_waiting") == 1)
    assert (value("plyd_searches_running"), value("plyd_calls")) == (1, 2)
    for call in calls:
        call.cancel()
    until(lambda: value("plyd_searches_running") == value("plyd_searches_waiting") == value("plyd_calls") == 0)


def test_callers_who_leave_are_counted_by_what_their_search_did(open_daemon, scrape):
    daemon = open_daemon(slots=1, queue_size=2)
    value = scrape(daemon)
    running = daemon.occupied()
    waiting = daemon.caller.engine.Search.future(search_request())
    until(lambda: daemon.searches.waiting == 1)
    waiting.cancel()
    until(lambda: value("plyd_cancellations_total", state="waiting") == 1)
    assert value("plyd_cancellations_total", state="running") == 0
    running.cancel()
    until(lambda: value("plyd_cancellations_total", state="running") == 1)
    until(lambda: value("plyd_searches_total", stop_reason="stopped") == 1)  # its nodes and time count all the same
    until(lambda: value("plyd_requests_total", status="CANCELLED") == 2)


def test_who_is_turned_away_is_counted_by_the_reason(open_daemon, scrape):
    daemon = open_daemon(slots=1, queue_size=1, max_sessions=1)
    value = scrape(daemon)
    assert value("plyd_sheds_total", reason="queue_full") == 0  # there before the first, so that rates begin at once
    busy = daemon.occupied()
    with pytest.raises(grpc.RpcError):
        daemon.caller.engine.Search(search_request(limits={"move_time_ms": 20}))
    assert value("plyd_sheds_total", reason="no_slot_in_time") == 1
    waiting = daemon.caller.engine.Search.future(search_request())
    until(lambda: daemon.searches.waiting == 1)
    with pytest.raises(grpc.RpcError):
        daemon.caller.engine.Search(search_request())
    assert value("plyd_sheds_total", reason="queue_full") == 1
    commands = [
        engine_pb2.PlayRequest(id=1, new_game={"position": {"start": "7 one"}}),
        engine_pb2.PlayRequest(id=2, go={}),
    ]
    *_, refused = daemon.caller.engine.Play(iter(commands))
    assert refused.error.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert value("plyd_sheds_total", reason="queue_full") == 2  # on a Play stream, too
    busy.cancel()
    waiting.cancel()


def test_games_open_at_once_are_counted_and_so_are_those_refused(open_daemon, scrape):
    daemon = open_daemon(max_sessions=1)
    value = scrape(daemon)
    with _open_game(daemon):
        until(lambda: value("plyd_sessions") == 1)
        with pytest.raises(grpc.RpcError):
            list(daemon.caller.engine.Play(iter([])))
        assert value("plyd_sheds_total", reason="sessions") == 1
        assert value("plyd_sessions_limit") == 1
    until(lambda: value("plyd_sessions") == 0)


@contextlib.contextmanager
def _open_game(daemon):
    def commands():
        yield engine_pb2.PlayRequest(id=1, new_game={"position": {"start": "7 one"}})
        while not is_over:
            time.sleep(0.01)

    is_over = []
    stream = daemon.caller.engine.Play(commands())
    next(stream)
    yield
    is_over.append(True)
    list(stream)


def test_the_model_in_use_and_the_version_are_told(open_daemon, scrape):
    value = scrape(open_daemon())
    assert value("plyd_model_info", game="sticks", variant="normal", model="twigs", sha256="ab" * 32) == 1
    assert value("plyd_game_info", game="sticks") == 1
    assert value("plyd_build_info") == 1
    assert value("process_resident_memory_bytes") > 1e6


def test_ready_follows_the_daemon_from_its_warming_up_to_its_going(open_daemon, scrape):
    engine = FakeEngine()
    engine.gate.clear()
    daemon = open_daemon(engine, warm=False)
    value = scrape(daemon)
    health = f"{value.base}/healthz"
    assert (value("plyd_ready"), get(health)) == (0, (503, "NOT_SERVING\n"))
    engine.gate.set()
    until(lambda: value("plyd_ready") == 1)
    assert get(health) == (200, "SERVING\n")
    daemon.stop().result(10)
    assert (value("plyd_ready"), get(health)[0]) == (0, 503)


def test_two_daemons_in_one_process_count_apart(open_daemon, scrape):
    busy, idle = open_daemon(), open_daemon()
    values = scrape(busy), scrape(idle)
    busy.caller.engine.Search(search_request())
    assert [value("plyd_requests_total", method="Search") for value in values] == [1, None]


def test_openmetrics_is_spoken_to_who_asks_for_it_and_other_paths_are_not_found(open_daemon, scrape):
    base = scrape(open_daemon()).base
    assert get(f"{base}/metrics", Accept="application/openmetrics-text; version=1.0.0")[1].endswith("# EOF\n")
    assert get(f"{base}/metrics?name=x")[0] == 200
    assert get(f"{base}/")[0] == 404


def test_one_who_connects_and_says_nothing_holds_nobody_up(open_daemon, scrape):
    value = scrape(open_daemon())
    host, port = value.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))):
        assert value("plyd_ready") == 1


def test_an_address_that_is_taken_is_refused(open_daemon):
    runtime = open_daemon().runtime
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(BadAddress, match=f"cannot listen on {place}: Address already in use"):
            Exporter(runtime, parse_address(place))


def test_a_process_serves_metrics_where_it_is_told_and_says_where(serve):
    process = serve("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
    process.addresses()
    [said] = [line["message"] for line in process.log() if line["message"].startswith("metrics on ")]
    assert "\nplyd_ready 1.0\n" in get(said.removeprefix("metrics on "))[1]


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("0.0.0.0:0", "0.0.0.0:0 can be reached from other machines"),
        ("unix:/tmp/metrics", "metrics are served over HTTP, so it has to be HOST:PORT"),
        ("here", '"here" is not an address'),
    ],
)
def test_a_process_refuses_a_bad_place_for_metrics_in_one_line(serve, place, complaint):
    process = serve("--listen", "127.0.0.1:0", "--metrics-listen", place)
    assert process.exit_status() == 1
    assert process.said().startswith("Error: ")
    assert complaint in process.said()
    assert len(process.said().splitlines()) == 1


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "10.0.0.1", "localhost.evil.example", "[::1", ""])
def test_metrics_answer_to_no_name_of_another_machine(open_daemon, scrape, host):
    status, text = get(f"{scrape(open_daemon()).base}/metrics", Host=host)
    assert status == 421
    assert text.startswith(f"unknown host {host!r}; this daemon's metrics answer to 127.0.0.1, ::1, localhost")
    assert "plyd_" not in text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9184", "127.0.0.1:1", "[::1]:9184", "[::1]"])
def test_metrics_answer_to_the_names_of_loopback(open_daemon, scrape, host):
    assert get(f"{scrape(open_daemon()).base}/metrics", Host=host)[0] == 200


def test_health_over_http_answers_to_any_name(open_daemon, scrape):
    assert get(f"{scrape(open_daemon()).base}/healthz", Host="plyd.cluster") == (200, "SERVING\n")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("10.1.2.3:9184", 200),
        ("[fd00::1]", 200),
        ("Engines.Example:9184", 200),
        ("localhost", 200),
        ("evil.example", 421),
    ],
)
def test_metrics_for_other_machines_answer_to_any_address_and_to_names_that_are_set(open_daemon, host, status):
    exporter = Exporter(open_daemon().runtime, parse_address("0.0.0.0:0"), ["engines.example"])
    try:
        assert get(f"http://127.0.0.1:{exporter.address.port}/metrics", Host=host)[0] == status
    finally:
        exporter.close()


def test_sheds_are_told_by_client(open_daemon, scrape):
    daemon = open_daemon()
    daemon.runtime.observer.metrics.shed("queue_full", "gui")
    value = scrape(daemon)
    assert value("plyd_sheds_total", reason="queue_full", client="gui") == 1
    assert value("plyd_sheds_total", reason="queue_full", client="") == 0

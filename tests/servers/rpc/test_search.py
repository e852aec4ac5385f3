"""Search and Analyze over a real socket, with an engine that does as it is told."""

import math
import signal
import subprocess
import sys
import threading
import time

import grpc
import pytest

from plyd.engines.core import time_control
from plyd.engines.core.rules import Side
from plyd.engines.core.search import Limits
from plyd.v1 import engine_pb2, search_pb2
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, Caller, analyze_request, retry_seconds, search_request
from tests.servers.fakes import FakeEngine, FakeSearcher, Sticks

TIME, NODES, DEPTH, FINISHED, STOPPED, NO_SEARCH = (
    search_pb2.StopReason.Value(f"STOP_REASON_{name}")
    for name in ("TIME", "NODES", "DEPTH", "FINISHED", "STOPPED", "NO_SEARCH")
)


def search(daemon, *arguments, timeout=30, **fields):
    return daemon.caller.engine.Search(search_request(*arguments, **fields), timeout=timeout).report


def analyze(daemon, *arguments, timeout=30, **fields):
    stream = daemon.caller.engine.Analyze(analyze_request(*arguments, **fields), timeout=timeout)
    return [response.report for response in stream]


# --- One final report -------------------------------------------------------------------------------------------------


def test_a_search_is_asked_for_the_position_that_the_moves_lead_to(sticks):
    assert search(sticks, "7 one", ["2", "1"]).move == "2"
    [asked] = sticks.engine.asked
    assert asked.position == Sticks(4, Side.PLAYER_ONE)


def test_the_default_position_is_the_start_of_the_only_game(sticks):
    search(sticks)
    assert sticks.engine.asked[0].position == Sticks(7, Side.PLAYER_ONE)


def test_a_variant_has_its_own_rules(sticks):
    request = search_request("7 one", ["3"])
    request.position.variant = "greedy"
    assert sticks.caller.engine.Search(request, timeout=SOON).report.move == "3"


def test_a_finished_game_is_an_answer_without_a_move(sticks):
    report = search(sticks, "0 two")
    assert report.final
    assert not report.HasField("move")
    assert report.stop_reason == NO_SEARCH
    assert len(report.lines) == 0


@pytest.mark.parametrize("reports", [0, 1, 5, 200])
def test_the_last_report_and_only_the_last_is_final(sticks, reports):
    told = analyze(sticks, options={"reports": str(reports)})
    assert [report.final for report in told] == [False] * (len(told) - 1) + [True]
    assert [report.stop_reason for report in told] == [0] * (len(told) - 1) + [FINISHED]
    assert told[-1].nodes == reports


def test_reports_come_as_the_search_goes_on(sticks):
    told = analyze(sticks, options={"reports": "5", "seconds_per_report": "0.05"})
    assert [report.nodes for report in told] == sorted(report.nodes for report in told)
    assert len(told) >= 3  # unless this machine slept through the search


def test_a_slow_reader_misses_reports_in_between_but_not_the_final_one(sticks):
    made = 3000
    stream = sticks.caller.engine.Analyze(
        analyze_request(options={"reports": str(made), "padding": "20000"}), timeout=60
    )
    first = next(stream)
    until(lambda: sticks.searches.running == 0)  # it ends although nobody reads
    rest = list(stream)
    told = [response.report for response in [first, *rest]]
    assert len(told) < made
    assert [report.final for report in told] == [False] * (len(told) - 1) + [True]
    assert told[-1].nodes == made


def test_every_kind_of_search_gets_a_new_searcher(sticks):
    before = sticks.engine.searchers
    search(sticks)
    analyze(sticks)
    assert sticks.engine.searchers == before + 2


# --- Limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        ({}, Limits()),
        ({"nodes": 5}, Limits(max_nodes=5)),
        ({"nodes": 2**64 - 1}, Limits(max_nodes=2**62)),
        ({"depth": 3}, Limits(max_depth=3)),
        ({"depth": 2**32 - 1}, Limits(max_depth=2**32 - 1)),
        ({"nodes": 7, "depth": 2}, Limits(max_nodes=7, max_depth=2)),
    ],
)
def test_limits_without_time_reach_the_engine_as_they_are(sticks, wire, plain):
    request = search_request(limits=wire)
    sticks.caller.engine.Search(request)  # no deadline: that would be a limit too
    assert sticks.engine.asked[0].limits == plain


@pytest.mark.parametrize(("max_lines", "plain"), [(None, 1), (1, 1), (7, 7), (1000, 1000)])
def test_the_number_of_lines_reaches_the_engine(sticks, max_lines, plain):
    sticks.caller.engine.Search(search_request(max_lines=max_lines))
    list(sticks.caller.engine.Analyze(analyze_request(max_lines=max_lines)))
    assert [asked.limits for asked in sticks.engine.asked] == [Limits(max_lines=plain)] * 2


@pytest.mark.parametrize(
    ("wire", "seconds"),
    [
        ({"move_time_ms": 5000}, 5.0),
        ({"move_time_ms": 0}, 0.0),
        ({"clock": {}}, 0.0),
        ({"clock": {"remaining_ms": 60_000}}, 7.5),  # two and a half times the usual time
        ({"clock": {"remaining_ms": 60_000, "increment_ms": 1000}}, 9.5),
        ({"clock": {"remaining_ms": 60_000, "moves_to_go": 10}}, 12.0),  # a fifth of the clock
        ({"clock": {"remaining_ms": 60_000}, "move_time_ms": 500}, 0.5),
    ],
)
def test_limits_of_time_reach_the_engine_as_seconds_less_the_time_it_took(sticks, wire, seconds):
    began = time.monotonic()
    sticks.caller.engine.Search(search_request(limits=wire))
    took = time.monotonic() - began
    [asked] = sticks.engine.asked
    assert asked.limits.clock is None
    assert max(0.0, seconds - took) <= asked.limits.max_seconds <= seconds


@pytest.mark.parametrize(
    ("limits", "reason"), [({"nodes": 3}, NODES), ({"depth": 2}, DEPTH), ({"move_time_ms": 50}, TIME)]
)
def test_whatever_binds_first_ends_the_search(sticks, limits, reason):
    report = search(sticks, limits=limits, options=SLOW)
    assert (report.final, report.stop_reason, report.move) == (True, reason, "2")


def test_no_time_at_all_still_gets_a_move(sticks):
    report = search(sticks, limits={"move_time_ms": 0}, options=SLOW)
    assert (report.stop_reason, report.move, report.nodes) == (TIME, "2", 0)


@pytest.mark.parametrize("ask", [search, lambda *a, **k: analyze(*a, **k)[-1]], ids=["Search", "Analyze"])
def test_a_search_ends_a_margin_before_the_callers_deadline_and_answers(sticks, monkeypatch, ask):
    monkeypatch.setattr(time_control, "REPLY_SECONDS", 1.5)  # enough for a machine as busy as can be
    report = ask(sticks, options=SLOW, timeout=1.8)
    assert (report.final, report.stop_reason, report.move) == (True, TIME, "2")
    [asked] = sticks.engine.asked
    assert 0 <= asked.limits.max_seconds < 0.3


@pytest.mark.parametrize("timeout", [0.9, 1.001, 9.991, 10.01, 12.345, 100.1, 250.5, 1000.1, 20_000.1])
def test_a_deadline_that_grpc_rounded_up_is_still_kept(sticks, timeout):
    search(sticks, timeout=timeout)  # on the wire, 10.01 s is 10.1 s
    [asked] = sticks.engine.asked
    assert timeout * 0.95 - 0.5 < asked.limits.max_seconds < timeout - 0.01


def test_the_callers_deadline_does_not_lengthen_a_shorter_limit(sticks):
    report = search(sticks, options=SLOW, limits={"move_time_ms": 100}, timeout=60)
    assert report.stop_reason == TIME
    assert report.elapsed_us < 5_000_000


def test_time_spent_waiting_for_a_slot_is_lost_to_the_search(sticks):
    blocker = sticks.occupied()
    waiter = sticks.caller.engine.Search.future(search_request(limits={"move_time_ms": 20_000}), timeout=60)
    until(lambda: sticks.searches.waiting == 1)
    time.sleep(0.2)
    blocker.cancel()
    report = waiter.result().report
    asked = sticks.engine.asked[-1]
    assert report.waited_us >= 200_000
    assert asked.limits.max_seconds <= 20.0 - report.waited_us / 1e6 + 1e-6


def test_a_search_that_finds_a_free_slot_hardly_waits(sticks):
    assert search(sticks).waited_us < 1_000_000


# --- Slots and the queue ----------------------------------------------------------------------------------------------


def test_a_full_queue_refuses_with_a_hint_when_to_try_again(sticks):
    blocker = sticks.occupied()
    waiters = [sticks.caller.engine.Search.future(search_request()) for _ in range(2)]
    until(lambda: sticks.searches.waiting == 2)
    with pytest.raises(grpc.RpcError) as error:
        search(sticks)
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.value.details() == "all 1 slots are taken and 2 requests wait; try again later"
    assert 0.05 <= retry_seconds(error.value) <= 10
    blocker.cancel()
    assert all(waiter.result().report.final for waiter in waiters)


@pytest.mark.parametrize("move_time_ms", [0, 100])
def test_whom_no_slot_can_come_to_in_time_is_refused(sticks, move_time_ms):
    blocker = sticks.occupied()
    with pytest.raises(grpc.RpcError) as error:
        search(sticks, limits={"move_time_ms": move_time_ms})
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "no slot" in error.value.details()  # came, or is likely to come: that depends on searches before
    assert retry_seconds(error.value) > 0
    assert len(sticks.engine.asked) == 1
    blocker.cancel()


def test_the_most_urgent_search_goes_first(sticks):
    blocker = sticks.occupied()
    patient = sticks.caller.engine.Search.future(search_request("3 one"))
    until(lambda: sticks.searches.waiting == 1)
    urgent = sticks.caller.engine.Search.future(search_request("4 one", limits={"move_time_ms": 30_000}))
    until(lambda: sticks.searches.waiting == 2)
    blocker.cancel()
    assert patient.result().report.final
    assert urgent.result().report.final
    assert [asked.position.left for asked in sticks.engine.asked] == [7, 4, 3]


def test_slots_run_side_by_side(open_daemon):
    daemon = open_daemon(slots=3)
    calls = [daemon.occupied() for _ in range(3)]
    assert daemon.searches.running == 3
    assert len(daemon.engine.asked) == 3
    for call in calls:
        call.cancel()
    until(daemon.is_idle)


# --- Callers who leave ------------------------------------------------------------------------------------------------


def test_a_cancelled_search_frees_its_slot_at_once(sticks, logged):
    sticks.occupied().cancel()
    until(lambda: sticks.searches.running == 0)
    assert sticks.engine.asked[0].stop.is_set()
    assert search(sticks).final
    until(sticks.is_idle)
    until(lambda: [facts["status"] for facts in logged()] == ["CANCELLED", "OK"])


def test_a_cancelled_analysis_frees_its_slot_at_once(sticks, logged):
    stream = sticks.caller.engine.Analyze(analyze_request(options=SLOW))
    next(stream)
    assert sticks.searches.running == 1
    stream.cancel()
    until(sticks.is_idle)
    until(lambda: [facts["status"] for facts in logged()] == ["CANCELLED"])


def test_who_is_cancelled_in_the_queue_leaves_it(sticks):
    blocker = sticks.occupied()
    waiter = sticks.caller.engine.Search.future(search_request())
    until(lambda: sticks.searches.waiting == 1)
    waiter.cancel()
    until(lambda: sticks.searches.waiting == 0)
    assert sticks.searches.running == 1
    blocker.cancel()
    until(sticks.is_idle)
    assert len(sticks.engine.asked) == 1


def test_a_channel_that_closes_frees_all_its_slots(open_daemon):
    daemon = open_daemon(slots=2)
    with Caller(daemon.target) as caller:
        calls = [caller.engine.Search.future(search_request(options=SLOW)) for _ in range(3)]
        until(lambda: (daemon.searches.running, daemon.searches.waiting) == (2, 1))
    until(daemon.is_idle)
    assert len(calls) == 3


VANISHING = """
import sys
import threading
from plyd.clients.library.client import EngineClient
for report in EngineClient(sys.argv[1]).analyze(options={"reports": "1000000", "seconds_per_report": "0.02"}):
    print(report.nodes, flush=True)
"""


def test_a_client_killed_in_mid_search_frees_its_slot(sticks, logged):
    client = subprocess.Popen([sys.executable, "-c", VANISHING, sticks.target], stdout=subprocess.PIPE)
    assert client.stdout.readline()
    assert sticks.searches.running == 1
    client.send_signal(signal.SIGKILL)
    client.communicate()
    until(sticks.is_idle)
    assert sticks.engine.asked[0].stop.is_set()
    until(lambda: [(facts["method"], facts["status"]) for facts in logged()] == [("Analyze", "CANCELLED")])


def test_a_caller_whose_deadline_passes_frees_its_slot(sticks):
    call = sticks.caller.engine.Search.future(search_request(options={**SLOW, "ignores_stop": "true"}), timeout=0.1)
    assert call.exception() is None or call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    until(sticks.is_idle)


@pytest.mark.slow
def test_a_search_that_is_silent_for_minutes_outlives_the_pings_of_its_caller(sticks):
    with Caller(sticks.target, ("grpc.keepalive_time_ms", 30_000)) as caller:  # as our clients; it was cut after 180 s
        call = caller.engine.Search.future(search_request(options=SLOW))
        with pytest.raises(grpc.FutureTimeoutError):  # it searches on
            call.result(timeout=220)


# --- What a report says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        ("points", {"expected_points": 12.5}),
        ("probability", {"win_probability": 0.625}),
        ("proven", {"proven": {"result": search_pb2.RESULT_LOSS, "plies": 3}}),
        ("unreachable", {"unreachable": {}}),
    ],
)
def test_every_kind_of_score_reaches_the_caller(sticks, kind, score):
    expected = search_pb2.Score(point_of_view=2, exact="proven" in score, **score)
    report = search(sticks, options={"score": kind, "reports": "2"})
    assert report.score == expected
    assert report.lines[0].score == expected


def test_every_field_of_a_report_reaches_the_caller(sticks):
    report = search(sticks, "5 two", options={"reports": "3", "seconds_per_report": "0.01"})
    [line] = report.lines
    assert (report.final, report.move, report.nodes, report.depth) == (True, "2", 3, 3)
    assert report.stop_reason == FINISHED
    assert report.elapsed_us >= 30_000
    assert (list(line.moves), line.visits, line.depth) == (["2"], 3, 2)
    assert (line.probability, line.prior) == (0.25, 0.75)
    assert math.isclose(line.score.win_probability, 0.625)


# --- Freeing ----------------------------------------------------------------------------------------------------------


class SlowToFree(FakeSearcher):
    """A searcher that is freed only when it is allowed to be, as if its tree were huge."""

    allowed = threading.Event()
    freed = threading.Event()

    def __del__(self):
        self.allowed.wait(SOON)
        self.freed.set()


class SlowToFreeEngine(FakeEngine):
    def searcher(self, variant, options, megabytes=None):
        return SlowToFree(self.variants[variant], options, self.asked)


@pytest.mark.parametrize("ask", [search, analyze])
def test_an_answer_does_not_wait_until_its_searcher_is_freed(open_daemon, ask):
    daemon = open_daemon(SlowToFreeEngine())
    SlowToFree.allowed.clear()
    SlowToFree.freed.clear()
    try:
        ask(daemon)
        daemon.caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON)
        assert not SlowToFree.freed.is_set()
    finally:
        SlowToFree.allowed.set()
    assert SlowToFree.freed.wait(SOON)

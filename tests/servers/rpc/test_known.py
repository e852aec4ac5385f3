"""A question that was answered for good is not searched again."""

import grpc
import pytest

from plyd.engines import registry
from plyd.servers.access.auth import Authenticator
from plyd.servers.access.quotas import Quotas
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import OpenDaemon, analyze_request, search_request
from tests.servers.rpc.test_play import Table
from tests.servers.telemetry.test_metrics import Scraped

PROVEN = {"score": "proven", "reports": "3"}  # options of a fake search that ends with a proof
SEARCH = "/plyd.v1.EngineService/Search"
UNPROVEN = {"score": "probability", "reports": "3"}


@pytest.fixture
def daemon(open_daemon):
    """A daemon of the fake game that knows nothing yet."""
    return open_daemon()


def search(daemon, *arguments, **fields):
    return daemon.caller.engine.Search(search_request(*arguments, **fields), timeout=SOON).report


def analyze(daemon, *arguments, **fields):
    return [told.report for told in daemon.caller.engine.Analyze(analyze_request(*arguments, **fields), timeout=SOON)]


def without_flag(report):
    """What a report says, but not whether it was known."""
    assert report.known
    report.known = False
    return report


def searches(daemon):
    """How many searches the engine was asked for."""
    return len(daemon.engine.asked)


def test_a_proven_question_is_searched_once(daemon):
    first = search(daemon, options=PROVEN)
    first.waited_us = 0
    assert not first.known
    assert [without_flag(search(daemon, options=PROVEN)) for _ in range(3)] == [first] * 3
    assert searches(daemon) == 1


def test_the_same_position_by_other_moves_and_with_other_time_is_known(daemon):
    search(daemon, "7 one", ["1", "2"], options=PROVEN)
    assert search(daemon, "7 one", ["2", "1"], options=PROVEN, limits={"move_time_ms": 60_000}).known
    assert search(daemon, "4 one", options=PROVEN).known
    assert searches(daemon) == 1


def test_an_analysis_of_a_known_question_is_its_final_report(daemon):
    first = analyze(daemon, options=PROVEN)[-1]
    first.waited_us = 0
    [known] = analyze(daemon, options=PROVEN)
    assert without_flag(known) == first
    assert search(daemon, options=PROVEN).known
    assert searches(daemon) == 1


@pytest.mark.parametrize("limit", [{"nodes": 2}, {"depth": 2}, {"nodes": 1000}])
def test_a_search_with_a_limit_on_nodes_or_depth_is_searched_each_time(daemon, limit):
    search(daemon, options=PROVEN)
    reports = [search(daemon, options=PROVEN, limits=limit) for _ in range(2)]
    assert [report.known for report in reports] == [False, False]
    assert [report.nodes for report in reports] == [min(3, *limit.values())] * 2
    assert searches(daemon) == 3


def test_another_question_is_searched(daemon):
    search(daemon, options=PROVEN)
    greedy = search_request(options=PROVEN)
    greedy.position.variant = "greedy"
    for other in (
        search_request("6 one", options=PROVEN),
        search_request(options={**PROVEN, "padding": "1"}),
        search_request(options=PROVEN, max_lines=2),
        greedy,
    ):
        assert not daemon.caller.engine.Search(other, timeout=SOON).report.known
    assert searches(daemon) == 5


def test_what_is_not_proven_is_searched_again(daemon):
    assert [search(daemon, options=UNPROVEN).known for _ in range(2)] == [False, False]
    assert [search(daemon, "0 two", options=PROVEN).known for _ in range(2)] == [False, False]
    assert searches(daemon) == 4


def test_a_known_question_needs_no_slot(open_daemon):
    daemon = open_daemon(slots=1, queue_size=0)
    search(daemon, options=PROVEN)
    analyze(daemon, "6 one", options=PROVEN)
    busy = daemon.occupied()
    assert search(daemon, options=PROVEN).known
    assert search(daemon, "6 one", options=PROVEN).known
    busy.cancel()
    until(daemon.is_idle)


def test_a_game_goes_on_with_its_searcher_after_a_known_answer(daemon):
    table = Table(daemon.caller)
    table.ask(new_game={"options": PROVEN})
    assert not table.ask(go={}).report.known
    table.ask(moves={"moves": ["1"]})
    assert not table.ask(go={}).report.known
    table.ask(take_back={})
    assert table.ask(go={}).report.known
    table.ask(moves={"moves": ["2"]})
    assert not table.ask(go={}).report.known
    assert (searches(daemon), daemon.engine.searchers) == (3, 1)
    table.half_close()
    assert table.rest() == []


def test_a_known_question_is_counted_and_logged_but_is_no_search(daemon, logged):
    scraped = Scraped(daemon.runtime)
    for moves in (["1", "2"], ["1", "2"], ["2", "1"]):
        search(daemon, "7 one", moves, options=PROVEN)
    assert scraped("plyd_known_answers_total", game="sticks") == 2
    assert scraped("plyd_searches_total", game="sticks", stop_reason="finished") == 1
    assert scraped("plyd_known_entries") == 3  # a report, and the responses to two requests
    assert 0 < scraped("plyd_known_bytes") < 10_000
    assert scraped("plyd_requests_total", method="Search", status="OK") == 3
    until(lambda: len(logged()) == 3)
    assert [line.get("known") for line in logged()] == [None, True, True]
    assert [line["game"] for line in logged()] == ["sticks"] * 3
    scraped.close()


def test_a_known_question_is_answered_only_to_those_who_may_ask(open_daemon, tmp_path):
    clients = tmp_path / "clients.toml"
    clients.write_text(f'[[client]]\nname = "bot"\nsha256 = "{"ab" * 32}"\n')
    daemon = open_daemon()
    search(daemon, options=PROVEN)
    daemon.runtime.auth = Authenticator(None, Quotas(requests_per_second=0.001))
    assert search(daemon, options=PROVEN).known
    with pytest.raises(grpc.RpcError) as caught:
        search(daemon, options=PROVEN)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    daemon.runtime.auth = Authenticator(clients)
    with pytest.raises(grpc.RpcError) as caught:
        search(daemon, options=PROVEN)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_the_answer_to_known_bytes_is_the_same_but_for_the_flag(fibonacci):
    ask = fibonacci.caller.channel.unary_unary(SEARCH)
    request = search_request("b 3 2 0 1 0 0", max_lines=4).SerializeToString()
    first = engine_pb2.SearchResponse.FromString(ask(request, timeout=SOON))
    assert not first.report.known
    first.report.known = True
    assert ask(request, timeout=SOON) == first.SerializeToString()


def test_bytes_that_are_no_message_are_refused_by_search_too(daemon):
    with pytest.raises(grpc.RpcError) as caught:
        daemon.caller.channel.unary_unary(SEARCH)(b"\xff\xff", timeout=SOON)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


SOLVED = [  # positions that are proven within a moment
    ("connect4", "", ["4", "1", "4", "1", "4"], {}),
    ("gomoku", "", ["h8", "a1", "h9", "a2", "h10", "a3"], {}),
    ("gomoku", "", ["h8", "a1", "h9", "a2", "h10", "a3"], {"method": "mcts"}),
    ("2584-2x3", "b 2 2 0 0 0 0", [], {}),
]


@pytest.fixture(scope="module")
def solvers(house):
    with OpenDaemon(house, *map(registry.load, ("connect4", "gomoku", "2584-2x3")), slots=2) as daemon:
        yield daemon


@pytest.mark.parametrize(("game", "start", "moves", "options"), SOLVED, ids=str)
def test_a_solved_position_of_every_engine_is_known_the_second_time(solvers, game, start, moves, options):
    request = search_request(start, moves, options=options)
    request.position.game = game
    ended = solvers.runtime.observer.metrics.searches
    first = solvers.caller.engine.Search(request, timeout=SOON).report
    before = ended.total()
    second = solvers.caller.engine.Search(request, timeout=SOON).report
    assert ended.total() == before
    assert (first.known, second.known) == (False, True)
    assert (second.move, second.score, second.lines) == (first.move, first.score, first.lines)
    assert second.score.exact or second.score.HasField("proven")
    request.limits.nodes = 50
    limited = [solvers.caller.engine.Search(request, timeout=SOON).report for _ in range(2)]
    assert [report.known for report in limited] == [False, False]
    assert ended.total() == before + 2
    for report in limited:
        report.elapsed_us = report.waited_us = 0
    assert limited[0] == limited[1]

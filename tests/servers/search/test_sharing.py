"""Callers side by side at a daemon: one that takes all it can get, and others that get theirs all the same."""

import queue

import pytest

from plyd.engines import registry
from plyd.servers.access.auth import Authenticator
from plyd.servers.access.quotas import Quotas
from plyd.servers.rpc.context import CallContext
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, Caller, analyze_request, search_request


class Game:
    """A game of Connect Four on a stream of its own, open until the stream is cancelled."""

    def __init__(self, daemon, **options):
        self._commands = queue.SimpleQueue()
        self._replies = daemon.caller.engine.Play(iter(self._commands.get, None), timeout=SOON)
        self._ask(new_game={"position": {"start": "7x6"}, "options": options})

    def _ask(self, **command):
        self._commands.put(engine_pb2.PlayRequest(**command))
        return next(reply for reply in self._replies if reply.WhichOneof("reply") != "report" or reply.report.final)

    def go(self, nodes):
        """The final report of a search."""
        reply = self._ask(go={"limits": {"nodes": nodes}})
        assert reply.WhichOneof("reply") == "report", reply
        return reply.report

    def end(self):
        self._commands.put(None)
        assert list(self._replies) == []


@pytest.fixture(scope="module")
def connect4():
    return registry.load("connect4")


# --- Slots ------------------------------------------------------------------------------------------------------------


def test_endless_analyses_of_one_caller_keep_nobody_else_out(open_daemon):
    daemon = open_daemon(slots=2, queue_size=8)
    with Caller(daemon.target) as greedy, Caller(daemon.target) as other:
        analyses = [greedy.engine.Analyze(analyze_request(options=SLOW)) for _ in range(2)]
        until(lambda: daemon.searches.running == 2)
        for _ in range(20):
            limits = {"move_time_ms": 60_000}
            assert other.engine.Search(search_request(options={"reports": "3"}, limits=limits)).report.final
        assert daemon.searches.pauses == 20
        nodes = [next(analysis).report.nodes for analysis in analyses]
        for analysis, before in zip(analyses, nodes, strict=True):
            until(lambda a=analysis, b=before: next(a).report.nodes > b)  # it goes on
            analysis.cancel()
        until(daemon.is_idle)


def test_callers_without_a_name_take_turns_by_connection(open_daemon):
    daemon = open_daemon(slots=1, queue_size=8)
    with Caller(daemon.target) as greedy, Caller(daemon.target) as other:
        endless = greedy.engine.Search.future(search_request(options=SLOW))
        until(lambda: daemon.searches.running == 1)
        assert other.engine.Search(
            search_request(options={"reports": "3"}, limits={"move_time_ms": 60_000})
        ).report.final
        assert daemon.searches.pauses == 1
        endless.cancel()
        until(daemon.is_idle)


def test_a_client_with_a_name_has_one_share_whatever_its_connection():
    call = CallContext()
    call.peer = "ipv4:127.0.0.1:4711"
    assert call.party == "ipv4:127.0.0.1:4711"
    call.client = Authenticator(None, Quotas(searches=1))._client_at("127.0.0.1")
    assert call.party == "127.0.0.1"


# --- Memory -----------------------------------------------------------------------------------------------------------


def test_idle_games_keep_nobody_out(open_daemon, connect4):
    daemon = open_daemon(connect4, slots=2, queue_size=8, memory_mb=1024)
    games = [Game(daemon) for _ in range(2)]
    assert [game.go(nodes=1).final for game in games] == [True, True]
    for _ in range(20):
        assert daemon.caller.engine.Search(search_request("7x6", limits={"nodes": 1}), timeout=SOON).report.final
    assert daemon.runtime.memory.dropped == 0
    assert 0 < daemon.runtime.memory.used < 100
    for game in games:
        game.end()
    until(lambda: daemon.runtime.memory.used == 0)


def test_all_searches_that_a_client_may_have_share_its_memory(open_daemon, connect4):
    auth = Authenticator(None, Quotas(memory_mb=64, searches=2))
    daemon = open_daemon(connect4, slots=2, auth=auth)
    analyses = [daemon.caller.engine.Analyze(analyze_request("9x9"), timeout=SOON) for _ in range(2)]
    assert [next(analysis).report.nodes > 0 for analysis in analyses] == [True, True]
    assert daemon.runtime.memory.used == 64
    for analysis in analyses:
        analysis.cancel()
    until(lambda: daemon.runtime.memory.used == 0)


def test_the_longest_idle_game_gives_up_its_tree_is_told_and_goes_on_without(open_daemon, connect4):
    daemon = open_daemon(connect4, memory_mb=100)
    first, second = Game(daemon, memory="60"), Game(daemon, memory="60")
    assert [game.go(nodes=2000).memory_lost for game in (first, second)] == [False, False]
    wanted = 100 - daemon.runtime.memory.used + 1
    request = search_request("7x6", limits={"nodes": 10}, options={"memory": str(wanted)})
    assert not daemon.caller.engine.Search(request, timeout=SOON).report.memory_lost
    assert daemon.runtime.memory.dropped == 1
    assert [game.go(nodes=2100).memory_lost for game in (second, first, first)] == [False, True, False]
    for game in (first, second):
        game.end()
    until(lambda: daemon.runtime.memory.used == 0)

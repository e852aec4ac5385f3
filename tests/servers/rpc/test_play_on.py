"""play_on: one command, many moves made by the daemon, told now and then, with one final reply."""

import grpc
import pytest

from plyd.engines import registry
from plyd.servers.search import play_on
from plyd.v1 import position_pb2
from tests.patience import until
from tests.servers.daemons import read_out, search_request
from tests.servers.fakes import EndlessEngine, FastEndlessEngine
from tests.servers.rpc.test_play import EXHAUSTED, INTERNAL, INVALID, Table, begin

MANY = 1_000_000


@pytest.fixture
def endless(open_daemon):
    """A game that never ends, with a fast player."""
    return open_daemon(FastEndlessEngine("endless"))


@pytest.fixture
def table(endless):
    table = Table(endless.caller)
    table.ask(new_game={"position": {"start": "b 1 1"}, "without_history": True})
    yield table
    table.half_close()
    table.replies.cancel()


def played(table, **command):
    """All replies to play_on; the last one is final, or an error."""
    number, replies = table.send(play_on=command), []
    while True:
        replies.append(table.reply())
        assert replies[-1].id == number
        if replies[-1].WhichOneof("reply") == "error" or replies[-1].played_on.final:
            return replies


def moves_of(replies):
    return [move for reply in replies for move in reply.played_on.moves]


# --- What is played ---------------------------------------------------------------------------------------------------


def test_so_many_moves_are_made_and_every_one_is_told(table):
    *others, last = replies = played(table, moves=1000, interval_ms=10)
    assert not any(reply.played_on.final for reply in others)
    assert last.played_on.count == 1000
    assert len(moves_of(replies)) == 2000
    assert last.played_on.state.points == 2000
    assert last.played_on.state.plies == 2000
    assert table.ask(stop={}).state == last.played_on.state


def test_the_moves_can_be_taken_back_and_the_game_goes_on(table):
    played(table, moves=600)
    assert table.ask(take_back={"plies": 1000}).state.plies == 200
    [reply] = played(table, moves=5, interval_ms=60_000)
    assert (reply.played_on.count, reply.played_on.state.plies) == (5, 210)


def test_the_same_seed_gives_the_same_moves_however_they_are_told(table):
    first = moves_of(played(table, moves=700, seed=7, interval_ms=10))
    assert moves_of(played(table, moves=700, seed=7, interval_ms=60_000)) == first
    assert moves_of(played(table, moves=700, seed=8)) != first
    assert moves_of(played(table, moves=700)) != moves_of(played(table, moves=700)), "a new seed each time"


def test_chance_moves_first_if_it_is_to_move(endless):
    table = Table(endless.caller)
    table.ask(new_game={"position": {"start": "a 1 0"}})
    [reply] = played(table, moves=1, interval_ms=60_000)
    assert moves_of([reply])[0] == "1@1"
    assert (len(moves_of([reply])), reply.played_on.count) == (3, 1)
    table.half_close()


def test_an_engine_without_a_fast_player_searches_each_move(open_daemon):
    daemon = open_daemon(EndlessEngine("endless"))
    table = Table(daemon.caller)
    table.ask(new_game={"position": {"start": "b 1 1"}})
    replies = played(table, moves=5, limits={"nodes": 3})
    assert (replies[-1].played_on.count, len(moves_of(replies))) == (5, 10)
    assert [asked.limits.max_nodes for asked in daemon.engine.asked] == [3] * 5
    played(table, moves=1)
    assert daemon.engine.asked[-1].limits.max_depth == 1, "unless other limits are given"
    table.half_close()


def test_a_game_for_two_is_played_to_its_end(sticks):
    table = Table(sticks.caller)
    begin(table, "7 one")
    last = played(table, moves=MANY)[-1].played_on
    assert (last.count, last.state.outcome) == (4, position_pb2.OUTCOME_PLAYER_TWO_WINS)
    assert list(last.state.position.moves) == ["2", "2", "2", "1"]
    [again] = played(table, moves=MANY)
    assert (again.played_on.final, again.played_on.count, list(again.played_on.moves)) == (True, 0, [])
    table.end()


def test_a_tile_game_is_played_to_its_end_by_exact_values(fibonacci):
    table = Table(fibonacci.caller)
    table.ask(new_game={"position": {"game": "2584-2x3"}, "without_history": True})
    replies = played(table, moves=MANY, seed=3)
    last = replies[-1].played_on
    assert last.state.outcome == position_pb2.OUTCOME_ENDED
    assert last.count > 100
    rules = registry.load("2584-2x3").variants["classic"]
    position, points = rules.start(), 0
    for move in moves_of(replies):
        step = rules.play(position, move)
        position, points = step.position, points + step.points
    assert (rules.text(position), points) == (last.state.text, last.state.points)
    table.end()


# --- What ends it -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [FastEndlessEngine, EndlessEngine])
def test_stop_ends_it_in_the_middle_with_one_final_reply(open_daemon, engine):
    daemon = open_daemon(engine("endless"))
    table = Table(daemon.caller)
    table.ask(new_game={"position": {"start": "b 1 1"}, "without_history": True})
    number = table.send(play_on={"moves": MANY, "interval_ms": 10})
    first = table.reply()
    assert (first.id, first.played_on.final) == (number, False)
    stop, replies = table.send(stop={}), [first]
    while not replies[-1].played_on.final:
        replies.append(table.reply())
    assert 0 < replies[-1].played_on.count < MANY
    assert len(moves_of(replies)) == 2 * replies[-1].played_on.count
    state = table.reply()
    assert (state.id, state.state) == (stop, replies[-1].played_on.state)
    table.end()
    until(daemon.is_idle)


def test_any_command_ends_it_first(table):
    for command, kind in (({"moves": {"moves": ["left"]}}, "state"), ({}, "error"), ({"play_on": {"moves": 1}}, "")):
        number = table.send(play_on={"moves": MANY, "interval_ms": 10})
        after = table.send(**command)
        while not (reply := table.reply()).played_on.final:
            assert reply.id == number
        assert reply.id == number
        reply = table.reply()
        assert reply.id == after
        assert reply.WhichOneof("reply") == (kind or "played_on")


def test_what_waits_for_its_slot_is_stopped_too(endless, table):
    blocker = endless.occupied()
    before = table.ask(stop={}).state
    table.send(play_on={"moves": MANY})
    until(lambda: endless.searches.waiting == 1)
    table.send(stop={})
    reply = table.reply().played_on
    assert (reply.final, reply.count, reply.state) == (True, 0, before)
    assert table.reply().state == before
    assert not blocker.done()
    blocker.cancel()


def test_a_caller_who_leaves_frees_the_slot(endless, table):
    table.send(play_on={"moves": MANY})
    table.reply()
    table.replies.cancel()
    until(endless.is_idle)


def test_it_ends_before_the_deadline_of_the_stream(endless, monkeypatch):
    monkeypatch.setattr(play_on, "MARGIN_SECONDS", 1.5)
    table = Table(endless.caller, timeout=2.0)
    table.ask(new_game={"position": {"start": "b 1 1"}, "without_history": True})
    last = played(table, moves=MANY)[-1].played_on
    assert last.final
    assert last.count < MANY
    table.half_close()


def test_a_daemon_that_shuts_down_sends_the_final_reply(open_daemon):
    daemon = open_daemon(FastEndlessEngine("endless"))
    table = Table(daemon.caller)
    table.ask(new_game={"position": {"start": "b 1 1"}, "without_history": True})
    table.send(play_on={"moves": MANY})
    first = table.reply()
    daemon.stop()
    replies, error = read_out(table.replies)
    replies = [first, *replies]
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert [reply.played_on.final for reply in replies] == [False] * (len(replies) - 1) + [True]


def test_half_close_lets_it_end_by_itself(table):
    table.send(play_on={"moves": 2000})
    table.half_close()
    assert table.rest()[-1].played_on.count == 2000


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "field", "message"),
    [
        ({"moves": 0}, "moves", "moves is 0; allowed is 1 to 1000000"),
        ({"moves": 1_000_001}, "moves", "moves is 1000001; allowed is 1 to 1000000"),
        ({"moves": 2**32 - 1}, "moves", "moves is 4294967295; allowed is 1 to 1000000"),
        ({"interval_ms": 0}, "interval_ms", "interval_ms is 0; allowed is 10 to 60000"),
        ({"interval_ms": 2**32 - 1}, "interval_ms", "interval_ms is 4294967295; allowed is 10 to 60000"),
        ({"limits": {"depth": 0}}, "limits.depth", "limits.depth is 0; allowed is 1 or more"),
        ({"limits": {"nodes": 0}}, "limits.nodes", "limits.nodes is 0; allowed is 1 or more"),
        (
            {"limits": {"clock": {"remaining_ms": 1}}},
            "limits.clock",
            "a clock cannot be given for many moves; give a time for each move",
        ),
    ],
)
def test_what_is_out_of_range_is_refused_and_changes_nothing(table, command, field, message):
    before = table.ask(stop={}).state
    [reply] = played(table, **command)
    assert (reply.error.code, reply.error.field, reply.error.message) == (INVALID, field, message)
    assert table.ask(stop={}).state == before


def test_before_new_game_it_is_refused(endless):
    table = Table(endless.caller)
    [reply] = played(table)
    assert reply.error.message == "play_on before new_game; the first command of a game is new_game"
    table.half_close()


def test_a_game_with_history_ends_where_a_position_may_have_no_more_moves(endless):
    table = Table(endless.caller)
    table.ask(new_game={"position": {"start": "b 1 1"}})
    *told, last = played(table, moves=100_000)
    assert last.error.code == INVALID
    assert "ask for states without_history" in last.error.message
    state = table.ask(stop={}).state
    assert state.plies == len(moves_of(told)) > 10_000, "what was told stands, and no more"
    table.half_close()


def test_what_was_played_before_a_fault_is_told(open_daemon):
    engine = EndlessEngine("endless")
    daemon, plain = open_daemon(engine), engine.searcher

    def searcher(variant, options, megabytes=None):
        found, search = plain(variant, options, megabytes), None
        search = found.search
        found.search = lambda *asked: search(*asked) if len(engine.asked) < 3 else iter(())
        return found

    engine.searcher = searcher
    table = Table(daemon.caller)
    table.ask(new_game={"position": {"start": "b 1 1"}})
    *told, last = played(table, moves=9)
    assert last.error.code == INTERNAL
    assert len(moves_of(told)) == table.ask(stop={}).state.plies == 6
    table.half_close()


def test_a_full_queue_refuses_the_first_move(sticks):
    blocker, table = sticks.occupied(), Table(sticks.caller)
    waiters = [sticks.caller.engine.Search.future(search_request()) for _ in range(2)]
    until(lambda: sticks.searches.waiting == 2)
    begin(table)
    [reply] = played(table)
    assert reply.error.code == EXHAUSTED
    blocker.cancel()
    assert all(waiter.result().report.final for waiter in waiters)
    table.half_close()


def test_others_search_while_it_runs(endless, table):
    table.send(play_on={"moves": MANY})
    table.reply()
    for _ in range(20):
        report = endless.caller.engine.Search(search_request("b 1 1", limits={"nodes": 1}), timeout=30).report
        assert report.final
    assert not table.reply().played_on.final
    table.replies.cancel()


def test_it_waits_behind_the_search_of_another(endless, table):
    blocker = endless.occupied()
    table.send(play_on={"moves": MANY})
    until(lambda: endless.searches.waiting == 1)
    assert not blocker.done()
    blocker.cancel()
    assert moves_of([table.reply()])
    table.replies.cancel()

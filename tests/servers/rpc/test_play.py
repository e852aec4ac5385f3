"""The Play stream over a real socket: every command gets exactly one final reply, in order, with its id."""

import logging
import queue
import signal
import subprocess
import sys

import grpc
import pytest

from plyd.engines.core import time_control
from plyd.servers.rpc.status import INTERNAL_MESSAGE
from plyd.v1 import engine_pb2, position_pb2, search_pb2
from tests.patience import until
from tests.servers.daemons import SLOW, Caller, retry_seconds, search_request
from tests.servers.fakes import SECRET, FakeEngine

INVALID, NOT_FOUND, EXHAUSTED, INTERNAL = 3, 5, 8, 13  # google.rpc.Code
STOPPED, FINISHED, NODES = search_pb2.STOP_REASON_STOPPED, search_pb2.STOP_REASON_FINISHED, search_pb2.STOP_REASON_NODES


class Table:
    """One game: commands go in, replies come out. `options` are the engine's for the whole game."""

    def __init__(self, caller, timeout=60):
        self._commands = queue.SimpleQueue()
        self._last_id = 0
        self.replies = caller.engine.Play(iter(self._commands.get, None), timeout=timeout)

    def send(self, **command):
        """Send a command; its id."""
        self._last_id += 1
        self._commands.put(engine_pb2.PlayRequest(id=self._last_id, **command))
        return self._last_id

    def reply(self):
        return next(self.replies)

    def final(self):
        """The next reply that is final; the reports before it belong to the same command."""
        for reply in self.replies:
            if reply.WhichOneof("reply") != "report" or reply.report.final:
                return reply
        raise AssertionError("the stream ended without a final reply")

    def ask(self, **command):
        """The final reply to a command."""
        number = self.send(**command)
        reply = self.final()
        assert reply.id == number
        return reply

    def half_close(self):
        self._commands.put(None)

    def rest(self):
        return list(self.replies)

    def end(self):
        """Leave in good order."""
        self.half_close()
        assert self.rest() == []
        assert self.replies.code() is grpc.StatusCode.OK


@pytest.fixture
def table(sticks):
    """A game with the fake engine, not yet begun."""
    table = Table(sticks.caller)
    yield table
    table.half_close()
    table.replies.cancel()


def begin(table, start="", **options):
    return table.ask(new_game={"position": {"start": start}, "options": options}).state


# --- Commands and replies ---------------------------------------------------------------------------------------------


def test_a_game_from_beginning_to_end(table, sticks):
    assert begin(table, "5 one").text == "5 one"
    assert table.ask(go={}).report.move == "2"
    assert table.ask(moves={"moves": ["2"]}).state.text == "3 two"
    assert table.ask(moves={"moves": ["1", "2"]}).state.outcome == position_pb2.OUTCOME_PLAYER_ONE_WINS
    over = table.ask(go={}).report
    assert (over.final, over.HasField("move"), over.stop_reason) == (True, False, search_pb2.STOP_REASON_NO_SEARCH)
    table.end()
    assert [asked.position.left for asked in sticks.engine.asked] == [5, 0]


def test_every_command_gets_one_final_reply_in_order_even_if_all_come_at_once(table):
    commands = [
        {"stop": {}},
        {"new_game": {"options": {"reports": "50"}}},
        {"go": {"limits": {"nodes": 20}}},
        {"moves": {"moves": ["1"]}},
        {"go": {}},
        {"stop": {}},
        {"moves": {"moves": ["5"]}},
        {"take_back": {}},
        {},
        {"go": {"limits": {"depth": 0}}},
        {"take_back": {"plies": 9}},
        {"new_game": {"position": {"start": "2 two"}}},
        {"go": {"ponder": True}},
    ]
    ids = [table.send(**command) for command in commands]
    table.half_close()
    replies = table.rest()
    final = [reply for reply in replies if reply.WhichOneof("reply") != "report" or reply.report.final]
    assert [reply.id for reply in final] == ids
    assert [reply.id for reply in replies] == sorted(reply.id for reply in replies)
    assert [reply.WhichOneof("reply") for reply in final] == (
        [
            "error",
            "state",
            "report",
            "state",
            "report",
            "state",
            "error",
            "state",
            "error",
            "error",
            "error",
            "state",
            "report",
        ]
    )


def test_ids_are_repeated_whatever_they_are(sticks):
    ids = [7, 0, 2**64 - 1, 7]
    commands = [{"new_game": {}}, {"moves": {"moves": ["x"]}}, {"go": {}}, {"stop": {}}]
    requests = [engine_pb2.PlayRequest(id=number, **c) for number, c in zip(ids, commands, strict=True)]
    replies = sticks.caller.engine.Play(iter(requests), timeout=30)
    assert [reply.id for reply in replies] == ids


def test_a_stream_without_a_command_ends_well(table):
    table.end()


def test_a_game_says_all_that_the_rules_know(table):
    state = begin(table, "3 two")
    assert state == position_pb2.State(
        position={"game": "sticks", "variant": "normal", "start": "3 two"},
        text="3 two",
        to_move=position_pb2.SIDE_PLAYER_TWO,
        outcome=position_pb2.OUTCOME_ONGOING,
        legal_moves=[
            {"move": "1", "cell": 2, "kind": "MOVE_KIND_CELL"},
            {"move": "2", "cell": 1, "kind": "MOVE_KIND_CELL"},
        ],
        board={"rows": 1, "columns": 3, "cells": ["|", "|", "|"]},
        picture="| | |",
    )


# --- Refused commands -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ({"moves": {"moves": ["1"]}}, "moves"),
        ({"take_back": {}}, "take_back"),
        ({"go": {}}, "go"),
        ({"stop": {}}, "stop"),
    ],
)
def test_a_command_before_new_game_is_refused_and_the_stream_lives_on(table, command, name):
    error = table.ask(**command).error
    assert (error.code, error.message) == (
        INVALID,
        f"{name} before new_game; the first command of a game is new_game",
    )
    assert begin(table).text == "7 one"


def test_an_empty_command_is_refused(table):
    error = table.ask().error
    assert (error.code, error.message) == (
        INVALID,
        "a request without a command; commands are new_game, moves, take_back, go, play_on or stop",
    )
    assert begin(table).text == "7 one"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ({"moves": {}}, INVALID, "moves is empty; at least one move is needed"),
        ({"moves": {"moves": ["3"]}}, INVALID, 'move 2: illegal move "3" at "6 two"'),
        ({"moves": {"moves": ["2", "2", "3"]}}, INVALID, 'move 4: illegal move "3" at "2 two"'),
        ({"moves": {"go": {}}}, INVALID, "moves is empty; at least one move is needed"),
        ({"moves": {"moves": ["1"], "go": {"max_lines": 0}}}, INVALID, "max_lines is 0; allowed is 1 to 1000"),
        ({"moves": {"moves": ["1", "9"], "go": {}}}, INVALID, 'move 3: illegal move "9" at "5 one"'),
        ({"take_back": {"plies": 2}}, INVALID, "cannot take back 2 plies; 1 were played"),
        ({"go": {"limits": {"nodes": 0}}}, INVALID, "limits.nodes is 0; allowed is 1 or more"),
        ({"go": {"max_lines": 0}}, INVALID, "max_lines is 0; allowed is 1 to 1000"),
        ({"new_game": {"position": {"game": "go"}}}, NOT_FOUND, 'unknown game "go"; served here: sticks'),
        ({"new_game": {"options": {"fail": "1"}}}, INVALID, 'option fail is "1"; allowed is true or false'),
        ({"new_game": {"position": {"moves": ["9"]}}}, INVALID, 'move 1: illegal move "9" at "7 one"'),
    ],
)
def test_a_refused_command_changes_nothing(table, command, code, message):
    begin(table)
    before = table.ask(moves={"moves": ["1"]}).state
    error = table.ask(**command).error
    assert (error.code, error.message) == (code, message)
    assert table.ask(stop={}).state == before
    assert table.ask(go={}).report.move == "2"


def test_moves_are_taken_back_one_or_several(table):
    begin(table)
    table.ask(moves={"moves": ["1", "2", "1", "2"]})
    assert table.ask(take_back={}).state.text == "3 two"
    assert list(table.ask(take_back={"plies": 2}).state.position.moves) == ["1"]
    assert table.ask(take_back={"plies": 0}).state.text == "6 two"
    assert table.ask(take_back={"plies": 1}).state.text == "7 one"


def test_the_moves_of_the_position_a_game_began_with_can_be_taken_back(table):
    table.ask(new_game={"position": {"start": "7 one", "moves": ["2"]}})
    assert table.ask(take_back={}).state.text == "7 one"


# --- Searches ---------------------------------------------------------------------------------------------------------


def test_the_searcher_is_kept_for_a_game_and_new_for_the_next(table, sticks):
    before = sticks.engine.searchers
    begin(table)
    table.ask(go={})
    table.ask(moves={"moves": ["1"]})
    table.ask(go={})
    assert sticks.engine.searchers == before + 1
    begin(table)
    table.ask(go={})
    assert sticks.engine.searchers == before + 2


def test_limits_lines_and_options_of_a_game_reach_the_engine(table, sticks):
    begin(table, reports="9")
    report = table.ask(go={"limits": {"nodes": 4}, "max_lines": 3}).report
    assert (report.nodes, report.stop_reason) == (4, NODES)
    assert (sticks.engine.asked[0].limits.max_nodes, sticks.engine.asked[0].limits.max_lines) == (4, 3)


def test_stop_ends_a_search_and_its_final_report_comes_first(table):
    begin(table, **SLOW)
    go = table.send(go={})
    assert not table.reply().report.final
    stop = table.send(stop={})
    report, state = table.final(), table.reply()
    assert (report.id, report.report.stop_reason, report.report.move) == (go, STOPPED, "2")
    assert (state.id, state.state.text) == (stop, "7 one")


@pytest.mark.parametrize(
    ("command", "kind", "text"),
    [
        ({"moves": {"moves": ["1"]}}, "state", "6 two"),
        ({"take_back": {"plies": 0}}, "state", "7 one"),
        ({"new_game": {"position": {"start": "3 two"}}}, "state", "3 two"),
        ({"moves": {"moves": ["7"]}}, "error", ""),
        ({}, "error", ""),
    ],
)
def test_any_command_stops_a_search_first(table, command, kind, text):
    begin(table, **SLOW)
    go = table.send(go={})
    table.reply()
    number = table.send(**command)
    report, reply = table.final(), table.reply()
    assert (report.id, report.report.final, report.report.stop_reason) == (go, True, STOPPED)
    assert (reply.id, reply.WhichOneof("reply"), reply.state.text) == (number, kind, text)


def test_a_second_go_stops_the_first(table):
    begin(table, **SLOW)
    first, second = table.send(go={}), table.send(go={"limits": {"nodes": 1}})
    assert [(reply.id, reply.report.stop_reason) for reply in (table.final(), table.final())] == [
        (first, STOPPED),
        (second, NODES),
    ]


def test_a_search_is_of_the_position_at_go_whatever_is_played_after(table, sticks):
    begin(table, **SLOW)
    table.send(go={})
    table.reply()
    table.send(moves={"moves": ["2"]})
    table.final()
    table.final()
    assert table.ask(go={"limits": {"nodes": 1}}).report.final
    assert [asked.position.left for asked in sticks.engine.asked] == [7, 5]


def test_the_slot_is_free_once_the_final_report_is_there(table, sticks):
    begin(table, **SLOW)
    for _ in range(3):
        table.send(go={})
        table.reply()
        table.send(stop={})
        table.final()
        table.final()
        assert sticks.searches.running == 0


def test_a_fault_of_the_engine_is_an_error_reply_and_the_stream_lives_on(table, caplog):
    begin(table, fail="true", reports="2")
    error = table.ask(go={}).error
    assert (error.code, error.message) == (INTERNAL, INTERNAL_MESSAGE)
    [fault] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert SECRET in str(fault.exc_info[1])
    assert begin(table).text == "7 one"
    assert table.ask(go={}).report.stop_reason == FINISHED


def test_the_deadline_of_the_stream_limits_its_searches(sticks, monkeypatch):
    monkeypatch.setattr(time_control, "REPLY_SECONDS", 1.5)
    table = Table(sticks.caller, timeout=2.0)
    begin(table, **SLOW)
    report = table.ask(go={}).report
    assert (report.final, report.stop_reason) == (True, search_pb2.STOP_REASON_TIME)
    table.half_close()


# --- When slots are taken ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"move_time_ms": 60_000}])
def test_stop_answers_soon_although_the_search_still_waits_for_a_slot(table, sticks, limits):
    blocker = sticks.occupied()
    begin(table)
    go = table.send(go={"limits": limits})
    until(lambda: sticks.searches.waiting == 1)
    stop = table.send(stop={})
    report, state = table.final(), table.final()
    assert (report.id, report.WhichOneof("reply"), report.report.final) == (go, "report", True)
    assert (state.id, state.WhichOneof("reply")) == (stop, "state")
    assert not blocker.done()
    assert sticks.searches.running == 1
    blocker.cancel()


def test_go_and_stop_in_one_breath_answer_although_slots_are_taken(table, sticks):
    blocker = sticks.occupied()
    begin(table)
    for _ in range(20):
        ids = [table.send(go={}), table.send(stop={})]
        assert [table.final().id, table.final().id] == ids
    assert not blocker.done()
    blocker.cancel()


def test_half_close_answers_although_an_unlimited_search_still_waits_for_a_slot(table, sticks):
    blocker = sticks.occupied()
    begin(table, **SLOW)
    table.send(go={})
    table.half_close()
    [reply] = table.rest()
    assert (reply.report.final, reply.report.stop_reason) == (True, STOPPED)
    assert not blocker.done()
    blocker.cancel()


def test_go_is_refused_when_the_queue_is_full_and_the_game_goes_on(table, sticks):
    blocker = sticks.occupied()
    waiters = [sticks.caller.engine.Search.future(search_request()) for _ in range(2)]
    until(lambda: sticks.searches.waiting == 2)
    begin(table)
    error = table.ask(go={}).error
    assert (error.code, error.message) == (EXHAUSTED, "all 1 slots are taken and 2 requests wait; try again later")
    assert error.retry_after_ms > 0
    blocker.cancel()
    assert all(waiter.result().report.final for waiter in waiters)
    assert table.ask(go={}).report.final


def test_go_is_refused_when_no_slot_comes_in_time(table, sticks):
    blocker = sticks.occupied()
    begin(table)
    error = table.ask(go={"limits": {"move_time_ms": 60}}).error
    assert (error.code, "no slot" in error.message) == (EXHAUSTED, True)
    blocker.cancel()


def test_pondering_waits_behind_every_other_search(table, sticks):
    blocker = sticks.occupied()
    begin(table, "3 one")
    table.send(go={"ponder": True, "limits": {"move_time_ms": 30_000}})
    until(lambda: sticks.searches.waiting == 1)
    other = sticks.caller.engine.Search.future(search_request("4 one"))
    until(lambda: sticks.searches.waiting == 2)
    blocker.cancel()
    assert table.final().report.final
    assert other.result().report.final
    assert [asked.position.left for asked in sticks.engine.asked] == [7, 4, 3]


def test_more_games_than_allowed_are_refused(sticks):
    tables = [Table(sticks.caller) for _ in range(3)]
    for table in tables:
        begin(table)
    with pytest.raises(grpc.RpcError) as error:
        begin(Table(sticks.caller))
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error.value.details() == "3 games are open, the most allowed; try again later"
    assert retry_seconds(error.value) == 1.0
    tables[0].end()
    tables.append(Table(sticks.caller))
    assert begin(tables[-1]).text == "7 one"
    for table in tables[1:]:
        table.end()


# --- Leaving ----------------------------------------------------------------------------------------------------------


def test_half_close_lets_a_search_with_limits_finish(table):
    begin(table, reports="10", seconds_per_report="0.02")
    go = table.send(go={"limits": {"nodes": 8}})
    table.half_close()
    *_, last = table.rest()
    assert (last.id, last.report.final, last.report.stop_reason, last.report.nodes) == (go, True, NODES, 8)
    assert table.replies.code() is grpc.StatusCode.OK


def test_half_close_stops_a_search_without_limits(table):
    begin(table, **SLOW)
    go = table.send(go={"max_lines": 2})
    table.half_close()
    *_, last = table.rest()
    assert (last.id, last.report.final, last.report.stop_reason) == (go, True, STOPPED)
    assert table.replies.code() is grpc.StatusCode.OK


@pytest.mark.parametrize("limits", [{}, {"move_time_ms": 60_000}])
def test_who_cancels_in_mid_search_frees_the_slot(table, sticks, caplog, logged, limits):
    begin(table, **SLOW)
    table.send(go={"limits": limits})
    table.reply()
    table.replies.cancel()
    until(sticks.is_idle)
    assert sticks.engine.asked[0].stop.is_set()
    until(lambda: [facts["status"] for facts in logged()] == ["CANCELLED"])
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_who_cancels_while_its_search_waits_leaves_the_queue(table, sticks):
    blocker = sticks.occupied()
    begin(table)
    table.send(go={})
    until(lambda: sticks.searches.waiting == 1)
    table.replies.cancel()
    until(lambda: sticks.searches.waiting == 0)
    blocker.cancel()
    until(sticks.is_idle)
    assert all(asked.stop.is_set() for asked in sticks.engine.asked)


def test_a_half_closed_stream_that_is_cancelled_frees_the_slot(table, sticks):
    begin(table, **SLOW)
    table.send(go={"limits": {"move_time_ms": 60_000}})
    table.half_close()
    table.reply()
    table.replies.cancel()
    until(sticks.is_idle)
    assert sticks.engine.asked[0].stop.is_set()


def test_a_channel_that_closes_ends_its_games(sticks, caplog):
    with Caller(sticks.target) as caller:
        table = Table(caller)
        begin(table, **SLOW)
        table.send(go={})
        table.reply()
    table.half_close()
    until(sticks.is_idle)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


VANISHING = """
import sys
from plyd.clients.library.client import EngineClient
game = EngineClient(sys.argv[1]).play(reports="1000000", seconds_per_report="0.01")
for report in game.go(seconds=60):
    print(report.nodes, flush=True)
"""


def test_a_player_killed_in_mid_search_frees_slot_and_session(sticks, caplog):
    for _ in range(2):
        client = subprocess.Popen([sys.executable, "-c", VANISHING, sticks.target], stdout=subprocess.PIPE)
        assert client.stdout.readline()
        client.send_signal(signal.SIGKILL)
        client.communicate()
        until(sticks.is_idle)
    tables = [Table(sticks.caller) for _ in range(3)]
    assert [begin(table).text for table in tables] == ["7 one"] * 3
    for table in tables:
        table.end()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_an_engine_that_cannot_make_a_searcher_is_a_fault_but_not_the_end(open_daemon):
    class Broken(FakeEngine):
        def searcher(self, variant, options, megabytes=None):
            raise OSError(SECRET)

    daemon = open_daemon(Broken())
    table = Table(daemon.caller)
    begin(table)
    error = table.ask(go={}).error
    assert (error.code, error.message) == (INTERNAL, INTERNAL_MESSAGE)
    assert table.ask(moves={"moves": ["1"]}).state.text == "6 two"
    table.end()

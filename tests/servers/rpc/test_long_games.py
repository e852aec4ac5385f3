"""Games of any length: states that start from the present board, and a move, chance's reply and a search in one."""

import pytest

from plyd.v1 import position_pb2, rules_pb2, search_pb2
from tests.patience import SOON
from tests.servers.daemons import SLOW, search_request
from tests.servers.fakes import EndlessEngine, FakeEngine
from tests.servers.rpc.test_play import Table

PAIR = ["left", "1@1"]  # of the endless game: gains 2 points
INVALID, EXHAUSTED = 3, 8  # google.rpc.Code


@pytest.fixture
def endless(open_daemon):
    """A daemon of a game without end."""
    return open_daemon(EndlessEngine("endless"))


@pytest.fixture
def table(endless):
    table = Table(endless.caller)
    yield table
    table.end()


def present(start, plies, points=0.0):
    """A position of the endless game without history."""
    return position_pb2.Position(game="endless", variant="normal", start=start, plies=plies, points=points)


def test_a_game_of_20000_moves_on_one_stream_has_states_of_one_size(table):
    state = table.ask(new_game={"position": {"start": "b 1 1"}, "without_history": True}).state
    sizes = {state.ByteSize()}
    for _ in range(40):
        state = table.ask(moves={"moves": PAIR * 250}).state
        sizes.add(state.ByteSize())
    for _ in range(3):
        state = table.ask(moves={"moves": ["left"], "with_chance": True}).state
        assert state.chance_moves == ["1@1"]
    assert (state.plies, state.points, state.text) == (20_006, 20_006, "b 1 1")
    assert state.position == present("b 1 1", 20_006, 20_006)
    assert max(sizes) < 150


def test_a_game_of_20000_moves_by_calls_has_messages_of_one_size(endless):
    rules, position, sizes = endless.caller.rules, present("b 1 1", 0), set()
    for _ in range(40):
        request = rules_pb2.ApplyRequest(position=position, moves=PAIR * 250, without_history=True)
        response = rules.Apply(request, timeout=SOON)
        position = response.state.position
        sizes.add(position.ByteSize())
    assert position == present("b 1 1", 20_000, 20_000)
    assert max(sizes) < 50
    assert rules.Inspect(rules_pb2.InspectRequest(position=position), timeout=SOON).state.plies == 20_000


def test_a_history_of_20000_moves_is_given_whole_by_default(endless, table):
    start = {"start": "b 1 1", "moves": PAIR * 10_000}
    state = endless.caller.rules.Inspect(rules_pb2.InspectRequest(position=start), timeout=SOON).state
    assert list(state.position.moves) == PAIR * 10_000
    assert (state.position.start, state.position.plies, state.position.points) == ("b 1 1", 0, 0.0)
    assert (state.plies, state.points) == (20_000, 20_000)
    assert table.ask(new_game={"position": state.position}).state == state
    table.ask(moves={"moves": ["right"]})
    assert table.ask(take_back={}).state == state
    assert table.ask(take_back={"plies": 19_999}).state.position.moves == ["left"]


def test_moves_are_taken_back_as_far_as_they_are_kept(table):
    table.ask(new_game={"position": {"start": "b 1 1"}, "without_history": True})
    table.ask(moves={"moves": PAIR * 1000})
    error = table.ask(take_back={"plies": 1025}).error
    assert (error.code, error.message) == (
        INVALID,
        "cannot take back 1025 plies; without history the last 1024 can be taken back",
    )
    state = table.ask(take_back={"plies": 1024}).state
    assert state.position == present("b 1 1", 976, 976)
    assert table.ask(moves={"moves": ["right"]}).state.position == present("a 0 1", 977, 978)


def test_a_game_goes_on_from_a_board_with_its_points_and_plies(fibonacci):
    rules = fibonacci.caller.rules
    sent = position_pb2.Position(start="b 2 1 0 0 0 0", moves=["left", "1@2"], points=100, plies=50)
    whole = rules.Inspect(rules_pb2.InspectRequest(position=sent), timeout=SOON).state
    assert (whole.points, whole.plies) == (103, 52)
    sent.game, sent.variant = "2584-2x3", "classic"
    assert whole.position == sent
    request = rules_pb2.InspectRequest(position=sent, without_history=True)
    short = rules.Inspect(request, timeout=SOON).state
    assert short.position == position_pb2.Position(
        game="2584-2x3", variant="classic", start="b 3 0 1 0 0 0", points=103, plies=52
    )
    short.position.CopyFrom(whole.position)
    assert short == whole


def test_a_new_game_without_history_names_the_opening_moves(fibonacci):
    rules = fibonacci.caller.rules
    whole = rules.NewGame(rules_pb2.NewGameRequest(seed=5), timeout=SOON).state
    short = rules.NewGame(rules_pb2.NewGameRequest(seed=5, without_history=True), timeout=SOON).state
    assert short.chance_moves == whole.position.moves
    assert (short.plies, whole.plies) == (2, 2)
    assert (short.position.start, short.position.plies, list(short.position.moves)) == (short.text, 2, [])
    assert not whole.chance_moves


def test_a_board_of_a_game_for_two_carries_the_side_to_move(sticks):
    request = rules_pb2.ApplyRequest(position={"start": "7 one"}, moves=["2"], without_history=True)
    state = sticks.caller.rules.Apply(request, timeout=SOON).state
    assert (state.position.start, state.to_move) == ("5 two", position_pb2.SIDE_PLAYER_TWO)


def test_chance_replies_on_a_stream_as_it_does_to_a_call(fibonacci):
    table, position = Table(fibonacci.caller), {"start": "b 2 1 0 0 0 0"}
    request = rules_pb2.ApplyRequest(position=position, moves=["left"], with_chance=True, seed=7)
    called = fibonacci.caller.rules.Apply(request, timeout=SOON).state
    table.ask(new_game={"position": position})
    streamed = table.ask(moves={"moves": ["left"], "with_chance": True, "seed": 7}).state
    assert streamed == called
    assert streamed.position.moves == ["left", "1@2"]
    table.end()


def test_chance_makes_the_opening_moves_of_a_stream(fibonacci):
    table = Table(fibonacci.caller)
    table.ask(new_game={})
    opened = table.ask(moves={"with_chance": True, "seed": 5}).state
    assert opened == fibonacci.caller.rules.NewGame(rules_pb2.NewGameRequest(seed=5), timeout=SOON).state
    table.end()


def test_a_search_comes_with_the_move(fibonacci):
    table = Table(fibonacci.caller)
    table.ask(new_game={"position": {"start": "b 2 1 0 0 0 0"}, "without_history": True})
    number = table.send(moves={"moves": ["left"], "with_chance": True, "seed": 7, "go": {}})
    state, report = table.reply(), table.reply()
    assert (state.id, state.state.text, state.state.chance_moves) == (number, "b 3 0 1 0 0 0", ["1@2"])
    assert (report.id, report.report.final) == (number, True)
    assert report.report.move == table.ask(go={}).report.move
    table.end()


def test_a_search_that_comes_with_a_move_is_stopped_like_any_other(sticks):
    table = Table(sticks.caller)
    table.ask(new_game={"options": SLOW})
    number = table.send(moves={"moves": ["2"], "go": {}})
    assert table.reply().state.text == "5 two"
    table.send(stop={})
    stopped = table.final()
    assert (stopped.id, stopped.report.stop_reason) == (number, search_pb2.STOP_REASON_STOPPED)
    assert table.final().state.text == "5 two"
    table.end()


def test_the_field_at_fault_of_a_search_that_comes_with_a_move_is_named(sticks):
    table = Table(sticks.caller)
    table.ask(new_game={})
    error = table.ask(moves={"moves": ["2"], "go": {"limits": {"depth": 0}}}).error
    assert (error.code, error.field) == (INVALID, "go.limits.depth")
    assert table.ask(stop={}).state.text == "7 one"
    assert table.ask(moves={"moves": ["9"], "go": {}}).error.code == INVALID
    table.end()


def test_a_search_without_a_slot_leaves_the_move_played(open_daemon):
    daemon = open_daemon(queue_size=0)
    holder, table = daemon.occupied(), Table(daemon.caller)
    table.ask(new_game={})
    number = table.send(moves={"moves": ["2"], "go": {}})
    assert table.reply().state.text == "5 two"
    refused = table.reply()
    assert (refused.id, refused.error.code) == (number, EXHAUSTED)
    assert table.ask(stop={}).state.text == "5 two"
    holder.cancel()
    table.end()


class LookupEngine(FakeEngine):
    """Answers at once at depth 1."""

    def answers_at_once(self, position, limits, options):
        return limits.max_depth == 1


def test_a_search_that_needs_no_time_needs_no_slot(open_daemon):
    daemon = open_daemon(LookupEngine(), queue_size=0)
    holder, table = daemon.occupied(), Table(daemon.caller)
    table.ask(new_game={})
    assert table.ask(go={"limits": {"depth": 2}}).error.code == EXHAUSTED
    assert table.ask(go={"limits": {"depth": 1}}).report.move == "2"
    response = daemon.caller.engine.Search(search_request(limits={"depth": 1}), timeout=SOON)
    assert response.report.final
    holder.cancel()
    table.end()


def test_a_finished_game_is_reported_with_the_last_move(sticks):
    table = Table(sticks.caller)
    table.ask(new_game={"position": {"start": "2 one"}})
    table.send(moves={"moves": ["2"], "go": {}})
    assert table.reply().state.outcome == position_pb2.OUTCOME_PLAYER_ONE_WINS
    assert table.reply().report.stop_reason == search_pb2.STOP_REASON_NO_SEARCH
    table.end()


def test_an_old_request_gets_the_state_it_always_got(fibonacci):
    request = rules_pb2.ApplyRequest(position={"start": "b 2 1 0 0 0 0"}, moves=["left"], with_chance=True, seed=7)
    response = fibonacci.caller.rules.Apply(request, timeout=SOON)
    response.state.ClearField("plies")  # which is new, as the following
    response.state.ClearField("last_cells")
    for move in response.state.legal_moves:
        move.ClearField("kind")
    assert response.state == position_pb2.State(
        position={"game": "2584-2x3", "variant": "classic", "start": "b 2 1 0 0 0 0", "moves": ["left", "1@2"]},
        text="b 3 0 1 0 0 0",
        to_move=position_pb2.SIDE_PLAYER_ONE,
        outcome=position_pb2.OUTCOME_ONGOING,
        legal_moves=[{"move": "right"}, {"move": "down"}, {"move": "left"}],
        points=3,
        board={"rows": 2, "columns": 3, "cells": ["3", "", "1", "", "", ""]},
        picture="3 . 1\n. . .",
    )
    assert response.chance_moves == ["1@2"]

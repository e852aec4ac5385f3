"""Positions, states and reports as clients return them: the fields of the message, readable, and a picture."""

import copy
import math
import pickle

import pytest
from google.protobuf import json_format

from plyd.clients import LegalMove, Line, Position, Report, Score, State
from plyd.clients.library import cards
from plyd.v1 import position_pb2, search_pb2
from tests.patience import SOON

OPENING = "b 2 2 0 0 0 0"
ONE, TWO = position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO


@pytest.fixture
def client(connect, daemon):
    return connect(daemon)


def proven(result, plies=None, side=ONE):
    return Score(search_pb2.Score(point_of_view=side, proven=search_pb2.ProvenResult(result=result, plies=plies)))


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (Position, position_pb2.Position),
        (LegalMove, position_pb2.LegalMove),
        (State, position_pb2.State),
        (Score, search_pb2.Score),
        (Line, search_pb2.Line),
        (Report, search_pb2.Report),
    ],
)
def test_a_view_has_every_field_of_its_message_documented(view, message):
    for field in message.DESCRIPTOR.fields:
        assert vars(view)[field.name].fget.__doc__, field.name
        assert "return" in vars(view)[field.name].fget.__annotations__
    assert repr(view(message()))  # whatever is absent


def test_every_call_gives_views(client):
    state = client.new_game(OPENING, seed=1)
    assert (type(state), type(state.position), type(state.legal_moves[0])) == (State, Position, LegalMove)
    assert type(client.inspect(state.position)) is type(client.apply(state.position, "right")) is State
    report = client.search(state.position, nodes=100)
    assert (type(report), type(report.score), type(report.lines[0])) == (Report, Score, Line)
    assert [each.move for each in state.legal_moves[1:]] == [each.move for each in state.message.legal_moves][1:]
    assert state.legal_moves == client.inspect(OPENING).legal_moves != report.lines
    assert repr(state.legal_moves[:1]) == f"[<LegalMove {state.legal_moves[0].move}>]"
    assert all(type(each) is Report for each in client.analyze(state.position, nodes=100))
    with client.play(state.position) as game:
        assert (type(game.state), type(game.moves("right")), type(game.best(nodes=10))) == (State, State, Report)
        assert game.take_back() == state == game.state
        assert game._repr_svg_() == game.state.svg()


def test_positions_are_taken_as_views_as_messages_and_as_text(client):
    state = client.inspect(OPENING)
    assert client.inspect(state.position) == client.inspect(state.position.message) == state
    moved = client.apply(state.position, "right")
    assert client.inspect(state.position, ["right"]) == client.inspect(state.position.message, ["right"]) == moved
    assert list(state.position.moves) == []  # as before: nobody has added to it


def test_what_messages_can_do_views_can_do(client):
    state = client.new_game(OPENING, seed=1)
    assert state == state.message
    assert state != client.inspect("b 3 2 0 0 0 0")
    assert position_pb2.State.FromString(state.SerializeToString()) == state.message
    assert json_format.MessageToDict(state)["position"]["game"] == "2584-2x3"
    assert not state.legal_moves[0].HasField("cell")
    assert client.search(OPENING).score.WhichOneof("value") == "expected_points"
    for again in (pickle.loads(pickle.dumps(state)), copy.copy(state), copy.deepcopy(state)):
        assert (type(again), again) == (State, state)
    position = copy.deepcopy(state.position)
    position.start = "b 3 2 0 0 0 0"
    assert position.message.start == position.start == "b 3 2 0 0 0 0"
    position.moves.append("right")
    assert list(position.message.moves) == ["right"]
    with pytest.raises(AttributeError):
        state.no_such_field  # noqa: B018
    with pytest.raises(AttributeError):
        state.no_such_field = 1


def test_a_proven_result_has_a_win_probability():
    assert [proven(result).win_probability for result in (1, 2, 3)] == [1.0, 0.5, 0.0]
    estimate = Score(search_pb2.Score(point_of_view=TWO, win_probability=0.25))
    assert estimate.win_probability == estimate.message.win_probability == 0.25
    for nothing in ({"expected_points": 3.0}, {"unreachable": search_pb2.Unreachable()}, {}):
        score = Score(search_pb2.Score(point_of_view=ONE, **nothing))
        assert math.isnan(score.win_probability)
        assert score.expected_points == nothing.get("expected_points", 0.0)


@pytest.mark.parametrize(
    ("score", "text", "short"),
    [
        (proven(search_pb2.RESULT_WIN, 7), "player one wins in 7 plies", "W7"),
        (proven(search_pb2.RESULT_LOSS, side=TWO), "player one wins", "L"),
        (proven(search_pb2.RESULT_DRAW), "a draw", "="),
        (Score(search_pb2.Score(point_of_view=TWO, win_probability=0.615)), "61.5% for player two", "62%"),
        (Score(search_pb2.Score(point_of_view=ONE, expected_points=1422.34)), "1,422.3 points", "1422"),
        (Score(search_pb2.Score(unreachable=search_pb2.Unreachable())), "cannot occur", ""),
        (Score(search_pb2.Score()), "no score", ""),
    ],
)
def test_scores_in_words(score, text, short):
    assert (str(score), repr(score), score.short()) == (text, f"<Score {text}>", short)


def test_positions_states_and_reports_in_words(client):
    start = "b 1 2 0 0 0 0"
    state = client.apply(start, "right", "1@0")
    assert repr(state) == f"<State 2584-2x3 {state.text}, after 2 plies, 3 points, player one to move>"
    assert str(state) == state.picture
    assert repr(state.position) == f"<Position 2584-2x3/classic {start} 2 moves, last 1@0>"
    assert repr(state.legal_moves[0]) == f"<LegalMove {state.legal_moves[0].move}>"
    drops = client.inspect("a 2 2 0 0 0 0").legal_moves
    assert repr(drops[0]) == f"<LegalMove {drops[0].move} ({drops[0].probability:.3g})>"
    message = search_pb2.Report(final=True, move="h8", nodes=1200, depth=3, elapsed_us=250_000)
    message.score.CopyFrom(proven(search_pb2.RESULT_WIN, 3).message)
    message.lines.add(moves=["h8", "i9", "h9"], score=message.score)
    text = "h8: player one wins in 3 plies, depth 3, 1,200 nodes, 0.25 s, line h8 i9 h9"
    assert repr(Report(message)) == f"<Report {text}>"
    assert repr(Report(message).lines[0]) == "<Line h8 i9 h9: player one wins in 3 plies>"
    message.final = False
    assert str(Report(message)) == f"{text}, ..."


def test_a_board_is_drawn_as_its_card_says_which_is_asked_for_once(connect, daemon, monkeypatch):
    monkeypatch.setattr(cards, "ASK_SECONDS", SOON)
    client = connect(daemon)
    state = client.inspect(OPENING)
    client.close()
    picture = state._repr_svg_()
    assert "2584 on 2x3 board" in picture
    monkeypatch.setattr(cards, "open_channel", None)
    assert state.svg() == picture


def test_a_board_whose_daemon_is_gone_is_a_plain_grid(client, nowhere, connect):
    state = State(client.inspect(OPENING).message, connect(nowhere)._cards.card)
    assert "2584-2x3 board" in state.svg()
    assert State(state.message).svg() == state.svg()  # as one without a client

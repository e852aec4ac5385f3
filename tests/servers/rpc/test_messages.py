"""Every field of every message says what the engine said."""

import pytest

from plyd.engines import __version__
from plyd.engines.core.engine import Answers, BadLine, Capability
from plyd.engines.core.look import BoardKind
from plyd.engines.core.options import Option
from plyd.engines.core.rules import Move, MoveKind, Outcome, Side
from plyd.engines.core.search import Line, Proven, Report, Result, Score, StopReason, WinProbability
from plyd.servers.rpc import messages
from plyd.servers.search.game_record import GameRecord
from plyd.v1 import engine_pb2, position_pb2, search_pb2
from tests.patience import SOON
from tests.servers.fakes import FakeEngine

SCORE = Score(Side.PLAYER_TWO, WinProbability(0.5))


def members(enum, prefix):
    """Names of a wire enum's values without its prefix, the first one (not set) left out."""
    return {name.removeprefix(prefix) for name, number in enum.items() if number}


@pytest.mark.parametrize(
    ("table", "plain", "wire", "prefix"),
    [
        (messages.SIDES, Side, position_pb2.Side, "SIDE_"),
        (messages.OUTCOMES, Outcome, position_pb2.Outcome, "OUTCOME_"),
        (messages.RESULTS, Result, search_pb2.Result, "RESULT_"),
        (messages.STOP_REASONS, StopReason, search_pb2.StopReason, "STOP_REASON_"),
        (messages.MOVE_KINDS, MoveKind, position_pb2.MoveKind, "MOVE_KIND_"),
        (messages.BOARD_KINDS, BoardKind, engine_pb2.BoardKind, "BOARD_KIND_"),
        (messages.CAPABILITIES, Capability, engine_pb2.Capability, "CAPABILITY_"),
    ],
)
def test_every_value_of_an_enum_has_its_twin_on_the_wire(table, plain, wire, prefix):
    assert set(table) == set(plain)
    assert {member.name for member in plain} == members(wire, prefix)
    assert all(wire.Name(number) == prefix + member.name for member, number in table.items())


def test_an_engine_is_described_with_every_field(sticks):
    [info] = sticks.caller.engine.Describe(engine_pb2.DescribeRequest(game="sticks"), timeout=SOON).engines
    assert info == engine_pb2.EngineInfo(
        game="sticks",
        title="Sticks",
        summary="Does what its options say.",
        variants=[
            {"name": "normal", "summary": "take 1 or 2", "model": {"name": "twigs", "sha256": "ab" * 32}},
            {"name": "greedy", "summary": "take 1, 2 or 3"},
        ],
        position_notation="Sticks left, and who is to move.",
        position_examples=["7 one", "3 two"],
        move_notation="Sticks to take.",
        move_examples=["1", "2"],
        node_meaning="a report",
        board_limits={"min_rows": 1, "max_rows": 2, "min_columns": 3, "max_columns": 4},
        options=list(map(messages.option_message, FakeEngine.card.options)),
        capabilities=[engine_pb2.CAPABILITY_EXACT, engine_pb2.CAPABILITY_MEMORY],
        model={"name": "twigs", "sha256": "ab" * 32},
        board_look={
            "kind": engine_pb2.BOARD_KIND_CELLS,
            "column_labels": ["a", "b"],
            "row_labels": ["1"],
            "rows_from_bottom": True,
            "empty_is_open": True,
        },
        sides=[
            {"side": position_pb2.SIDE_PLAYER_ONE, "name": "Ann", "stone": "|", "colour": "#00ff00"},
            {"side": position_pb2.SIDE_PLAYER_TWO, "name": "Bob"},
        ],
        start_form={
            "template": "{columns} one",
            "square": True,
            "rows": 1,
            "columns": 7,
            "step": 2,
            "blocked_cell": "#",
        },
        file_formats=["sgf", "text"],
    )
    assert all(info.HasField(field.name) for field in info.DESCRIPTOR.fields if field.has_presence)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            Option("depth", "How deep.", 4, 1, 9),
            {"type": engine_pb2.OPTION_TYPE_INTEGER, "default_value": "4", "minimum": 1, "maximum": 9},
        ),
        (
            Option("depth", "How deep.", 0.5, 0.0, 1.0),
            {"type": engine_pb2.OPTION_TYPE_NUMBER, "default_value": "0.5", "minimum": 0, "maximum": 1},
        ),
        (Option("depth", "How deep.", default=True), {"type": engine_pb2.OPTION_TYPE_BOOLEAN, "default_value": "true"}),
        (
            Option("depth", "How deep.", "low", choices=("low", "high")),
            {"type": engine_pb2.OPTION_TYPE_CHOICE, "default_value": "low", "choices": ["low", "high"]},
        ),
    ],
)
def test_an_option_is_described_with_every_field(option, message):
    assert messages.option_message(option) == engine_pb2.Option(name="depth", summary="How deep.", **message)


def test_a_daemon_describes_all_its_games_in_order_or_the_one_asked_for(open_daemon):
    daemon = open_daemon(FakeEngine("zebra"), FakeEngine("ant"), slots=2, queue_size=5, max_sessions=7)
    everything = daemon.caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON)
    assert [engine.game for engine in everything.engines] == ["zebra", "ant"]
    one = daemon.caller.engine.Describe(engine_pb2.DescribeRequest(game="ant"), timeout=SOON)
    assert [engine.game for engine in one.engines] == ["ant"]
    assert (
        one.daemon
        == everything.daemon
        == engine_pb2.DaemonInfo(
            version=__version__,
            slots=2,
            queue_size=5,
            max_sessions=7,
            max_batch_bytes=1 << 19,
            max_message_bytes=160 << 10,
            max_streams_per_connection=100,
        )
    )


def test_an_engine_without_learned_weights_has_no_model(fibonacci):
    [info] = fibonacci.caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON).engines
    assert not info.HasField("model")
    assert list(info.capabilities) == [engine_pb2.CAPABILITY_EVALUATE, engine_pb2.CAPABILITY_EXACT]


def test_what_a_report_does_not_know_is_absent():
    message = messages.report_message(Report(SCORE, lines=(Line(("1",), SCORE),)), 0.0)
    assert not message.final
    assert not message.HasField("move")
    assert message.stop_reason == search_pb2.STOP_REASON_UNSPECIFIED
    assert not any(message.lines[0].HasField(name) for name in ("visits", "depth", "probability", "prior"))


def test_zero_is_not_the_same_as_absent():
    line = Line(("1",), SCORE, visits=0, depth=0, probability=0.0, prior=0.0)
    [message] = messages.report_message(Report(SCORE, lines=(line,)), 0.0).lines
    assert all(message.HasField(name) for name in ("visits", "depth", "probability", "prior"))


def test_times_are_in_microseconds():
    message = messages.report_message(Report(SCORE, seconds=1.5, stop_reason=StopReason.TIME), 0.25)
    assert (message.elapsed_us, message.waited_us, message.final) == (1_500_000, 250_000, True)


@pytest.mark.parametrize(("result", "plies"), [(Result.WIN, 0), (Result.DRAW, 7), (Result.LOSS, None)])
def test_a_proven_result_says_its_distance_if_it_knows_it(result, plies):
    score = Score(Side.PLAYER_ONE, Proven(result, plies), exact=True)
    proven = messages.report_message(Report(score), 0.0).score.proven
    assert search_pb2.Result.Name(proven.result) == f"RESULT_{result.name}"
    assert (proven.plies if proven.HasField("plies") else None) == plies


def test_answers_keep_their_numbers_and_errors():
    import numpy as np

    answers = Answers(np.array([1.5, 2.5]), ("left", ""), b"", (BadLine(3, 1, "what is this?"),))
    assert messages.answers_message(answers) == engine_pb2.EvaluateResponse(
        values=[1.5, 2.5], moves=["left", ""], errors=[{"line": 3, "answer": 1, "message": "what is this?"}]
    )


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (Move("h8", cell=7), {"move": "h8", "cell": 7, "kind": position_pb2.MOVE_KIND_CELL}),
        (
            Move("e2e4", cell=9, cells=(4, 9), kind=MoveKind.FROM_TO),
            {"move": "e2e4", "cell": 9, "cells": [4, 9], "kind": position_pb2.MOVE_KIND_FROM_TO},
        ),
        (Move("pass", kind=MoveKind.PASS), {"move": "pass", "kind": position_pb2.MOVE_KIND_PASS}),
        (Move("left", kind=MoveKind.SLIDE), {"move": "left", "kind": position_pb2.MOVE_KIND_SLIDE}),
        (
            Move("1@4", cell=4, probability=0.5),
            {"move": "1@4", "cell": 4, "probability": 0.5, "kind": position_pb2.MOVE_KIND_CELL},
        ),
    ],
)
def test_a_move_says_how_it_is_pointed_at_and_a_pass_differs_from_a_slide(move, message):
    assert messages.move_message(move) == position_pb2.LegalMove(**message)


def test_the_last_move_is_marked_until_it_is_taken_back():
    record = GameRecord(FakeEngine(), "", "7 one", ["2", "1"])
    assert list(messages.state_message(record).last_cells) == [4]
    record.take_back(1)
    assert list(messages.state_message(record).last_cells) == [5]
    record.take_back(1)
    assert list(messages.state_message(record).last_cells) == []


def test_a_report_tells_new_and_kept_nodes_apart():
    report = Report(SCORE, nodes=30, kept_nodes=12)
    message = messages.report_message(report, 0.0)
    assert (message.nodes, message.kept_nodes) == (30, 12)

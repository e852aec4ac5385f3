"""Boards, scores and reports of two-player games as text."""

import re

import pytest

from plyd.clients.library.report import Report, score_text
from plyd.clients.library.state import State
from plyd.clients.play.board_text import UNNAMED, Look, draw, report_text
from plyd.v1 import engine_pb2, position_pb2, search_pb2


def score(**value):
    return search_pb2.Score(point_of_view=position_pb2.SIDE_PLAYER_TWO, **value)


def proven(result, plies=None):
    return score(proven=search_pb2.ProvenResult(result=result, plies=plies))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (score(win_probability=0.615), "61.5% for o"),
        (proven(search_pb2.RESULT_WIN, 7), "o wins in 7 plies"),
        (proven(search_pb2.RESULT_LOSS, 6), "x wins in 6 plies"),
        (proven(search_pb2.RESULT_WIN, 1), "o wins in 1 ply"),
        (proven(search_pb2.RESULT_LOSS), "x wins"),
        (proven(search_pb2.RESULT_DRAW, 12), "a draw in 12 plies"),
        (proven(search_pb2.RESULT_DRAW), "a draw"),
        (score(expected_points=1422.34), "1,422.3 points"),
        (score(), "no score"),
    ],
)
def test_scores_in_words(value, words):
    assert score_text(value, UNNAMED) == words


def test_reports_in_words():
    line = search_pb2.Line(moves=["4", "4", "3"])
    message = search_pb2.Report(score=score(win_probability=0.5), nodes=12_000, elapsed_us=100_000, lines=[line])
    report = Report(message)
    assert report_text(report, UNNAMED) == "50.0% for o, 12,000 nodes, 120,000/s, line 4 4 3"
    line.moves.extend("123456789" * 2)
    assert (
        report_text(Report(search_pb2.Report(lines=[line])), UNNAMED)
        == "no score, 0 nodes, line 4 4 3 1 2 3 4 5 6 7 8 9 ..."
    )
    assert report_text(Report(search_pb2.Report(score=score(win_probability=0.5))), UNNAMED) == "50.0% for o, 0 nodes"


def drawn(rows, columns, stones, look, last=()):
    """A board in plain letters."""
    cells = [stones.get(cell, "") for cell in range(rows * columns)]
    board = position_pb2.Board(rows=rows, columns=columns, cells=cells)
    state = State(position_pb2.State(board=board, last_cells=last))
    return re.sub(r"\x1b\[\d*m", "", draw(state, look)).split("\n")


def look_of(kind, **labels):
    return Look(engine_pb2.EngineInfo(board_look=engine_pb2.BoardLook(kind=kind, **labels)))


NUMBERS = [str(number) for number in range(1, 20)]


def test_a_board_of_columns_has_no_names_of_rows():
    look = look_of(engine_pb2.BOARD_KIND_DROPPED, column_labels=NUMBERS, row_labels=NUMBERS)
    assert drawn(2, 3, {3: "x", 4: "o", 5: "#"}, look, last=[4]) == [
        " 1  2  3",
        " .  .  .",
        " x (o) #",
    ]


@pytest.mark.parametrize("from_bottom", [True, False])
def test_a_board_of_columns_and_rows(from_bottom):
    look = look_of(
        engine_pb2.BOARD_KIND_POINTS,
        column_labels="abcdefghijklmn",
        row_labels=NUMBERS,
        rows_from_bottom=from_bottom,
    )
    head, *lines = drawn(10, 11, {10: "x"}, look, last=[10])
    assert head.split() == list("abcdefghijk")
    assert [line.split()[0] for line in lines] == [*map(str, range(10, 0, -1) if from_bottom else range(1, 11))]
    assert lines[0].endswith("x)")
    assert len({line.index(".") for line in lines}) == 1


def test_a_board_without_names_and_with_unknown_labels_is_a_plain_grid():
    assert drawn(2, 2, {0: "K", 3: "pp"}, Look(engine_pb2.EngineInfo())) == ["  K   .", "  .  pp"]


def test_stones_are_those_of_the_card():
    sides = [
        engine_pb2.SideLook(side=position_pb2.SIDE_PLAYER_ONE, stone="B"),
        engine_pb2.SideLook(side=position_pb2.SIDE_PLAYER_TWO, stone="W"),
    ]
    look = Look(engine_pb2.EngineInfo(sides=sides))
    assert score_text(proven(search_pb2.RESULT_WIN), look.stones) == "W wins"
    assert look.colours == {"B": "red", "W": "yellow"}

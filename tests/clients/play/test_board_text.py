"""Boards, scores and reports of two-player games as text."""

import re

import pytest

from plyd.clients.library.requests import Report, State
from plyd.clients.play.board_text import Labels, draw, report_text, score_text
from plyd.v1 import position_pb2, search_pb2


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
    assert score_text(value) == words


def test_reports_in_words():
    line = search_pb2.Line(moves=["4", "4", "3"])
    report = Report(score=score(win_probability=0.5), nodes=12_000, elapsed_us=100_000, lines=[line])
    assert report_text(report) == "50.0% for o, 12,000 nodes, 120,000/s, line 4 4 3"
    line.moves.extend("123456789" * 2)
    assert report_text(Report(lines=[line])) == "no score, 0 nodes, line 4 4 3 1 2 3 4 5 6 7 8 9 ..."
    assert report_text(Report(score=score(win_probability=0.5))) == "50.0% for o, 0 nodes"


def drawn(rows, columns, stones, moves, last=None):
    """A board in plain letters, with labels from moves that lead to cells."""
    cells = [stones.get(cell, "") for cell in range(rows * columns)]
    legal = [position_pb2.LegalMove(move=move, cell=cell) for cell, move in moves.items()]
    state = State(board=position_pb2.Board(rows=rows, columns=columns, cells=cells), legal_moves=legal)
    labels = Labels()
    labels.learn(state)
    return re.sub(r"\x1b\[\d*m", "", draw(state, labels, last)).split("\n")


def test_a_board_of_columns():
    assert drawn(2, 3, {3: "x", 4: "o", 5: "#"}, {0: "1", 1: "2", 2: "3"}, last=4) == [
        " 1  2  3",
        " .  .  .",
        " x (o) #",
    ]


@pytest.mark.parametrize("notation", ["{letter}{row}", "{column},{row}"])
def test_a_board_of_columns_and_rows(notation):
    moves = {
        row * 11 + column: notation.format(letter="abcdefghijk"[column], column=column + 1, row=10 - row)
        for row in range(10)
        for column in range(11)
        if (row, column) != (0, 10)
    }
    head, top, *_, bottom = drawn(10, 11, {10: "x"}, moves, last=10)
    assert head.split() == [move.rstrip("0123456789").rstrip(",") for move in list(moves.values())[-11:]]
    assert top.startswith("10")
    assert top.endswith("x)")
    assert bottom.startswith(" 1")
    assert len({line.index(".") for line in (top, bottom)}) == 1

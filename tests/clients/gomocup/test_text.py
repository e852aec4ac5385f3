"""Scores and search reports as text."""

import pytest

from plyd.clients.gomocup.board import GomocupBoard
from plyd.clients.gomocup.text import report_text, score_text, win_probability
from plyd.clients.library.bridges.bridge_engine import EnginePosition
from plyd.v1 import search_pb2
from tests.clients.gomocup.talks import O, X


def report(pov=O, **value):
    return search_pb2.Report(score=search_pb2.Score(point_of_view=pov, **value), move="a1", nodes=500, depth=3)


def proven(result, plies=None):
    return search_pb2.ProvenResult(result=result, plies=plies)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (report(win_probability=0.615), "61.5%"),
        (report(pov=X, win_probability=0.25), "75.0%"),
        (report(proven=proven(search_pb2.RESULT_WIN, 7)), "win in 7"),
        (report(pov=X, proven=proven(search_pb2.RESULT_WIN, 6)), "loss in 6"),
        (report(proven=proven(search_pb2.RESULT_DRAW)), "draw"),
    ],
)
def test_scores_speak_of_who_is_to_move(said, words):
    assert score_text(said, EnginePosition("15x15", ("h8",))) == words


def test_reports_in_words():
    said = report(win_probability=0.5)
    said.elapsed_us = 1_000_000
    said.lines.add(moves=["a1", "b2"])
    assert report_text(said, EnginePosition("15x15", ("h8",)), GomocupBoard(15)) == (
        "depth 3 score 50.0% nodes 500 speed 500 pv 0,14 1,13"
    )
    assert win_probability(said, EnginePosition("15x15", ("h8",))) == 0.5

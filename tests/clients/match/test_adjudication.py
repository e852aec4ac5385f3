"""When a game is ended before the rules end it."""

from types import SimpleNamespace

import pytest

from plyd.clients.match.adjudication import Adjudication
from plyd.clients.match.results import SearchStats

NONE = [None] * 2


def verdict(adjudication, first, second, plies=30, proven=NONE):
    seats = [
        SimpleNamespace(stats=SearchStats(scores=list(scores)), proven=known)
        for scores, known in zip((first, second), proven, strict=True)
    ]
    return adjudication.verdict(seats, plies)


RESIGN = Adjudication(resign_score=0.05, resign_moves=2)
DRAW = Adjudication(draw_score=0.02, draw_moves=2, draw_after=20)


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ([0.05, 0.01], [0.95, 0.99], "second"),
        ([0.99, 1.0], [0.04, 0.0], "first"),
        ([0.05, 0.06], [0.95, 0.99], None),  # not twice in a row
        ([0.05, 0.01], [0.95, 0.94], None),  # the other does not agree
        ([0.05], [0.95], None),
        ([0.05, None], [0.95, 0.99], None),
    ],
)
def test_side_resigns_whose_loss_both_see(first, second, winner):
    found = verdict(RESIGN, first, second)
    loser = {"first": "second", "second": "first"}.get(winner)
    assert found == (winner and (winner, f"adjudicated: {loser} resigns"))


def test_side_resigns_alone_if_it_may():
    alone = Adjudication(resign_score=0.05, resign_moves=2, resign_both=False)
    assert verdict(alone, [0.05, 0.01], [])[0] == "second"
    assert verdict(alone, [0.5, 0.5], [0.99, 0.99]) is None  # to think that one wins is not enough


def test_game_that_both_expect_to_be_a_draw():
    assert verdict(DRAW, [0.49, 0.5], [0.51, 0.52])[0] == "draw"
    assert verdict(DRAW, [0.49, 0.5], [0.51, 0.53]) is None
    assert verdict(DRAW, [0.49, 0.5], [0.51, 0.52], plies=19) is None


def test_game_that_is_too_long():
    assert verdict(Adjudication(max_plies=30), [], [], plies=29) is None
    assert verdict(Adjudication(max_plies=30), [], [], plies=30) == ("draw", "adjudicated: 30 plies")


@pytest.mark.parametrize(
    ("proven", "winner"),
    [((1.0, 0.0), "first"), ((0.0, 1.0), "second"), ((0.5, 0.5), "draw"), ((1.0, None), None), ((1.0, 1.0), None)],
)
def test_result_that_both_have_proven(proven, winner):
    found = verdict(Adjudication(proven=True), [], [], proven=proven)
    assert (found and found[0]) == winner
    assert verdict(Adjudication(), [], [], proven=proven) is None

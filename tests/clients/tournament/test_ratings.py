"""Ratings against hand-worked cases, and against a likelihood that is written and maximised independently."""

import math
from itertools import pairwise

import numpy as np
import pytest

from plyd.clients.tournament.ratings import Score, rate

ELO = 400 / math.log(10)
THREE = {(0, 1): Score(7, 3, 4), (1, 2): Score(6, 5, 2), (0, 2): Score(5, 1, 3)}


def test_two_players_have_the_closed_form():
    """Davidson: t = ln(w/l), v = d / sqrt(w l); on our scale times 2 / (2 + v)."""
    found = rate({(0, 1): Score(10, 85, 5)}, 2)
    draw = 85 / math.sqrt(50)
    assert found.draw == pytest.approx(draw)
    assert found.elo[0] - found.elo[1] == pytest.approx(ELO * math.log(2) * 2 / (2 + draw))
    assert found.elo[0] == pytest.approx(-found.elo[1])
    assert not found.is_bounded


def test_two_players_without_draws_are_the_logistic_curve_of_a_match():
    found = rate({(0, 1): Score(30, 0, 10)}, 2)
    assert found.elo[0] - found.elo[1] == pytest.approx(400 * math.log10(3))
    variance = ELO**2 * (1 / 30 + 1 / 10)  # of ln(w/l)
    assert found.error(0) == pytest.approx(1.959964 * math.sqrt(variance) / 2)  # each is half the difference from 0
    z = 400 * math.log10(3) / math.sqrt(variance)
    assert found.superiority(0, 1) == pytest.approx((1 + math.erf(z / math.sqrt(2))) / 2)
    assert found.superiority(1, 0) == pytest.approx(1 - found.superiority(0, 1))


def test_many_draws_hardly_change_the_expected_score():
    """A score of 52.5% is 17.4 Elo on the logistic curve, with or without draws."""
    drawn = rate({(0, 1): Score(10, 85, 5)}, 2)
    assert drawn.elo[0] - drawn.elo[1] == pytest.approx(400 * math.log10(0.525 / 0.475), rel=0.02)


def log_likelihood(parameters, scores):
    """The same model, written as Davidson writes it: pi = e^t, draws nu sqrt(pi pi)."""
    *strengths, nu = parameters
    total = 0.0
    for (i, j), score in scores.items():
        one, two = math.exp(strengths[i]), math.exp(strengths[j])
        between = nu * math.sqrt(one * two)
        chances = [one / (one + two + between), between / (one + two + between), two / (one + two + between)]
        total += sum(n * math.log(p) for n, p in zip((score.wins, score.draws, score.losses), chances, strict=True))
    return total


def maximum_by_search(scores):
    """The maximum with the first strength at 0: each parameter in turn, by steps that shrink."""
    at, step = [0.0, 0.0, 0.0, 1.0], 0.5
    while step > 1e-9:
        before = log_likelihood(at, scores)
        for k in (1, 2, 3):
            tried = [[*at[:k], at[k] + move, *at[k + 1 :]] for move in (-step, 0.0, step)]
            at = max((one for one in tried if one[3] > 0), key=lambda one: log_likelihood(one, scores))
        if log_likelihood(at, scores) <= before:
            step /= 2
    return at


def hessian(scores, at, width=1e-4):
    """Second derivatives in the strengths after the first and in ln v, by differences."""

    def value(*moves):
        moved = [at[0], at[1] + moves[0], at[2] + moves[1], at[3] * math.exp(moves[2])]
        return log_likelihood(moved, scores)

    matrix = np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            corners = 0.0
            for sign_a in (1, -1):
                for sign_b in (1, -1):
                    moves = np.zeros(3)
                    moves[a] += sign_a * width
                    moves[b] += sign_b * width
                    corners += sign_a * sign_b * value(*moves)
            matrix[a, b] = corners / (4 * width**2)
    return matrix


def test_three_players_with_draws_are_at_the_maximum_that_a_search_finds():
    found, at = rate(THREE, 3), maximum_by_search(THREE)
    unit = ELO * 2 / (2 + at[3])
    assert found.draw == pytest.approx(at[3], rel=1e-5)
    for one, other in pairwise(range(3)):
        assert found.elo[one] - found.elo[other] == pytest.approx(unit * (at[one] - at[other]), rel=1e-4)
    assert sum(found.elo) == pytest.approx(0, abs=1e-9)


def test_error_bars_are_those_of_the_inverse_hessian():
    found, at = rate(THREE, 3), maximum_by_search(THREE)
    unit = ELO * 2 / (2 + at[3])
    covariance = np.linalg.inv(-hessian(THREE, at))  # of t1 - t0, t2 - t0, ln v
    c = np.array(found.covariance)
    for k in (1, 2):
        difference = c[k, k] + c[0, 0] - 2 * c[0, k]
        assert difference == pytest.approx(unit**2 * covariance[k - 1, k - 1], rel=1e-4)
    centred = np.array([[-1, -1], [2, -1], [-1, 2]]) / 3  # t - mean, from t1 - t0 and t2 - t0
    expected = unit**2 * centred @ covariance[:2, :2] @ centred.T
    assert c == pytest.approx(expected, rel=1e-4)
    assert found.error(1) == pytest.approx(1.959964 * math.sqrt(expected[1, 1]), rel=1e-4)


def test_player_who_won_all_games_gets_half_a_win_against_it():
    found = rate({(0, 1): Score(10, 0, 0)}, 2)
    assert found.is_bounded
    assert found.elo[0] - found.elo[1] == pytest.approx(400 * math.log10(10.5 / 0.5))
    assert rate({(0, 1): Score(3, 4, 0)}, 2).is_bounded  # draws alone do not bound it


def test_more_points_in_a_round_robin_are_a_higher_rating():
    scores = {(0, 1): Score(2, 2, 0), (0, 2): Score(1, 0, 3), (1, 2): Score(3, 1, 0), (0, 3): Score(0, 4, 0)}
    scores |= {(1, 3): Score(1, 1, 2), (2, 3): Score(2, 0, 2)}
    points = [0.0] * 4
    for (i, j), score in scores.items():
        points[i] += score.points
        points[j] += score.games - score.points
    elo = rate(scores, 4).elo
    assert sorted(range(4), key=lambda k: points[k]) == sorted(range(4), key=lambda k: elo[k])


@pytest.mark.parametrize(
    "scores",
    [{}, {(0, 1): Score(3, 0, 1)}, {(0, 1): Score(0, 4, 0), (1, 2): Score(0, 1, 0)}],
    ids=["no games", "a player without games", "draws only"],
)
def test_games_that_do_not_compare_all_players_give_no_ratings(scores):
    assert rate(scores, 3) is None

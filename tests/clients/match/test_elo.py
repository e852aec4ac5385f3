"""Elo, its error bars and the sequential test, against numbers worked out by hand and numbers fishtest published."""

import math
from random import Random

import pytest

from plyd.clients.match.elo import SCORES, SequentialTest, elo_of, maximum_likelihood, score_of, strength

PUBLISHED = [13, 37, 50, 25, 3]  # 256 games of a test at montytest.muzhen.org, which runs fishtest's code


@pytest.mark.parametrize(("elo", "score"), [(0, 0.5), (400, 10 / 11), (-400, 1 / 11), (190.848502, 0.75)])
def test_elo_and_score_are_two_words_for_one_thing(elo, score):
    assert score_of(elo) == pytest.approx(score)
    assert elo_of(score) == pytest.approx(elo)


def test_all_and_nothing_are_without_end():
    assert (elo_of(0), elo_of(1)) == (-math.inf, math.inf)


def test_no_pairs_say_nothing():
    assert strength([0] * 5) is None


def test_error_bars_by_hand():
    strong = strength([0, 0, 5, 0, 5])  # mean 3/4, variance 1/16, deviation of the mean 1/4 / sqrt(10) = 0.0790569
    assert strong.elo == pytest.approx(190.848502)
    assert strong.low == pytest.approx(elo_of(0.75 - 1.959964 * 0.0790569), abs=1e-3)  # a score of 0.595051
    assert strong.low == pytest.approx(66.86, abs=0.01)
    assert strong.high == pytest.approx(391.47, abs=0.01)  # a score of 0.904949
    assert strong.superiority == pytest.approx(0.999217, abs=1e-6)  # sqrt(10) deviations from a half


def test_elo_that_fishtest_published():
    strong = strength(PUBLISHED)
    assert strong.elo == pytest.approx(-43.6578, abs=1e-4)
    assert strong.superiority == pytest.approx(0.0016, abs=1e-4)


def test_pairs_count_not_games():
    """Mostly openings that whoever moves first wins, or only luck: ten games won of twenty, either way."""
    won_by_opening, luck = strength([1, 0, 8, 0, 1]), strength([5, 0, 0, 0, 5])
    assert won_by_opening.elo == luck.elo == 0
    assert won_by_opening.high < luck.high / 2


@pytest.mark.parametrize(
    ("pairs", "low", "high", "superiority"),
    [
        ([0, 0, 30, 0, 0], elo_of(0.45), elo_of(0.55), 0.5),
        ([0, 0, 0, 0, 30], elo_of(0.9), math.inf, 1 - 0.5**30),
        ([3, 0, 0, 0, 0], -math.inf, math.inf, 0.125),
    ],
)
def test_pairs_all_alike_are_not_certainty(pairs, low, high, superiority):
    strong = strength(pairs)
    assert (strong.low, strong.high) == (pytest.approx(low), pytest.approx(high))
    assert strong.superiority == pytest.approx(superiority)


def test_mirrored_match_has_mirrored_strength():
    one, other = strength(PUBLISHED), strength(PUBLISHED[::-1])
    assert (one.elo, one.low, one.high) == pytest.approx((-other.elo, -other.high, -other.low))
    assert one.superiority == pytest.approx(1 - other.superiority)


# The sequential test


def test_bounds():
    test = SequentialTest(0, 10)
    assert (test.lower, test.upper) == (pytest.approx(-math.log(19)), pytest.approx(math.log(19)))
    assert SequentialTest(0, 10, alpha=0.01, beta=0.1).upper == pytest.approx(math.log(0.9 / 0.01))
    assert [test.accepted(ratio) for ratio in (-2.95, -2.94, 0, 2.94, 2.95)] == ["H0", "", "", "", "H1"]


def test_ratio_by_hand():
    """Only pairs of 0 and of 2 points: the likeliest law with mean m gives them 1 - m and m."""
    test = SequentialTest(0, 190.848502)  # scores 1/2 and 3/4
    expected = 2 * math.log(0.25 / 0.5) + 6 * math.log(0.75 / 0.5)
    assert test.ratio([2, 0, 0, 0, 6]) == pytest.approx(expected, abs=0.01)  # a little for what was never seen
    assert test.ratio([0] * 5) == 0


def test_ratio_that_fishtest_published():
    assert SequentialTest(0, 2.716).ratio(PUBLISHED) == pytest.approx(-0.53772, abs=2e-4)


@pytest.mark.parametrize("mean", [0.1, 0.43, 0.5, 0.9])
def test_likeliest_law_is_a_law_with_that_mean(mean):
    law = maximum_likelihood([number / 128 for number in PUBLISHED], mean)
    assert min(law) > 0
    assert sum(law) == pytest.approx(1)
    assert sum(p * score for p, score in zip(law, SCORES, strict=True)) == pytest.approx(mean)


def test_likeliest_law_is_the_likeliest():
    seen, mean = [number / 128 for number in PUBLISHED], 0.5
    law, random = maximum_likelihood(seen, mean), Random(1)

    def likelihood(law):
        return sum(p * math.log(q) for p, q in zip(seen, law, strict=True))

    for _ in range(200):  # a step that keeps sum and mean: some of two results for the one halfway, or back
        low, high = random.choice([(0, 2), (1, 3), (2, 4), (0, 4)])
        step, other = random.uniform(-0.01, 0.01), list(law)
        other[low] += step
        other[high] += step
        other[(low + high) // 2] -= 2 * step
        assert likelihood(other) <= likelihood(law)


def decide(test, elo, random):
    """What the test says of sides so far apart, where openings favour one side or the other; after how many pairs."""
    pairs = [0] * 5
    for count in range(1, 3000):
        bias = random.choice([-0.2, 0.0, 0.2])
        points = 0
        for sign in (1, -1):
            win = score_of(elo) + sign * bias - 0.1  # a fifth of the games is drawn
            points += random.choices([2, 1, 0], [win, 0.2, 0.8 - win])[0]
        pairs[points] += 1
        if accepted := test.accepted(test.ratio(pairs)):
            return accepted, count
    raise AssertionError("no decision")


@pytest.mark.parametrize(
    ("elo", "truth"),
    [
        pytest.param(-30, "H0", marks=pytest.mark.slow),
        (0, "H0"),
        (80, "H1"),
        pytest.param(120, "H1", marks=pytest.mark.slow),
    ],
)
def test_simulated_matches_are_decided_rightly(elo, truth):
    random = Random(elo)
    decisions = [decide(SequentialTest(0, 80), elo, random) for _ in range(60)]
    assert sum(accepted == truth for accepted, _ in decisions) >= 52  # 57 expected where the error is its largest
    assert sum(count for _, count in decisions) / 60 < 60

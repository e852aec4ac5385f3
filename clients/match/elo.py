"""Statistics of a match: Elo with a confidence interval, likelihood of superiority, and a sequential test (SPRT).

Each opening is played twice with sides swapped, and the two games of such a pair are not independent: an opening that
is won for the side that moves first always gives 1-0 and 0-1. Pairs are therefore counted instead of games, by the
points of the first side in both games: 0, 1/2, 1, 3/2 or 2, the five counts of a "pentanomial". The variance is that of
the pairs; the variance of single games would overestimate the uncertainty.

A score here is a share of the points, 0 to 1, and Elo is logistic: `score = 1 / (1 + 10^(-elo/400))`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # possible scores of a pair
TWO_SIDED_95 = 1.959964  # standard deviations
RULE_OF_THREE = 3.0  # an event that never occurred in n trials has a probability below 3/n (95% confidence)
PSEUDO_COUNT = 1e-3  # replaces a count of 0, which has no logarithm
HALVINGS = 80


@dataclass(frozen=True, slots=True)
class Strength:
    """The Elo difference of the first side, its 95% confidence interval, and the likelihood of superiority (LOS)."""

    elo: float
    low: float
    high: float
    superiority: float


def score_of(elo: float) -> float:
    """The expected score at an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """The Elo difference for a score; infinite at 0 and 1."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else 400 * math.log10(score / (1 - score))


def strength(pairs: Sequence[int]) -> Strength | None:
    """The strength that these counts of pairs show, by the normal approximation; None without pairs.

    If all pairs have the same score, their variance is 0, so the interval follows from the rule of three.
    """
    if not (count := sum(pairs)):
        return None
    mean = sum(number * score for number, score in zip(pairs, SCORES, strict=True)) / count
    variance = sum(number * (score - mean) ** 2 for number, score in zip(pairs, SCORES, strict=True)) / count
    if variance:
        deviation = math.sqrt(variance / count)
        low, high = mean - TWO_SIDED_95 * deviation, mean + TWO_SIDED_95 * deviation
        superiority = (1 + math.erf((mean - 0.5) / deviation / math.sqrt(2))) / 2
    else:
        unseen = min(1.0, RULE_OF_THREE / count)
        low, high = mean - unseen * mean, mean + unseen * (1 - mean)
        superiority = 0.5 if mean == 0.5 else 0.5**count if mean < 0.5 else 1 - 0.5**count  # fair coin tosses
    return Strength(elo_of(mean), elo_of(low), elo_of(high), superiority)


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Is the first side stronger by `elo0` (H0) or by `elo1` (H1)? Wald's sequential probability ratio test.

    It is the generalised test (GSPRT) of fishtest: the probabilities of the five results of a pair, which the
    hypotheses leave open, are their maximum-likelihood estimates under each hypothesis. `alpha` is the probability
    of accepting H1 although H0 is true, `beta` that of accepting H0 although H1 is true.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def lower(self) -> float:
        """The log-likelihood ratio at which H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The log-likelihood ratio at which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def ratio(self, pairs: Sequence[int]) -> float:
        """The log-likelihood ratio of H1 to H0, given these pairs."""
        if not any(pairs):
            return 0.0
        counts = [number or PSEUDO_COUNT for number in pairs]
        seen = [number / sum(counts) for number in counts]
        under0, under1 = (maximum_likelihood(seen, score_of(elo)) for elo in (self.elo0, self.elo1))
        return sum(number * math.log(p1 / p0) for number, p0, p1 in zip(counts, under0, under1, strict=True))

    def accepted(self, ratio: float) -> str:
        """The hypothesis accepted at this ratio: "H0", "H1", or an empty string."""
        return "H0" if ratio <= self.lower else "H1" if ratio >= self.upper else ""


def maximum_likelihood(seen: Sequence[float], mean: float) -> list[float]:
    """Maximum-likelihood probabilities with a given mean for the observed shares, none of which may be 0.

    With a Lagrange multiplier t they are `seen / (1 + t * (score - mean))`. The constraint on the mean determines t:
    its left side decreases from plus to minus infinity between the two poles, so bisection finds the root.
    """
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(HALVINGS):
        t = (low + high) / 2
        slack = sum(p * (a - mean) / (1 + t * (a - mean)) for p, a in zip(seen, SCORES, strict=True))
        low, high = (t, high) if slack > 0 else (low, t)
    return [p / (1 + t * (a - mean)) for p, a in zip(seen, SCORES, strict=True)]

"""What a match says about strength: Elo with error bars, likelihood of superiority, and a sequential test.

Each opening is played twice with sides changed, and the two games of such a pair are not independent: an opening that
is won for whoever moves first gives 1-0 and 0-1, always. So pairs are counted, not games, by what the first side scored
in both together: 0, 1/2, 1, 3/2 or 2 points, the five counts of a "pentanomial". Their spread is what the pairs show;
that of single games would call the same match less certain than it is.

A score here is a share of the points, 0 to 1, and Elo is logistic: `score = 1 / (1 + 10^(-elo/400))`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a pair
TWO_SIDED_95 = 1.959964  # standard deviations
ALIKE_95 = 3.0  # "rule of three": what never happened in n tries has, with 95%, a probability below 3/n
ALMOST_NOTHING = 1e-3  # stands for a count of 0, whose logarithm is no number
HALVINGS = 80


@dataclass(frozen=True, slots=True)
class Strength:
    """How much stronger the first side is, in Elo, between two ends that hold with 95%; and how surely it is (LOS)."""

    elo: float
    low: float
    high: float
    superiority: float


def score_of(elo: float) -> float:
    """The share of points that a side so much stronger scores."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """How much stronger a side is that scores so; without end at 0 and 1."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else 400 * math.log10(score / (1 - score))


def strength(pairs: Sequence[int]) -> Strength | None:
    """What the counts of pairs say, by the normal approximation; None if there are none.

    Pairs that were all alike have no spread to judge by, so what was never seen may have happened to 3 in n.
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
        unseen = min(1.0, ALIKE_95 / count)
        low, high = mean - unseen * mean, mean + unseen * (1 - mean)
        superiority = 0.5 if mean == 0.5 else 0.5**count if mean < 0.5 else 1 - 0.5**count  # as coins fall
    return Strength(elo_of(mean), elo_of(low), elo_of(high), superiority)


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Is the first side stronger by `elo0` (H0) or by `elo1` (H1)? Wald's test, which ends as soon as that is clear.

    It is generalised, as fishtest's is: what the hypotheses leave open, how likely each of a pair's five results is,
    takes the values under which the pairs seen are likeliest. H1 is accepted though H0 is true with a probability of
    about `alpha`, H0 though H1 is true with one of about `beta`.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def lower(self) -> float:
        """The ratio at which H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The ratio at which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def ratio(self, pairs: Sequence[int]) -> float:
        """The logarithm of how much likelier H1 makes these pairs than H0."""
        if not any(pairs):
            return 0.0
        counts = [number or ALMOST_NOTHING for number in pairs]
        seen = [number / sum(counts) for number in counts]
        under0, under1 = (likeliest(seen, score_of(elo)) for elo in (self.elo0, self.elo1))
        return sum(number * math.log(p1 / p0) for number, p0, p1 in zip(counts, under0, under1, strict=True))

    def accepted(self, ratio: float) -> str:
        """The hypothesis that a ratio decides for, "H0" or "H1", or nothing."""
        return "H0" if ratio <= self.lower else "H1" if ratio >= self.upper else ""


def likeliest(seen: Sequence[float], mean: float) -> list[float]:
    """The probabilities with a given mean that explain best what was seen, of which no share may be 0.

    By Lagrange they are `seen / (1 + t * (score - mean))`, for the one t that makes the mean right. The left side of
    the equation for t falls from plus to minus infinity between the two values where a probability would end.
    """
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(HALVINGS):
        t = (low + high) / 2
        slack = sum(p * (a - mean) / (1 + t * (a - mean)) for p, a in zip(seen, SCORES, strict=True))
        low, high = (t, high) if slack > 0 else (low, t)
    return [p / (1 + t * (a - mean)) for p, a in zip(seen, SCORES, strict=True)]

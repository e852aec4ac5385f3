"""Ratings of many players by maximum likelihood: Bradley-Terry with draws, in Davidson's form.

Player i has a strength t_i. With d = t_i - t_j and Z = e^(d/2) + e^(-d/2) + v, the results of a game have these
probabilities; v, the weight of a draw, is estimated together with the strengths:

    i wins  e^(d/2) / Z        draw  v / Z        j wins  e^(-d/2) / Z

This is an exponential family. The sums of points and of draws are its sufficient statistics, so a draw counts as half a
win, and the log-likelihood is concave, so Newton's method finds its maximum. (The other usual form, Rao-Kupper, lacks
both.) The inverse of the negative Hessian is the covariance of the estimates, from which error bars and the likelihood
of superiority follow.

Elo: strengths times 400 / ln 10, and times 2 / (2 + v), which makes the expected score of nearly equal players the one
of the logistic curve of `plyd match`. Without that factor, draws would stretch the scale: two players with 10 wins, 5
losses and 85 draws would be 120 Elo apart instead of 17. The mean of all players is 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TWO_SIDED_95 = 1.959964  # standard deviations
MOST_STEPS = 200
CONVERGED = 1e-10  # largest change of a parameter in the last step
LARGEST = 12.0  # difference of strengths from which a maximum counts as infinite: e^12 wins to one loss
PSEUDO_WINS = 0.5  # for each side of each pair that met, where there is no finite maximum
SINGULAR = 1e-12

Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class Score:
    """The games between two players, seen from the first of them."""

    wins: float = 0
    draws: float = 0
    losses: float = 0

    @property
    def games(self) -> float:
        """Their number."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Points of the first player."""
        return self.wins + self.draws / 2


Scores = Mapping[tuple[int, int], Score]
"""The score of each pair i < j that met; players are numbered from 0."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings in Elo, their covariance, and how they were found."""

    elo: list[float]
    covariance: Matrix  # of the Elo
    draw: float  # v, the weight of a draw
    is_bounded: bool  # there is no finite maximum: PSEUDO_WINS were added

    def error(self, player: int) -> float:
        """Half the width of a rating's 95% confidence interval, relative to the mean of all players."""
        return TWO_SIDED_95 * math.sqrt(max(0.0, self.covariance[player][player]))

    def superiority(self, i: int, j: int) -> float:
        """The likelihood that player i is stronger than player j (LOS)."""
        c = self.covariance
        variance = c[i][i] + c[j][j] - 2 * c[i][j]
        gap = self.elo[i] - self.elo[j]
        if variance <= 0:
            return 0.5 if gap == 0 else float(gap > 0)
        return (1 + math.erf(gap / math.sqrt(2 * variance))) / 2


def rate(scores: Scores, players: int) -> Ratings | None:
    """The ratings of players 0 to `players` - 1; None as long as the games do not compare all of them.

    That is: some players are not connected by games, or nobody has won a game.
    """
    if not is_connected(scores, players) or not any(score.wins or score.losses for score in scores.values()):
        return None
    found = maximise(scores, players)
    if found:
        return found
    padded = {
        pair: Score(score.wins + PSEUDO_WINS, score.draws, score.losses + PSEUDO_WINS)
        for pair, score in scores.items()
        if score.games
    }
    return maximise(padded, players, is_bounded=True)


def is_connected(scores: Scores, players: int) -> bool:
    """Whether games lead from each player to each other one."""
    reached, fresh = {0}, [0]
    while fresh:
        here = fresh.pop()
        for (i, j), score in scores.items():
            if score.games and here in (i, j) and (other := i + j - here) not in reached:
                reached.add(other)
                fresh.append(other)
    return len(reached) == players


def maximise(scores: Scores, players: int, *, is_bounded: bool = False) -> Ratings | None:
    """Ratings at the maximum of the likelihood, by Newton's method with halved steps; None if it is not finite."""
    has_draws = any(score.draws for score in scores.values())
    at = [0.0] * (players + has_draws)  # strengths, then the logarithm of v
    value = likelihood(scores, at, players)
    for _ in range(MOST_STEPS):
        gradient, information = derivatives(scores, at, players)
        inverse = inverted(information)
        if inverse is None:
            return None
        step = [sum(a * b for a, b in zip(row, gradient, strict=True)) for row in inverse]
        while True:
            new = [a + b for a, b in zip(at, step, strict=True)]
            after = likelihood(scores, new, players)
            if after >= value or max(map(abs, step)) < CONVERGED:
                break
            step = [a / 2 for a in step]
        at, value = new, after
        if max(at[:players]) - min(at[:players]) > LARGEST:
            return None
        if max(map(abs, step)) < CONVERGED:
            return ratings_at(at, players, inverse, is_bounded=is_bounded)
    return None


def ratings_at(at: Sequence[float], players: int, inverse: Matrix, *, is_bounded: bool) -> Ratings:
    """The ratings in Elo of a maximum, given the inverse of the information there."""
    draw = math.exp(at[players]) if len(at) > players else 0.0
    unit = 400 / math.log(10) * 2 / (2 + draw)
    mean = sum(at[:players]) / players
    gauge = 1 / players**2  # what the mean's own term adds to the inverse; see `derivatives`
    covariance = [[unit**2 * (inverse[i][j] - gauge) for j in range(players)] for i in range(players)]
    return Ratings([unit * (t - mean) for t in at[:players]], covariance, draw, is_bounded)


def probabilities(gap: float, draw: float) -> tuple[float, float, float]:
    """Probabilities of a win, a draw and a loss at a difference of strengths."""
    win, loss = math.exp(gap / 2), math.exp(-gap / 2)
    total = win + loss + draw
    return win / total, draw / total, loss / total


def likelihood(scores: Scores, at: Sequence[float], players: int) -> float:
    """The log-likelihood of the scores, less the mean's own term; minus infinity beyond the range of numbers."""
    draw = math.exp(min(at[players], 300.0)) if len(at) > players else 0.0
    total = -(sum(at[:players]) ** 2) / 2
    for (i, j), score in scores.items():
        gap = at[i] - at[j]
        if abs(gap) > 600:
            return -math.inf
        chances = probabilities(gap, draw)
        for number, chance in zip((score.wins, score.draws, score.losses), chances, strict=True):
            if number:
                total += number * math.log(chance) if chance > 0 else -math.inf
    return total


def derivatives(scores: Scores, at: Sequence[float], players: int) -> tuple[list[float], Matrix]:
    """The gradient of the log-likelihood, and the information: its Hessian with the sign changed.

    Only differences of strengths matter, so the information would be singular; -(sum of strengths)^2 / 2 is added to
    the log-likelihood, which keeps the mean at 0 and changes nothing else.
    """
    size = len(at)
    draw = math.exp(at[players]) if size > players else 0.0
    mean = sum(at[:players])
    gradient = [-mean if k < players else 0.0 for k in range(size)]
    information = [[1.0 if k < players and m < players else 0.0 for m in range(size)] for k in range(size)]
    for (i, j), score in scores.items():
        win, drawn, loss = probabilities(at[i] - at[j], draw)
        lead = (win - loss) / 2  # expectation of (wins - losses) / 2 in a game
        slope = (score.wins - score.losses) / 2 - score.games * lead
        bend = score.games * ((win + loss) / 4 - lead**2)
        gradient[i] += slope
        gradient[j] -= slope
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            information[a][b] += sign * bend
        if size > players:
            gradient[players] += score.draws - score.games * drawn
            information[players][players] += score.games * drawn * (1 - drawn)
            for k, sign in ((i, -1), (j, 1)):
                information[k][players] += sign * score.games * lead * drawn
                information[players][k] += sign * score.games * lead * drawn
    return gradient, information


def inverted(matrix: Matrix) -> Matrix | None:
    """The inverse of a matrix by Gauss-Jordan elimination with pivots; None if it is singular."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(rows[i][k]))
        if abs(rows[pivot][k]) < SINGULAR:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k and (factor := rows[i][k]):
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]

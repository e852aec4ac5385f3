"""Scores of tile games: the player's expected future points."""

from plyd.engines.core.rules import Side
from plyd.engines.core.search import ExpectedPoints, Report, Score, StopReason


def points(value: float, *, exact: bool) -> Score:
    """A score in points, from the player's point of view."""
    return Score(Side.PLAYER_ONE, ExpectedPoints(value), exact)


GAME_OVER = Report(points(0.0, exact=True), stop_reason=StopReason.NO_SEARCH)

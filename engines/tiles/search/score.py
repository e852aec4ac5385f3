"""Scores of tile games: points that the player may still expect."""

from plyd.engines.core.rules import Side
from plyd.engines.core.search import ExpectedPoints, Report, Score, StopReason


def points(value: float, *, exact: bool) -> Score:
    """A score in points, which are always the player's."""
    return Score(Side.PLAYER_ONE, ExpectedPoints(value), exact)


GAME_OVER = Report(points(0.0, exact=True), stop_reason=StopReason.NO_SEARCH)

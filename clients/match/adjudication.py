"""Ends games whose result is clear before the rules end them."""

from collections.abc import Sequence
from dataclasses import dataclass

from plyd.clients.match.results import ADJUDICATED, DRAW, SIDES
from plyd.clients.match.seat import EngineSeat

DIGITS = 6  # of a score; so that 0.52 is 0.02 away from 0.5


@dataclass(frozen=True, slots=True)
class Adjudication:
    """When a game is ended. Scores are from 0 (lost) to 1 (won), each seen from the side that searched."""

    resign_score: float | None = None  # a side loses that has this score or less ...
    resign_moves: int = 3  # ... in this many of its moves in a row ...
    resign_both: bool = True  # ... if the other side agrees: one minus this score or more, as often
    draw_score: float | None = None  # the game is a draw if both sides are no further than this from 1/2 ...
    draw_moves: int = 8  # ... in this many moves each ...
    draw_after: int = 0  # ... and the game has this many plies
    max_plies: int | None = None  # the game is a draw when it has this many plies
    proven: bool = False  # the game has the result that both sides' last searches have proven

    def verdict(self, seats: Sequence[EngineSeat], plies: int) -> tuple[str, str] | None:
        """The winner and the reason if the game is ended now."""
        scores = [seat.stats.scores for seat in seats]
        if self.proven and (winner := proven_winner([seat.proven for seat in seats])):
            return winner, f"{ADJUDICATED}: both sides have proven it"
        if self.resign_score is not None:
            mirrored = round(1 - self.resign_score, DIGITS)
            for loser in (0, 1):
                is_lost = all(score <= self.resign_score for score in last(scores[loser], self.resign_moves))
                is_won = all(score >= mirrored for score in last(scores[1 - loser], self.resign_moves))
                if is_lost and (is_won or not self.resign_both):
                    return SIDES[1 - loser], f"{ADJUDICATED}: {SIDES[loser]} resigns"
        if self.draw_score is not None and plies >= self.draw_after:
            recent = last(scores[0], self.draw_moves) + last(scores[1], self.draw_moves)
            if all(round(abs(score - 0.5), DIGITS) <= self.draw_score for score in recent):
                return DRAW, f"{ADJUDICATED}: both sides expect a draw"
        if self.max_plies is not None and plies >= self.max_plies:
            return DRAW, f"{ADJUDICATED}: {plies} plies"
        return None


def last(scores: Sequence[float | None], count: int) -> list[float]:
    """The last `count` scores; a score that is missing is not a number, which satisfies no comparison."""
    found = [float("nan") if score is None else score for score in scores[-count:]]
    return found if len(found) == count else [float("nan")]


def proven_winner(proven: Sequence[float | None]) -> str:
    """The winner on which both proven scores agree: a side, a draw, or an empty text."""
    match tuple(proven):
        case (1.0, 0.0):
            return SIDES[0]
        case (0.0, 1.0):
            return SIDES[1]
        case (0.5, 0.5):
            return DRAW
    return ""

"""The second line of play where a search sees only one move: what happens if a four is not blocked."""

from plyd.engines.core.errors import BadMove
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Line, Proven, Result, Score
from plyd.engines.gomoku.rules import SIDES, GomokuRules, Position


def line_beside(rules: GomokuRules, position: Position, block: str) -> Line | None:
    """Another move, and the opponent's five where `block` would have prevented it; None if there is no such five."""
    other = next((move.text for move in rules.legal_moves(position) if move.text != block), None)
    if other is None:
        return None
    try:
        end = rules.outcome(rules.play(rules.play(position, other).position, block).position)
    except BadMove:
        return None
    lost = Outcome.PLAYER_TWO_WINS if position.mover == "x" else Outcome.PLAYER_ONE_WINS
    score = Score(SIDES[position.mover], Proven(Result.LOSS, 2), exact=True)
    return Line((other, block), score, depth=2) if end is lost else None

"""Reports of searches as a client returns them."""

import math
from collections.abc import Mapping, Sequence

from plyd.clients.library.view import View, Views, plural
from plyd.v1 import position_pb2, search_pb2

PLAYERS: tuple[int, ...] = (position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO)
SIDES: Mapping[int, str] = {
    position_pb2.SIDE_UNSPECIFIED: "nobody",
    position_pb2.SIDE_PLAYER_ONE: "player one",
    position_pb2.SIDE_PLAYER_TWO: "player two",
    position_pb2.SIDE_ENVIRONMENT: "environment",
}
WIN_PROBABILITIES: Mapping[int, float] = {
    search_pb2.RESULT_WIN: 1.0,
    search_pb2.RESULT_DRAW: 0.5,
    search_pb2.RESULT_LOSS: 0.0,
}  # of a proven result
MAX_PV_MOVES = 12


class Score(View[search_pb2.Score]):
    """What a position is worth, and to whom."""

    __slots__ = ()

    @property
    def point_of_view(self) -> position_pb2.Side.ValueType:
        """From whose point of view: more is better for this side."""
        return self.message.point_of_view

    @property
    def win_probability(self) -> float:
        """Probability of winning, a draw counting one half: 1.0, 0.5 or 0.0 for a proven result.

        NaN for a score that says nothing about winning: of a game for points, or none at all.
        """
        value = self.message.WhichOneof("value")
        if value == "proven":
            return WIN_PROBABILITIES.get(self.message.proven.result, math.nan)
        return self.message.win_probability if value == "win_probability" else math.nan

    @property
    def expected_points(self) -> float:
        """Points still to be gained, on average; 0 for a score of another kind."""
        return self.message.expected_points

    @property
    def proven(self) -> search_pb2.ProvenResult:
        """A result that is certain, and its distance; set if `HasField("proven")`."""
        return self.message.proven

    @property
    def unreachable(self) -> search_pb2.Unreachable:
        """Marks a position that cannot occur; set if `HasField("unreachable")`."""
        return self.message.unreachable

    @property
    def exact(self) -> bool:
        """Whether the value is exact, not an estimate."""
        return self.message.exact

    def short(self) -> str:
        """The score in a few characters, for a mark on a board: "61%", "W7", "1422"."""
        value, proven = self.message.WhichOneof("value"), self.message.proven
        if value == "proven":
            letter = {search_pb2.RESULT_WIN: "W", search_pb2.RESULT_DRAW: "="}.get(proven.result, "L")
            return f"{letter}{proven.plies}" if proven.HasField("plies") else letter
        if value == "win_probability":
            return f"{self.win_probability:.0%}"
        return f"{self.expected_points:.0f}" if value == "expected_points" else ""

    def __str__(self) -> str:
        return score_text(self.message, SIDES)


class Line(View[search_pb2.Line]):
    """A line of play from the position searched."""

    __slots__ = ()

    @property
    def moves(self) -> Sequence[str]:
        """The moves, first one first."""
        return self.message.moves

    @property
    def score(self) -> Score:
        """Worth of the position if this line's first move is made."""
        return Score(self.message.score)

    @property
    def visits(self) -> int:
        """Visits of the first move in a tree search; 0 in searches that count none."""
        return self.message.visits

    @property
    def depth(self) -> int:
        """Depth to which this line was searched, in plies; 0 where depth means nothing."""
        return self.message.depth

    @property
    def probability(self) -> float:
        """Probability that chance makes the first move; 0 for a player's move."""
        return self.message.probability

    @property
    def prior(self) -> float:
        """Probability that a policy network gives the first move before any search; 0 without a network."""
        return self.message.prior

    def __str__(self) -> str:
        return f"{line_text(self.moves)}: {self.score}"


class Report(View[search_pb2.Report]):
    """What a search knows. The last report of a search, and only the last, is final."""

    __slots__ = ()

    @property
    def final(self) -> bool:
        """Whether this is the last report of its search."""
        return self.message.final

    @property
    def move(self) -> str:
        """The best move; "" if there is none: the game is over, the position cannot occur, or chance moves here."""
        return self.message.move

    @property
    def score(self) -> Score:
        """Worth of the position."""
        return Score(self.message.score)

    @property
    def lines(self) -> Sequence[Line]:
        """Lines of play, best first, at most as many as were asked for."""
        return Views(Line, self.message.lines)

    @property
    def nodes(self) -> int:
        """New nodes visited so far by this search."""
        return self.message.nodes

    @property
    def kept_nodes(self) -> int:
        """Nodes that this search kept from earlier moves of the game."""
        return self.message.kept_nodes

    @property
    def depth(self) -> int:
        """Depth completed so far, in plies; 0 where depth means nothing."""
        return self.message.depth

    @property
    def elapsed_us(self) -> int:
        """Time since the search began, in microseconds, without the wait for a slot."""
        return self.message.elapsed_us

    @property
    def waited_us(self) -> int:
        """Time spent waiting for a search slot, in microseconds."""
        return self.message.waited_us

    @property
    def stop_reason(self) -> search_pb2.StopReason.ValueType:
        """Why the search ended: STOP_REASON_TIME, ...; set in the final report only."""
        return self.message.stop_reason

    @property
    def memory_lost(self) -> bool:
        """Whether the game's memory went to another search since the last one, so that this one began without it."""
        return self.message.memory_lost

    @property
    def known(self) -> bool:
        """Whether the daemon knew the answer, so that nothing was searched now."""
        return self.message.known

    def __str__(self) -> str:
        words = [f"{self.move}: {self.score}" if self.move else str(self.score)]
        if self.depth:
            words.append(f"depth {self.depth}")
        words += [plural(self.nodes, "node"), f"{self.elapsed_us / 1e6:.3g} s"]
        if self.message.lines and len(self.message.lines[0].moves) > 1:
            words.append(f"line {line_text(self.message.lines[0].moves)}")
        return ", ".join(words if self.final else [*words, "..."])


def score_text(score: search_pb2.Score | Score, names: Mapping[int, str]) -> str:
    """A score as text, with the names of the players: "61.5% for x", "o wins in 7 plies", "a draw"."""
    value = score.WhichOneof("value")
    if value == "proven":
        result, side = score.proven.result, score.point_of_view
        plies = f" in {plural(score.proven.plies, 'ply', 'plies')}" if score.proven.HasField("plies") else ""
        if result == search_pb2.RESULT_DRAW:
            return f"a draw{plies}"
        winner = side if result == search_pb2.RESULT_WIN else other(side)
        return f"{names.get(winner, SIDES[winner])} wins{plies}"
    if value == "win_probability":
        return f"{score.win_probability:.1%} for {names.get(score.point_of_view, SIDES[score.point_of_view])}"
    if value == "unreachable":
        return "cannot occur"
    return f"{score.expected_points:,.1f} points" if value == "expected_points" else "no score"


def line_text(moves: Sequence[str]) -> str:
    """The first moves of a line."""
    return f"{' '.join(moves[:MAX_PV_MOVES])}{' ...' if len(moves) > MAX_PV_MOVES else ''}"


def other(side: int) -> int:
    """The opponent."""
    return next(each for each in PLAYERS if each != side)

"""One side in one game: its stream, its clock, and the moves that its daemon answers."""

import time
from collections.abc import Sequence

from plyd.clients.library.client import Game
from plyd.clients.library.errors import Cancelled, Overloaded, PlydError, Unavailable
from plyd.clients.library.report import Report
from plyd.clients.library.requests import ANSWER_SECONDS
from plyd.clients.match.connect import ConnectedSide, search_limits
from plyd.clients.match.openings import Opening
from plyd.clients.match.results import SearchStats
from plyd.clients.match.side import BadMatch
from plyd.v1 import search_pb2

TRIES = 3  # per move, when the daemon becomes unavailable
BUSY_SECONDS = 60.0  # a daemon may have no free slot for this long
UNTIMED_MOVE_SECONDS = 600.0  # for a move without a time limit
RETRY_SECONDS = 0.05  # before a daemon that was unavailable or had no free slot is asked again
GRACE_SECONDS = 0.05  # a move may exceed the clock by this much, for network delay
PROVEN = {search_pb2.RESULT_WIN: 1.0, search_pb2.RESULT_DRAW: 0.5, search_pb2.RESULT_LOSS: 0.0}


class Forfeit(Exception):
    """A side loses a game for a reason other than the rules of the game."""


class EngineSeat:
    """One side in one game: its stream, its clock and its search statistics. A lost stream is opened again."""

    def __init__(self, connected: ConnectedSide, opening: Opening) -> None:
        self._side = connected.side
        self._client = connected.client
        self._opening = opening
        self._game: Game | None = None
        self._sent = 0  # moves that were sent to the stream
        self._due: float | None = None  # deadline for the current move
        self._limits = self._side.limits
        self._remaining = self._limits.clock[0] if self._limits.clock else None
        self._forfeits_if_gone = connected.forfeits_if_gone
        self.stats = SearchStats()
        self.proven: float | None = None  # score of the last search if it is a proven result

    def close(self) -> None:
        """Close the stream, which cancels a running search."""
        game, self._game = self._game, None
        if game:
            game.close()

    def give_up_if_overdue(self) -> None:
        """Close the stream if its search is overdue. Called by the watching thread."""
        due, game = self._due, self._game
        if game and due and time.monotonic() > due:
            game.close()

    def move(self, moves: Sequence[str]) -> str:
        """The side's move after these moves; raises Forfeit if it fails to give one, BadMatch if its daemon is gone."""
        limit = self._limits.seconds if self._remaining is None else self._remaining
        max_seconds = UNTIMED_MOVE_SECONDS if limit is None else limit + ANSWER_SECONDS
        error: PlydError
        tries, busy_until = 0, time.monotonic() + BUSY_SECONDS
        while tries < TRIES:
            try:
                game = self._game or self._open(moves)
                self._due = time.monotonic() + max_seconds
                return self._ask(game, moves)
            except Overloaded as busy:  # rejected; the stream stays open
                error, tries = busy, tries + (time.monotonic() > busy_until)
                time.sleep(RETRY_SECONDS)
            except Unavailable as lost:
                error, tries = lost, tries + 1
                self.close()
                time.sleep(RETRY_SECONDS)
            except Cancelled:
                raise Forfeit(f"gives no answer within {max_seconds:g} s") from None
            except PlydError as refused:
                raise Forfeit(f"returns an error: {refused}") from None
            finally:
                self._due = None
        raise Forfeit(f"is unavailable {TRIES} times during one move: {error}")

    def _open(self, moves: Sequence[str]) -> Game:
        """A new stream with all moves so far. The client waits for a daemon that restarts, up to its retry time."""
        try:
            game = self._client.play(self._opening.start, [*self._opening.moves, *moves], options=self._side.options)
        except (Unavailable, Overloaded) as error:
            if self._forfeits_if_gone:
                raise Forfeit(f"is gone: {error}") from None
            raise BadMatch(f"{self._side.name}: {error}") from None
        self._game, self._sent = game, len(moves)
        return game

    def _ask(self, game: Game, moves: Sequence[str]) -> str:
        """The engine's move, after sending the moves that the stream does not have yet."""
        if new := moves[self._sent :]:
            game.moves(*new)
            self._sent = len(moves)
        began = time.monotonic()
        report = game.best(**search_limits(self._limits, self._remaining))
        spent = time.monotonic() - began
        if report.stop_reason == search_pb2.STOP_REASON_STOPPED:
            raise Unavailable("the daemon shuts down")  # the search is incomplete; it is repeated after the restart
        self.stats.ms.append(round(spent * 1000, 1))
        self.stats.nodes.append(report.nodes)
        self.stats.scores.append(score_of(report))
        self.proven = self.stats.scores[-1] if report.score.WhichOneof("value") == "proven" else None
        self._charge(spent)
        if not report.move:
            raise Forfeit("has no move")
        return report.move

    def _charge(self, spent: float) -> None:
        """Deduct time from the clock; raises Forfeit if it has run out."""
        if self._limits.clock and self._remaining is not None:
            left = self._remaining - spent
            if left < -GRACE_SECONDS:
                raise Forfeit(f"is out of time: {spent:.3f} s for a move with {self._remaining:.3f} s left")
            self._remaining = max(0.0, left) + self._limits.clock[1]


def score_of(report: Report) -> float | None:
    """Score of the side to move from 0 (proven loss) to 1 (proven win); None if the engine gives none."""
    match report.score.WhichOneof("value"):
        case "win_probability":
            return min(0.999, max(0.001, round(report.score.win_probability, 3)))
        case "proven":
            return PROVEN.get(report.score.proven.result)
    return None

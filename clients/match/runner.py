"""Plays the games of a match, several at once: two streams a game, one a side, and a referee who knows the rules."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from plyd.clients.library.client import Game
from plyd.clients.library.errors import Cancelled, InvalidRequest, Overloaded, PlydError, Unavailable
from plyd.clients.library.requests import ANSWER_SECONDS, WINNERS, Report
from plyd.clients.match.connect import Player, Players, thinking
from plyd.clients.match.openings import ONGOING, PLAYERS, Fixture, Opening
from plyd.clients.match.results import BY_RULES, DRAW, SIDES, Played, Thoughts
from plyd.clients.match.side import BadMatch
from plyd.v1 import position_pb2, search_pb2

TRIES = 3  # to get one move out of a daemon that is lost again and again
BUSY_SECONDS = 60.0  # that a daemon may have no slot for one move
PATIENT_SECONDS = 600.0  # for a move without a limit of time
AGAIN_SECONDS = 0.05  # before a daemon that was lost, or had no slot, is asked again
GRACE_SECONDS = 0.05  # beyond the clock, for the way there and back
WATCH_SECONDS = 0.2  # between two looks at who is overdue
PROVEN = {search_pb2.RESULT_WIN: 1.0, search_pb2.RESULT_DRAW: 0.5, search_pb2.RESULT_LOSS: 0.0}


class Forfeit(Exception):
    """A side that has lost for another reason than the board."""


class Seat:
    """One side in one game: its stream, its clock, its thoughts. A stream that is lost is opened again."""

    def __init__(self, player: Player, opening: Opening) -> None:
        self._player = player
        self._opening = opening
        self._game: Game | None = None
        self._told = 0  # moves that the stream knows of
        self._due: float | None = None  # when the answer has to be there
        self._limits = player.contender.limits
        self._remaining = self._limits.clock[0] if self._limits.clock else None
        self.thoughts = Thoughts()

    def close(self) -> None:
        """End the stream; a search that runs is given up."""
        game, self._game = self._game, None
        if game:
            game.close()

    def give_up_if_overdue(self) -> None:
        """End the stream of a search that should have ended. Called by the thread that watches."""
        due, game = self._due, self._game
        if game and due and time.monotonic() > due:
            game.close()

    def move(self, moves: Sequence[str]) -> str:
        """The side's move after these; raises Forfeit if it has none to offer, BadMatch if nobody is there any more."""
        limit = self._limits.seconds if self._remaining is None else self._remaining
        patience = PATIENT_SECONDS if limit is None else limit + ANSWER_SECONDS
        error: PlydError
        tries, busy_until = 0, time.monotonic() + BUSY_SECONDS
        while tries < TRIES:
            try:
                game = self._game or self._open(moves)
                self._due = time.monotonic() + patience
                return self._ask(game, moves)
            except Overloaded as busy:  # refused, and the stream goes on
                error, tries = busy, tries + (time.monotonic() > busy_until)
                time.sleep(AGAIN_SECONDS)
            except Unavailable as lost:
                error, tries = lost, tries + 1
                self.close()
                time.sleep(AGAIN_SECONDS)
            except Cancelled:
                raise Forfeit(f"gives no answer within {patience:g} s") from None
            except PlydError as refused:
                raise Forfeit(f"answers with an error: {refused}") from None
            finally:
                self._due = None
        raise Forfeit(f"is lost {TRIES} times at one move: {error}")

    def _open(self, moves: Sequence[str]) -> Game:
        """A new stream, told of all moves. It waits for a daemon that restarts, but not for ever."""
        contender = self._player.contender
        try:
            game = self._player.client.play(self._opening.start, [*self._opening.moves, *moves], **contender.options)
        except (Unavailable, Overloaded) as error:
            raise BadMatch(f"{contender.name}: {error}") from None
        self._game, self._told = game, len(moves)
        return game

    def _ask(self, game: Game, moves: Sequence[str]) -> str:
        """The answer of the stream, once it knows of all moves."""
        if news := moves[self._told :]:
            game.moves(*news)
            self._told = len(moves)
        began = time.monotonic()
        report = game.best(**thinking(self._limits, self._remaining))
        spent = time.monotonic() - began
        if report.stop_reason == search_pb2.STOP_REASON_STOPPED:
            raise Unavailable("the daemon shuts down")  # with half an answer; the whole one comes from its successor
        self.thoughts.ms.append(round(spent * 1000, 1))
        self.thoughts.nodes.append(report.nodes)
        self.thoughts.scores.append(score_of(report))
        self._charge(spent)
        if not report.move:
            raise Forfeit("has no move")
        return report.move

    def _charge(self, spent: float) -> None:
        """Take time off the clock."""
        if self._limits.clock and self._remaining is not None:
            left = self._remaining - spent
            if left < -GRACE_SECONDS:
                raise Forfeit(f"is out of time: {spent:.3f} s for a move with {self._remaining:.3f} s left")
            self._remaining = max(0.0, left) + self._limits.clock[1]


def score_of(report: Report) -> float | None:
    """How well the mover stands, 0 lost to 1 won, both only if proven; None if the engine does not say."""
    match report.score.WhichOneof("value"):
        case "win_probability":
            return min(0.999, max(0.001, round(report.score.win_probability, 3)))
        case "proven":
            return PROVEN.get(report.score.proven.result)
    return None


class Contest:
    """Plays fixtures, so many at once; use it in a `with`, which gives up what is still being played."""

    def __init__(self, players: Players, fixtures: Iterable[Fixture], concurrency: int) -> None:
        self._players = (players.first, players.second)
        self._referee = players.referee
        self._fixtures = iter(fixtures)
        self._drawing = threading.Lock()
        self._done: queue.SimpleQueue[Played | BaseException | None] = queue.SimpleQueue()
        self._seats: set[Seat] = set()
        self._is_over = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(concurrency)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for client in {self._referee, *(player.client for player in self._players)}:
            client.close()
        for thread in self._threads:
            thread.join(ANSWER_SECONDS)

    def results(self) -> Iterator[Played]:
        """Games as they end. An error that is nobody's fault, such as a daemon that went for good, is raised."""
        working, look = len(self._threads), time.monotonic()
        while working:
            if (now := time.monotonic()) >= look:
                look = now + WATCH_SECONDS
                for seat in self._seats.copy():
                    seat.give_up_if_overdue()
            try:
                done = self._done.get(timeout=look - now)
            except queue.Empty:
                continue
            if isinstance(done, BaseException):
                raise done
            if done is None:
                working -= 1
            else:
                yield done

    def _work(self) -> None:
        try:
            while not self._is_over:
                with self._drawing:
                    fixture = next(self._fixtures, None)
                if fixture is None:
                    break
                self._done.put(self._play(fixture))
            self._done.put(None)
        except BaseException as error:  # told to whoever waits for results
            if not self._is_over:
                self._done.put(error)

    def _play(self, fixture: Fixture) -> Played:
        """One game from its opening to its end."""
        opening = fixture.opening
        seats = [Seat(player, opening) for player in self._players]
        self._seats.update(seats)
        beginner = fixture.game % 2
        sides = {int(side): beginner if side == opening.to_move else 1 - beginner for side in PLAYERS}
        moves: list[str] = []
        try:
            winner, reason = self._finish(seats, sides, opening, moves)
        finally:
            self._seats.difference_update(seats)
            for seat in seats:
                seat.close()
        first, second = (seat.thoughts for seat in seats)
        return Played(fixture.game, opening.start, list(opening.moves), moves, winner, reason, first, second)

    def _finish(
        self, seats: Sequence[Seat], sides: dict[int, int], opening: Opening, moves: list[str]
    ) -> tuple[str, str]:
        """Who wins, and why; the moves are added as they are made."""
        text, to_move, outcome = opening.text, opening.to_move, ONGOING
        while outcome == ONGOING:
            turn = sides[to_move]
            try:
                move = seats[turn].move(moves)
                state = self._judge(text, move)
            except Forfeit as forfeit:
                if self._is_over:
                    raise
                return SIDES[1 - turn], f"{SIDES[turn]} {forfeit}"
            moves.append(move)
            text, to_move, outcome = state.text, state.to_move, state.outcome
        return (SIDES[sides[WINNERS[outcome]]] if outcome in WINNERS else DRAW), BY_RULES

    def _judge(self, text: str, move: str) -> position_pb2.State:
        try:
            return self._referee.apply(text, move)
        except InvalidRequest as error:
            told = str(error).removeprefix("move 1: ")  # of those sent, not of the game
            raise Forfeit(f"plays {move!r}: {told}") from None

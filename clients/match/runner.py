"""Plays scheduled games concurrently. Each game has one stream per side; a referee applies the rules."""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

from plyd.clients.library.client import EngineClient
from plyd.clients.library.errors import InvalidRequest
from plyd.clients.library.requests import ANSWER_SECONDS, WINNERS
from plyd.clients.library.state import State
from plyd.clients.match.adjudication import Adjudication
from plyd.clients.match.connect import ConnectedSides
from plyd.clients.match.openings import ONGOING, PLAYERS, ScheduledGame
from plyd.clients.match.results import BY_RULES, DRAW, SIDES, PlayedGame
from plyd.clients.match.seat import EngineSeat, Forfeit

WATCH_SECONDS = 0.2  # between two checks for overdue searches
Watcher = Callable[[ScheduledGame, Sequence[str], State | None], None]
"""Told of each move: the game, its moves, and the state after them; None when the game has ended."""


class Runner(Protocol):
    """Plays scheduled games."""

    def results(self) -> Iterator[PlayedGame]:
        """Games as they end."""


MakeRunner = Callable[[Iterable[ScheduledGame]], AbstractContextManager[Runner]]


def watch_nothing(scheduled: ScheduledGame, moves: Sequence[str], state: State | None) -> None:
    """The watcher of a match that nobody watches."""


class MatchRunner:
    """Plays scheduled games, `concurrency` at a time; leaving the `with` block aborts unfinished games."""

    def __init__(
        self,
        connected: ConnectedSides,
        schedule: Iterable[ScheduledGame],
        concurrency: int,
        adjudication: Adjudication | None = None,
        watcher: Watcher = watch_nothing,
    ) -> None:
        self._clients = [connected.referee, *(side.client for side in connected.sides)]
        self._player = GamePlayer(connected.referee, adjudication, watcher)
        self._schedule = iter(schedule)
        self._schedule_lock = threading.Lock()
        self._done: queue.SimpleQueue[PlayedGame | BaseException | None] = queue.SimpleQueue()
        self._working = concurrency  # threads that are not done
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(concurrency)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._player.is_over = True
        if self._working:  # aborts the games in progress
            for client in self._clients:
                client.close()
        for thread in self._threads:
            thread.join(ANSWER_SECONDS)

    def results(self) -> Iterator[PlayedGame]:
        """Games as they end. Raises errors that are not a forfeit, such as a daemon that is gone."""
        look = time.monotonic()
        while self._working:
            if (now := time.monotonic()) >= look:
                look = now + WATCH_SECONDS
                self._player.give_up_overdue()
            try:
                done = self._done.get(timeout=look - now)
            except queue.Empty:
                continue
            if isinstance(done, BaseException):
                raise done
            if done is None:
                self._working -= 1
            else:
                yield done

    def _work(self) -> None:
        try:
            while not self._player.is_over:
                with self._schedule_lock:
                    scheduled = next(self._schedule, None)
                if scheduled is None:
                    break
                self._done.put(self._player.play(scheduled))
            self._done.put(None)
        except BaseException as error:  # results() raises it
            if not self._player.is_over:
                self._done.put(error)


class GamePlayer:
    """Plays games, each in the thread that asks for it, until it is stopped."""

    def __init__(
        self, referee: EngineClient, adjudication: Adjudication | None = None, watcher: Watcher = watch_nothing
    ) -> None:
        self._referee = referee
        self._adjudication = adjudication or Adjudication()
        self._watcher = watcher
        self._seats: set[EngineSeat] = set()
        self.is_over = False

    def give_up_overdue(self) -> None:
        """Ends searches that are overdue; to be called now and then by another thread."""
        for seat in self._seats.copy():
            seat.give_up_if_overdue()

    def play(self, scheduled: ScheduledGame) -> PlayedGame:
        """Play one game from its opening to its end."""
        opening = scheduled.opening
        seats = [EngineSeat(connected, opening) for connected in scheduled.sides]
        self._seats.update(seats)
        moves: list[str] = []
        try:
            winner, reason = self._finish(scheduled, seats, moves)
        finally:
            self._watcher(scheduled, moves, None)
            self._seats.difference_update(seats)
            for seat in seats:
                seat.close()
        first, second = (seat.stats for seat in seats)
        return PlayedGame(scheduled.game, opening.start, list(opening.moves), moves, winner, reason, first, second)

    def _finish(self, scheduled: ScheduledGame, seats: Sequence[EngineSeat], moves: list[str]) -> tuple[str, str]:
        """The winner and the reason; appends to `moves` as the game proceeds."""
        opening = scheduled.opening
        beginner = scheduled.game % 2
        sides = {int(side): beginner if side == opening.to_move else 1 - beginner for side in PLAYERS}
        text, to_move, outcome = opening.text, opening.to_move, ONGOING
        while outcome == ONGOING:
            turn = sides[to_move]
            try:
                move = seats[turn].move(moves)
                state = self._judge(text, move)
            except Forfeit as forfeit:
                if self.is_over:
                    raise
                return SIDES[1 - turn], f"{SIDES[turn]} {forfeit}"
            moves.append(move)
            self._watcher(scheduled, moves, state)
            text, to_move, outcome = state.text, state.to_move, state.outcome
            if outcome == ONGOING and (verdict := self._adjudication.verdict(seats, len(opening.moves) + len(moves))):
                return verdict
        return (SIDES[sides[WINNERS[outcome]]] if outcome in WINNERS else DRAW), BY_RULES

    def _judge(self, text: str, move: str) -> State:
        """The position after a move; raises Forfeit if the move is illegal."""
        try:
            return self._referee.apply(text, move)
        except InvalidRequest as error:
            reason = str(error).removeprefix("move 1: ")  # counts the moves sent here, not those of the game
            raise Forfeit(f"plays {move!r}: {reason}") from None

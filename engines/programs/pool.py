"""The processes of a program, a bounded number of them. Each keeps in mind the game that it played last."""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator

from plyd.engines.core.errors import Overloaded, ProgramFailed
from plyd.engines.core.intrinsics import Stop
from plyd.engines.programs.conversation import Conversation, PlayedGame
from plyd.engines.programs.process import EXIT_SECONDS

RETRY_SECONDS = 0.5  # retry hint: nobody knows when a program answers
WAIT_SECONDS = 0.01  # between looks at a stop flag


class ProgramPool:
    """Lends each search a process: the one that played its game so far, else one whose game is over, else a new one.

    When there are as many processes as allowed, the longest idle one changes its game.
    """

    def __init__(self, start: Callable[[], Conversation], most: int) -> None:
        self._start = start
        self._most = most
        self._idle: list[Conversation] = []  # the longest idle first
        self._busy = 0  # lent, or being started
        self._lent: set[Conversation] = set()
        self._changed = threading.Condition()
        self._is_closed = False

    @contextlib.contextmanager
    def lend(self, game: PlayedGame, owner: object, end: float, stop: Stop) -> Iterator[Conversation]:
        """A process for one search of `owner`. One that fails is killed, so that the next search gets a new one."""
        conversation = self._take(game, owner, end, stop)
        conversation.owner, conversation.caller_stop = weakref.ref(owner), stop
        try:
            yield conversation
        except BaseException:
            self._end(conversation)
            raise
        self._give_back(conversation)

    def warm_up(self) -> None:
        """Start a process, so that a program which cannot be used is noticed."""
        with self._changed:
            self._busy += 1
        self._give_back(self._started(None))

    def close(self) -> None:
        """End all processes: let idle ones end by themselves for a moment, then kill them; kill busy ones."""
        with self._changed:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for conversation in self._lent:
                conversation.process.kill_group()  # its search sees its end
        for conversation in idle:
            with contextlib.suppress(ProgramFailed):
                conversation.process.send(*([conversation.farewell] if conversation.farewell else []))
            conversation.process.close_input()
        end = time.monotonic() + EXIT_SECONDS
        for conversation in idle:
            conversation.process.wait_and_kill(end)

    def _take(self, game: PlayedGame, owner: object, end: float, stop: Stop) -> Conversation:
        with self._changed:
            while True:
                if conversation := self._choose(game, owner):
                    self._lent.add(conversation)
                    return conversation
                if self._busy + len(self._idle) < self._most:
                    self._busy += 1
                    break
                if time.monotonic() >= end or stop.is_set():
                    raise Overloaded(
                        f"all {self._most} processes of the program are busy; try again later",
                        RETRY_SECONDS,
                        "program",
                    )
                self._changed.wait(WAIT_SECONDS)
        return self._started(stop)

    def _choose(self, game: PlayedGame, owner: object) -> Conversation | None:
        """An idle process for a game, None if a new one has to be started or none is free. Called with the lock."""
        for conversation in [each for each in self._idle if not each.process.is_alive()]:
            self._idle.remove(conversation)
            conversation.process.kill()
        spare = [each for each in self._idle if each.owner() in (None, owner)]  # of nobody else's game
        is_full = self._busy + len(self._idle) >= self._most
        found = max(spare, key=lambda each: (each.follows(game), each.owner() is owner), default=None)
        if not found and is_full and self._idle:
            found = self._idle[0]
        if found:
            self._idle.remove(found)
            self._busy += 1
        return found

    def _started(self, stop: Stop | None) -> Conversation:
        """A new process that is ready; it is counted as busy already."""
        conversation = None
        try:
            conversation = self._start()
            conversation.caller_stop = stop
            with self._changed:
                self._lent.add(conversation)
            conversation.greet()
        except BaseException:
            self._end(conversation)
            raise
        return conversation

    def _give_back(self, conversation: Conversation) -> None:
        with self._changed:
            if not self._is_closed:
                self._busy -= 1
                self._lent.discard(conversation)
                self._idle.append(conversation)
                self._changed.notify()
                return
        self._end(conversation)

    def _end(self, conversation: Conversation | None) -> None:
        if conversation:
            conversation.process.kill()
        with self._changed:
            self._busy -= 1
            self._lent.discard(conversation)
            self._changed.notify()

"""What every protocol does: begin a search, and understand the lines that answer it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plyd.engines.core.errors import quoted
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Rules, Side
from plyd.engines.core.search import Limits, Line, Report, Score, Unknown
from plyd.engines.programs.process import Program, ProgramProcess


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A game up to the position that is searched: where it began, and the moves from there."""

    variant: str
    rules: Rules
    start: str
    moves: tuple[str, ...]
    position: Any
    is_default_variant: bool = True

    @property
    def side(self) -> Side:
        """The side to move."""
        return self.rules.to_move(self.position) or Side.PLAYER_ONE

    def continues(self, other: "PlayedGame | None", *moves: str) -> bool:
        """Whether it is the other game after these moves, and then perhaps more."""
        if other is None or (self.variant, self.start) != (other.variant, other.start):
            return False
        earlier = (*other.moves, *moves)
        return self.moves[: len(earlier)] == earlier


Heard = str | Report | None  # of a line: the move that it answers, a report on the way, or nothing


class Conversation(ABC):
    """A process of a program, and the game that it has in mind: that of its last search, and its answer."""

    farewell = ""  # the command that ends the program

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process = ProgramProcess(program)
        self.game: PlayedGame | None = None
        self.answer = ""  # its move in that game
        self.caller_stop: Stop | None = None  # of the search that it is lent to
        self.owner: Callable[[], object | None] = lambda: None  # who searched last, None once it is gone

    @abstractmethod
    def greet(self) -> None:
        """Wait until the program is ready. Raises ProgramFailed if it is not."""

    @abstractmethod
    def begin(self, game: PlayedGame, limits: Limits, seconds: float | None) -> None:
        """Tell it the position, as what came after its last answer if it can be told so, and let it search."""

    @abstractmethod
    def hear(self, game: PlayedGame, line: str) -> Heard:
        """What a line of its answer says."""

    def has_time_limit(self, limits: Limits) -> bool:  # noqa: ARG002
        """Whether a search without a time limit gets `move_seconds`."""
        return True

    def stop(self) -> None:  # noqa: B027  most protocols have no such command
        """Ask it to end its search, if the protocol has a command for that."""

    def follows(self, game: PlayedGame) -> bool:
        """Whether the game goes on from its last answer, so that what it has in mind is of use."""
        return bool(self.answer) and game.continues(self.game, self.answer)

    def conclusion(self, game: PlayedGame, move: str) -> Report:
        """The last report of a search that ended with a move; most protocols tell nothing else."""
        score = Score(game.side, Unknown())
        return Report(score, move, (Line((move,), score),))

    def answered(self, game: PlayedGame, move: str) -> None:
        """Keep the game and its answer for the next search."""
        self.game, self.answer = game, move

    def wait_for(self, what: str, is_it: Callable[[str], bool]) -> str:
        """The first line of which a claim holds. Raises ProgramFailed if it does not come within `start_seconds`, or
        within the margin once the caller has stopped the search.
        """
        seconds = self.program.start_seconds
        end, stop = time.monotonic() + seconds, self.caller_stop
        while True:
            line = self.process.line(end, stop)
            if line is not None and is_it(line):
                return line
            if line is None and (stop is None or not stop.is_set()):
                raise self.process.failure(f"does not say {quoted(what)} within {seconds:g} s")
            if line is None:
                stop, seconds = None, self.program.margin_seconds
                end = min(end, time.monotonic() + seconds)

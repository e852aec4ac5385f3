"""One search by an outside program: ask, wait no longer than its time and a margin, and check its answer."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from plyd.engines.core.cores import CORES
from plyd.engines.core.errors import BadMove, ProgramFailed
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Outcome, Rules, Side
from plyd.engines.core.search import (
    ExpectedPoints,
    GameSearcher,
    Limits,
    Proven,
    Report,
    Result,
    Score,
    StopReason,
    Unknown,
)
from plyd.engines.core.time_control import Budget
from plyd.engines.programs.conversation import Conversation, PlayedGame
from plyd.engines.programs.pool import ProgramPool
from plyd.engines.programs.process import Program

A_DAY = 86_400.0  # seconds: without any limit, a search looks at its stop flag for so long
RESULTS = {
    Outcome.PLAYER_ONE_WINS: Score(Side.PLAYER_ONE, Proven(Result.WIN, 0), exact=True),
    Outcome.PLAYER_TWO_WINS: Score(Side.PLAYER_TWO, Proven(Result.WIN, 0), exact=True),
    Outcome.DRAW: Score(Side.PLAYER_ONE, Proven(Result.DRAW, 0), exact=True),
    Outcome.ENDED: Score(Side.PLAYER_ONE, ExpectedPoints(0.0), exact=True),
}


class ProgramSearcher(GameSearcher):
    """Searches positions of one game of a client. The program's memory of the game is in its process."""

    def __init__(self, program: Program, pool: ProgramPool, variant: str, rules: Rules, is_default: bool) -> None:
        self._program = program
        self._pool = pool
        self._variant = variant
        self._rules = rules
        self._is_default = is_default
        self._followed: tuple[str, tuple[str, ...]] | None = None

    def follow(self, start: str, moves: Sequence[str]) -> None:
        """Take note of the game whose position is searched next."""
        self._followed = start, tuple(moves)

    def touched_megabytes(self) -> int:
        """None: the memory is that of another process."""
        return 0

    def search(self, position: Any, limits: Limits, stop: Stop) -> Iterator[Report]:
        """The program's reports and, last, its move; of a finished game or a move of chance one report without move."""
        rules = self._rules
        start, moves = self._followed or (rules.text(position), ())
        self._followed = None
        if rules.to_move(position) in (None, Side.ENVIRONMENT):
            score = RESULTS.get(rules.outcome(position), Score(Side.PLAYER_ONE, Unknown()))
            yield Report(score, stop_reason=StopReason.NO_SEARCH)
            return
        game = PlayedGame(self._variant, rules, start, moves, position, self._is_default)
        budget = Budget.start(limits)
        end = time.monotonic() + (A_DAY if budget.seconds is None else budget.seconds)
        with CORES.one(), self._pool.lend(game, self, end, stop) as conversation:
            search = ProgramSearch(conversation, game, limits, budget, stop)
            yield from search.reports()
        yield search.final


class ProgramSearch:
    """One question to one process."""

    final: Report

    def __init__(
        self, conversation: Conversation, game: PlayedGame, limits: Limits, budget: Budget, stop: Stop
    ) -> None:
        self._conversation, self._game = conversation, game
        self._limits, self._budget, self._stop = limits, budget, stop
        self._program = conversation.program
        planned = budget.planned_seconds
        seconds = None if planned is None else max(0.0, planned - budget.elapsed_seconds)
        if seconds is None and conversation.has_time_limit(limits):
            seconds = self._program.move_seconds
        self._seconds = seconds
        self._began = time.monotonic()
        self._reason = StopReason.FINISHED if seconds is None else StopReason.TIME
        if limits.max_nodes is not None or limits.max_depth is not None:
            self._reason = StopReason.DEPTH if limits.max_nodes is None else StopReason.NODES

    def reports(self) -> Iterator[Report]:
        """Reports on the way; then `final` is the last one."""
        conversation, game = self._conversation, self._game
        conversation.process.forget_output()
        conversation.begin(game, self._limits, self._seconds)
        for line in self._lines():
            heard = conversation.hear(game, line)
            if isinstance(heard, str):
                self._conclude(heard)
                return
            if heard:
                yield replace(heard, seconds=self._budget.elapsed_seconds)

    def _lines(self) -> Iterator[str]:
        """The program's lines. It is told to stop when its time is over, and has a margin to answer then."""
        process, stop = self._conversation.process, self._stop
        end = self._began + (A_DAY if self._seconds is None else self._seconds)
        while (line := process.line(end, stop)) is not None:
            yield line
        is_stopped = stop.is_set()
        if is_stopped:
            self._reason = StopReason.STOPPED
        self._conversation.stop()
        margin = self._program.margin_seconds
        end = time.monotonic() + margin
        while (line := process.line(end)) is not None:
            yield line
        if is_stopped:
            raise process.failure(f"gives no move within {margin:g} s of being stopped, and was killed")
        planned = self._budget.planned_seconds
        allowed = planned if planned is not None else self._seconds or A_DAY
        raise process.failure(f"gives no move within {allowed:.2f} s and a margin of {margin:g} s, and was killed")

    def _conclude(self, move: str) -> None:
        """Check the program's move and make the final report."""
        conversation, game = self._conversation, self._game
        try:
            game.rules.play(game.position, move)
        except BadMove as error:
            raise ProgramFailed(f"{self._program.name} plays {move}: {error}") from None
        report = conversation.conclusion(game, move)
        self.final = replace(report, seconds=self._budget.elapsed_seconds, stop_reason=self._reason)
        conversation.answered(game, move)

"""One loop for every searcher: step until there is a reason to stop, report in between, end with one final report.

    def search(self, position, limits, stop):
        if over := game_over(rules.outcome(position), side_to_move):
            yield over
        else:
            yield from run(partial(MyRun, self, position, limits, stop))

A run uses one core of CORES while it lasts, except while it is paused. Further threads come from `helper_threads`, as
many as `threads_for` allows.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from plyd.engines.core.cores import CORES
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Outcome, Side
from plyd.engines.core.search import Limits, Line, Proven, Report, Result, Score, StopReason, upper
from plyd.engines.core.time_control import Budget

REPORT_NS = 100_000_000  # between reports
MOST_HELPERS = 4096  # more than searches ever have at once: a helper never waits behind one that is paused


class SearchRun(ABC):
    """One search in progress. Its time counts from its construction."""

    kept_nodes = 0
    """Nodes of earlier searches below the position, which a search that keeps its tree begins with."""

    def __init__(self, limits: Limits, stop: Stop) -> None:
        self.limits, self.stop = limits, stop
        self.max_nodes = upper(limits.max_nodes)
        self.budget = Budget.start(limits)
        self.deadline_ns = self.budget.deadline_ns
        self._reported_ns = self.budget.began_ns

    @abstractmethod
    def step(self) -> None:
        """Search for a few milliseconds; longer only if there is no answer yet."""

    @abstractmethod
    def report(self, reason: StopReason | None) -> Report:
        """The result so far; the final report if there is a reason."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """New nodes, which count against the limit."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to find."""
        return False

    @property
    def has_answer(self) -> bool:
        """Whether there is a move to report. Until then no limit ends the search."""
        return True

    @property
    def effort(self) -> float:
        """With a game clock, the time that the move deserves, in usual times. 0: there is nothing to choose."""
        return 1.0

    @property
    def usual_share(self) -> float:
        """How much of the usual time of a move has passed; 0 without a game clock."""
        usual = self.budget.usual_seconds
        return 0.0 if usual is None else self.budget.elapsed_seconds / max(usual, 1e-9)

    @property
    def step_ns(self) -> int:
        """Nanoseconds of the shortest possible step, if long enough to miss a deadline. Default: 0."""
        return 0

    def is_deep_enough(self, depth: int) -> bool:  # noqa: ARG002
        """Whether the search has reached a depth."""
        return False

    def is_report_due(self) -> bool:
        """Whether to report now. Default: every tenth of a second."""
        now = time.monotonic_ns()
        if not self.has_answer or now - self._reported_ns < REPORT_NS:
            return False
        self._reported_ns = now
        return True

    def close(self) -> None:  # noqa: B027  most searches have nothing to release
        """Release helper threads. Called once, before the final report, even if the caller has left."""

    def stop_reason(self) -> StopReason | None:
        """The reason to stop now, or None."""
        if self.is_finished:
            return StopReason.FINISHED
        if not self.has_answer:
            return None
        if self.stop.poll():  # waits here while it is paused, and in the kernels
            return StopReason.STOPPED
        if time.monotonic_ns() + self.step_ns >= self.deadline_ns:
            return StopReason.TIME
        if self.budget.usual_seconds is not None and self.usual_share >= self.effort:
            return StopReason.TIME
        if self.nodes >= self.max_nodes:
            return StopReason.NODES
        if self.limits.max_depth is not None and self.is_deep_enough(self.limits.max_depth):
            return StopReason.DEPTH
        return None

    def threads_for(self, option: int, most: int) -> int:
        """Threads to use now: the option `threads`; 0 means all cores that no other search needs.

        With `threads` 0, a search with a node limit uses one thread, so that its result is reproducible.
        """
        return min(self.wanted_threads(option, most), 1 + CORES.spare())

    def wanted_threads(self, option: int, most: int) -> int:
        """Threads to use if no other search needs a core."""
        return option or (1 if self.limits.max_nodes is not None else most)

    def report_of(self, lines: tuple[Line, ...], reason: StopReason | None, *, nodes: int, depth: int) -> Report:
        """A report whose score and move are those of the first line."""
        best, seconds = lines[0], self.budget.elapsed_seconds
        return Report(best.score, best.moves[0], lines, nodes, depth, seconds, reason, self.kept_nodes)


class DepthRun(SearchRun):
    """One search that completes a depth at each step, and reports once per depth."""

    max_depth: int
    """The deepest that the kernel can search."""

    def __init__(self, limits: Limits, stop: Stop) -> None:
        super().__init__(limits, stop)
        self.depth = 0  # last completed depth
        self._reason: StopReason | None = None
        self._reported_depth = 0

    def complete(self, reason: StopReason | None = None) -> None:
        """Count the next depth as completed; a reason says why no further depth is needed."""
        self.depth += 1
        self._reason = reason

    def give_up(self, reason: StopReason) -> None:
        """End the search with the last completed depth."""
        self._reason = reason

    def is_deep_enough(self, depth: int) -> bool:
        """Whether this depth is complete."""
        return self.depth >= depth

    def is_report_due(self) -> bool:
        """Once per depth."""
        is_due, self._reported_depth = self.depth > self._reported_depth, self.depth
        return is_due

    def stop_reason(self) -> StopReason | None:
        """Why the last depth was not completed, or the limit reached now."""
        if self.depth >= self.max_depth:
            return StopReason.DEPTH
        return self._reason or super().stop_reason()


def run(start: Callable[[], SearchRun]) -> Iterator[Report]:
    """The reports of a search. The last report, and only the last, is final."""
    with CORES.one() as core:
        search = start()
        core.is_paused = search.stop.is_paused
        try:
            while (reason := search.stop_reason()) is None:
                if search.is_report_due():
                    yield search.report(None)
                search.step()
        finally:
            search.close()
        final = search.report(reason)
    yield final


def game_over(outcome: Outcome, to_move: Side) -> Report | None:
    """The only report of a finished two-player game; None if the game goes on."""
    if outcome is Outcome.ONGOING:
        return None
    wins = Outcome.PLAYER_ONE_WINS if to_move is Side.PLAYER_ONE else Outcome.PLAYER_TWO_WINS
    result = Result.DRAW if outcome is Outcome.DRAW else Result.WIN if outcome is wins else Result.LOSS
    return Report(Score(to_move, Proven(result, 0), exact=True), stop_reason=StopReason.NO_SEARCH)


@cache
def helper_threads() -> ThreadPoolExecutor:
    """The thread pool that searches get helper threads from, shared by the whole process.

    Helpers of paused searches keep their threads, so there may be more of them than cores; threads start when needed.
    """
    return ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="helper")

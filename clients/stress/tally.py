"""Counts of answers, errors and delays while daemons are under load."""

import time
from collections import Counter, deque
from dataclasses import dataclass, field

MAX_EXAMPLES = 20  # of errors, kept as text
MAX_TIMES = 200_000  # kept for percentiles


@dataclass
class LoadTally:
    """Counts, and some examples of errors."""

    answers: Counter[str] = field(default_factory=Counter)
    """Answers by kind of task."""
    rejected: int = 0
    interrupted: int = 0
    """Games and analyses that a dying daemon interrupted, and that were repeated."""
    wrong: int = 0
    errors: int = 0
    late: int = 0
    overshoots: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_TIMES))
    """Seconds between the limit of a search and its answer."""
    examples: list[str] = field(default_factory=list)
    longest_gap: float = 0.0
    """Longest time in seconds for which a client had no answer."""
    _last: dict[int, float] = field(default_factory=dict)

    def answered(self, kind: str, client: int) -> None:
        """Count an answer."""
        self.answers[kind] += 1
        now = time.monotonic()
        self.longest_gap = max(self.longest_gap, now - self._last.get(client, now))
        self._last[client] = now

    def add_wrong(self, what: str) -> None:
        """Count a wrong answer."""
        self.wrong += 1
        self._report(f"wrong: {what}")

    def failed(self, what: str) -> None:
        """Count an unexpected error."""
        self.errors += 1
        self._report(f"error: {what}")

    def took(self, seconds: float, limit: float, margin: float, what: str) -> None:
        """Count the time of a search with a time limit."""
        self.overshoots.append(seconds - limit)
        if seconds > limit + margin:
            self.late += 1
            self._report(f"late: {what} took {seconds:.3f} s of {limit:.3f} s")

    def _report(self, line: str) -> None:
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(line)

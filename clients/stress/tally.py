"""What is counted while daemons are under load."""

import time
from collections import Counter, deque
from dataclasses import dataclass, field

MOST_EXAMPLES = 20  # of what went wrong, word by word
MOST_TIMES = 200_000  # of the latest, for percentiles


@dataclass
class Tally:
    """Counts, and some examples of what went wrong."""

    answers: Counter[str] = field(default_factory=Counter)
    """By the kind of work."""
    sheds: int = 0
    interrupted: int = 0
    """Games and analyses that a dying daemon cut off, and that were begun again."""
    wrong: int = 0
    errors: int = 0
    late: int = 0
    overshoots: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_TIMES))
    """Seconds that answers came after their limit."""
    examples: list[str] = field(default_factory=list)
    longest_gap: float = 0.0
    """Seconds in which one client, whichever, had no answer."""
    _last: dict[int, float] = field(default_factory=dict)

    def answered(self, kind: str, client: int) -> None:
        """An answer came."""
        self.answers[kind] += 1
        now = time.monotonic()
        self.longest_gap = max(self.longest_gap, now - self._last.get(client, now))
        self._last[client] = now

    def was_wrong(self, what: str) -> None:
        """An answer was not what it has to be."""
        self.wrong += 1
        self._tell(f"wrong: {what}")

    def failed(self, what: str) -> None:
        """A call ended with an error that nobody expects."""
        self.errors += 1
        self._tell(f"error: {what}")

    def took(self, seconds: float, limit: float, margin: float, what: str) -> None:
        """A search with a limit of time has answered."""
        self.overshoots.append(seconds - limit)
        if seconds > limit + margin:
            self.late += 1
            self._tell(f"late: {what} took {seconds:.3f} s of {limit:.3f} s")

    def _tell(self, line: str) -> None:
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(line)

"""Who uses the cores of this process: a search has one, and may have those that no other search needs."""

import contextlib
import os
import threading
from collections.abc import Iterator


class Cores:
    """Counts the searches that run, each on a core of its own."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._busy = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Have a core for as long as this lasts."""
        with self._lock:
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1

    def spare(self) -> int:
        """Cores that nobody has, now."""
        return max(0, self.count - self._busy)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


CORES = Cores(usable_cores())

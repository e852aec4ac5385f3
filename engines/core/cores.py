"""What this process has of the machine. Who uses its cores: a search has one, and may have those no other needs."""

import contextlib
import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path


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
    """Cores that this process may run on, and has time on: a container often sees more than it was given."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(seen, granted_cores() or seen)


def granted_cores(root: Path = Path("/")) -> int | None:
    """Cores' worth of time that Linux grants this process's group, at least 1; None if there is no limit to be found.

    The group's cpu.max is "200000 100000": so much time in each period.
    """
    try:
        quota, period = _group_says("cpu.max", root).split()
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # another system, an older kernel, or "max 100000"
        return None


def usable_megabytes(root: Path = Path("/")) -> int:
    """Memory of this machine, or what Linux grants this process's group of it."""
    seen = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    try:
        return min(seen, int(_group_says("memory.max", root)) >> 20)
    except (OSError, ValueError):
        return seen


def _group_says(name: str, root: Path) -> str:
    """What a file of this process's group has; the group is named by a line "0::/plyd.slice"."""
    lines = (root / "proc/self/cgroup").read_text().splitlines()
    [group] = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    return (root / "sys/fs/cgroup" / group / name).read_text()


CORES = Cores(usable_cores())

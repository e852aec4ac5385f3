"""The cores and memory of this process: each search takes one core, and may use cores that no other search needs."""

import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path


class CoreUse:
    """One search's use of a core."""

    is_paused: Callable[[], bool] = staticmethod(lambda: False)
    """Whether the search is paused now, so that others may use its core."""


class Cores:
    """Counts the running searches, one core each."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._uses: set[CoreUse] = set()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one(self) -> Iterator[CoreUse]:
        """Take a core until the `with` block ends."""
        use = CoreUse()
        with self._lock:
            self._uses.add(use)
        try:
            yield use
        finally:
            with self._lock:
                self._uses.remove(use)

    def spare(self) -> int:
        """Cores that no search uses now."""
        with self._lock:
            return max(0, self.count - sum(not use.is_paused() for use in self._uses))


def usable_cores() -> int:
    """Cores that this process may run on, at most its CPU quota: a container often sees more cores than it may use."""
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(seen, granted_cores() or seen)


def granted_cores(root: Path = Path("/")) -> int | None:
    """CPU quota of this process's cgroup in cores, rounded up, at least 1; None if there is no limit.

    The cgroup's cpu.max is "200000 100000": microseconds of CPU time per period, and the period.
    """
    try:
        quota, period = _group_says("cpu.max", root).split()
        return max(1, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # another system, an older kernel, or "max 100000"
        return None


def usable_megabytes(root: Path = Path("/")) -> int:
    """Memory of this machine, or the limit of this process's cgroup if that is less."""
    seen = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    try:
        return min(seen, int(_group_says("memory.max", root)) >> 20)
    except (OSError, ValueError):
        return seen


def _group_says(name: str, root: Path) -> str:
    """Contents of a file of this process's cgroup, which a line "0::/plyd.slice" in /proc/self/cgroup names."""
    lines = (root / "proc/self/cgroup").read_text().splitlines()
    [group] = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    return (root / "sys/fs/cgroup" / group / name).read_text()


CORES = Cores(usable_cores())

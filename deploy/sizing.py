"""Measures start time and memory of a daemon of each game: `python deploy/sizing.py [--cold] [GAME]...` prints a table.

One daemon at a time, on this machine, with wall-clock time and the memory that the kernel reports.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from plyd.clients.library.client import EngineClient
from plyd.engines.registry import ENGINES

SEARCHES, SEARCH_SECONDS = 20, 0.5
SESSIONS, SESSION_SECONDS = 4, 2.0
COLUMNS = ("game", "cold s", "warm s", "ready MiB", "after searches", "a session", "most", "after sessions")


class Served:
    """A daemon that serves: its address, the seconds until it was ready, and its process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        began = time.perf_counter()
        assert process.stdout is not None
        self.address = process.stdout.readline().split()[-1]
        self.seconds = time.perf_counter() - began
        self._status = Path(f"/proc/{process.pid}/status")

    def mebibytes(self, field: str = "VmRSS") -> float:
        """Resident memory now, or its peak (VmHWM)."""
        [line] = [line for line in self._status.read_text().splitlines() if line.startswith(f"{field}:")]
        return int(line.split()[1]) / 1024


@contextlib.contextmanager
def served(game: str, cache: str | None = None) -> Iterator[Served]:
    """A daemon of one game, with its own folder of compiled kernels if one is named."""
    command = [sys.executable, "-m", "plyd.clients", "serve", game, "--listen", "127.0.0.1:0", "--log-level", "error"]
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}  # that is ours
    if cache:
        environment["XDG_CACHE_HOME"] = cache
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield Served(process)
        finally:
            process.terminate()


def measure(game: str, *, is_cold_too: bool) -> tuple[str, ...]:
    """The row of one game."""
    cold = "-"
    if is_cold_too:
        folder = tempfile.mkdtemp(prefix="plyd-sizing-")
        try:
            with served(game, folder) as daemon:
                cold = f"{daemon.seconds:.1f}"
        finally:
            shutil.rmtree(folder)
    with served(game):
        pass  # whatever had to be compiled is compiled now
    with served(game) as daemon, EngineClient(daemon.address) as client:
        ready = daemon.mebibytes()
        for _ in range(SEARCHES):
            client.search(seconds=SEARCH_SECONDS)
        searched = daemon.mebibytes()
        with contextlib.ExitStack() as games:
            for _ in range(SESSIONS):
                games.enter_context(client.play()).best(seconds=SESSION_SECONDS)
            session = (daemon.mebibytes() - searched) / SESSIONS
        time.sleep(1)
        figures = (ready, searched, session, daemon.mebibytes("VmHWM"), daemon.mebibytes())
        return (game, cold, f"{daemon.seconds:.1f}", *(f"{figure:.0f}" for figure in figures))


def main() -> None:
    """Measure the games asked for, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", default=list(ENGINES))
    parser.add_argument("--cold", action="store_true", help="a start with no compiled kernels, too")
    asked = parser.parse_args()
    print("|", " | ".join(COLUMNS), "|")
    print("|---" * len(COLUMNS) + "|")
    for game in asked.games:
        print("|", " | ".join(measure(game, is_cold_too=asked.cold)), "|", flush=True)


if __name__ == "__main__":
    main()

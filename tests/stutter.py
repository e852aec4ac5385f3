"""Run a command on a machine that stutters: its processes are stopped for moments, some or all of them, at random.

A test that passes only where everything is quick fails here; `make test-stutter` runs them all this way. Linux.

    python -m tests.stutter --longest 2.5 -- pytest -n 3 tests/clients
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

SHORTEST = 0.15  # seconds of a stop
ALL, SOME = 0.3, 0.35  # how often all are stopped, and else which share of them


def family(pid):
    """A process and all that descend from it."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:  # grows on the way
        found += children.get(each, [])
    return found


def send(pids, number):
    """Send a signal to all of them that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stutter(process, longest, share, chance):
    """Stop and continue until the process ends; its exit status."""
    while process.poll() is None:
        pids = family(process.pid)
        if chance.random() > ALL:
            pids = [pid for pid in pids if chance.random() < SOME]
        seconds = chance.uniform(SHORTEST, longest)
        send(pids, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            send(pids, signal.SIGCONT)
        time.sleep(seconds * (1 - share) / share * chance.uniform(0.3, 1.7))
    return process.returncode


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.stutter", description=__doc__.partition("\n")[0])
    parser.add_argument("--longest", type=float, default=2.5, help="seconds of a stop, at most (default: %(default)s)")
    parser.add_argument("--share", type=float, default=0.35, help="of the time that is stopped (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: %(default)s)")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    asked = parser.parse_args()
    if asked.longest <= SHORTEST or not 0 < asked.share < 1:
        parser.error(f"--longest is more than {SHORTEST}, --share between 0 and 1")
    with subprocess.Popen(asked.command) as process:
        try:
            sys.exit(stutter(process, asked.longest, asked.share, random.Random(asked.seed)))
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()

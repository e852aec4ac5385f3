"""`plyd stress kill`: kills a daemon under `plyd up` repeatedly under load, and checks that clients recover."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from typing import Any

import click

from plyd.clients.cli import PROGRAM

GAME = "2584-2x3"
POSITIONS = 500
MARGIN_SECONDS = 1.0  # by which an answer may exceed its limit; a starting daemon keeps cores busy


@click.command(short_help="Kill a daemon under load: clients that retry must finish with correct answers.")
@click.option("--minutes", type=click.FloatRange(0.05, 1440), default=10.0, show_default=True, help="Duration.")
@click.option("--every", type=click.FloatRange(1), default=20.0, show_default=True, help="Seconds between kills.")
@click.option("--clients", type=click.IntRange(1, 256), default=8, show_default=True, help="Concurrent clients.")
@click.option(
    "--patience",
    type=click.FloatRange(0.1),
    default=15.0,
    show_default=True,
    help="Seconds for which a client retries.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def kill(as_json: bool, **options: Any) -> None:
    """Run `plyd up` with one engine, kill its daemon (SIGKILL) repeatedly while clients use it, and check that every
    client finishes its work and that every answer is correct. Work that the kill interrupts is repeated: single calls
    by the client library, games and analyses by the caller.

    \b
    plyd stress kill --minutes 10 --every 20
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import ProgressLine
    from plyd.clients.stress.known import WrongValues
    from plyd.clients.stress.verdict import print_verdict

    with Console(stderr=True).status("starting") as status:
        try:
            figures, notes = run(ProgressLine(status), **options)
        except (PlydError, WrongValues) as error:
            raise click.ClickException(str(error)) from None
    print_verdict(figures, as_json=as_json, notes=notes)


def run(
    progress: Any, *, minutes: float, every: float, clients: int, patience: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """The figures, and examples of errors."""
    from plyd.clients.commands.bench import figure
    from plyd.clients.stress.daemons import child_process, first_line, free_port
    from plyd.clients.stress.interrupt import run_until_stopped
    from plyd.clients.stress.tally import LoadTally

    tally = LoadTally()
    command = [*PROGRAM, "up", GAME, "--no-web", "--no-metrics", "--base-port", str(free_port())]
    with tempfile.TemporaryFile() as errors, child_process(command, errors) as supervisor:
        daemon = KilledDaemon(first_line(supervisor, errors))
        daemon.follow(supervisor)
        with contextlib.suppress(KeyboardInterrupt):
            run_until_stopped(load_and_kill(daemon, tally, progress, minutes * 60, every, clients, patience))
    found = [figure(GAME, f"answers: {kind}", count, "") for kind, count in sorted(tally.answers.items())]
    found += [
        figure(GAME, "kills", daemon.kills, "", at_least=1),
        figure(GAME, "games and analyses interrupted and repeated", tally.interrupted, ""),
        figure(GAME, "rejected, no slot in time", tally.rejected, ""),
        figure(GAME, "longest time without an answer, one client", tally.longest_gap, "s"),
        figure(GAME, "wrong answers", tally.wrong, "", at_most=0),
        figure(GAME, "calls that failed permanently", tally.errors, "", at_most=0),
        figure(GAME, "clients that finished", daemon.finished, "", at_least=clients),
    ]
    return found, tally.examples


class KilledDaemon:
    """The daemon that the supervisor restarts: its current process, and the number of kills."""

    def __init__(self, line: str) -> None:
        self.kills = 0
        self.finished = 0
        self._read_line(line)

    def _read_line(self, line: str) -> None:
        """Read the supervisor's line about a daemon that is ready: GAME ADDRESS PID."""
        _, self.target, pid = line.split()
        self._pid: int | None = int(pid)

    def follow(self, supervisor: subprocess.Popen[bytes]) -> None:
        """Read the supervisor's output in a thread from now on."""
        assert supervisor.stdout is not None
        threading.Thread(target=self._read_lines, args=(supervisor.stdout,), daemon=True).start()

    def _read_lines(self, stdout: Any) -> None:
        with contextlib.suppress(ValueError):  # closed at the end
            for line in stdout:
                self._read_line(line.decode())

    def kill(self) -> None:
        """Kill the process, unless it has not restarted since the last kill."""
        if self._pid is not None:
            pid, self._pid = self._pid, None
            os.kill(pid, signal.SIGKILL)
            self.kills += 1


async def load_and_kill(
    daemon: KilledDaemon, tally: Any, progress: Any, seconds: float, every: float, clients: int, patience: float
) -> None:
    """Run clients for some seconds, and kill the daemon at intervals, but not in the last second."""
    from plyd.clients.stress.known import known_values
    from plyd.clients.stress.load import run_load

    known = await known_values(daemon.target, POSITIONS)
    end = time.monotonic() + seconds
    load = asyncio.ensure_future(
        run_load(daemon.target, [GAME], clients, tally, end, margin=MARGIN_SECONDS, retry=patience, known=known)
    )
    next_kill = time.monotonic() + every / 2
    while not load.done():
        if time.monotonic() >= next_kill and time.monotonic() < end - 1:
            daemon.kill()
            next_kill += every
        progress.say(
            f"{max(0, end - time.monotonic()):.0f} s to go: {daemon.kills} kills, {tally.answers.total()} answers; "
            f"{tally.wrong} wrong, {tally.errors} failed, longest time without an answer {tally.longest_gap:.1f} s"
        )
        await asyncio.wait({load}, timeout=0.1)
    load.result()
    daemon.finished = clients

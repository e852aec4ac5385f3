"""`plyd stress kill`: a daemon under `plyd up` killed again and again under load; do clients that retry all finish?"""

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
LATE_SECONDS = 1.0  # beyond a limit; while a daemon starts, cores are busy


@click.command(short_help="kill -9 under load: clients that retry all finish, with right answers.")
@click.option("--minutes", type=click.FloatRange(0.05, 1440), default=10.0, show_default=True)
@click.option("--every", type=click.FloatRange(1), default=20.0, show_default=True, help="Seconds between kills.")
@click.option("--clients", type=click.IntRange(1, 256), default=8, show_default=True)
@click.option("--patience", type=click.FloatRange(0.1), default=15.0, show_default=True, help="Seconds of retries.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def kill(as_json: bool, **options: Any) -> None:
    """Run `plyd up` with one engine, kill its daemon (SIGKILL) again and again while clients use it, and check that
    every client finishes its work and that every answer is right. What was under way when the daemon died is asked
    again: calls by the client itself, games and analyses by the one who plays.

    \b
    plyd stress kill --minutes 10 --every 20
    """
    from rich.console import Console

    from plyd.clients.library.errors import PlydError
    from plyd.clients.stress.daemons import Progress
    from plyd.clients.stress.known import NotRight
    from plyd.clients.stress.verdict import tell

    with Console(stderr=True).status("starting") as status:
        try:
            figures, notes = run(Progress(status), **options)
        except (PlydError, NotRight) as error:
            raise click.ClickException(str(error)) from None
    tell(figures, as_json=as_json, notes=notes)


def run(
    progress: Any, *, minutes: float, every: float, clients: int, patience: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """The figures, and examples of what went wrong."""
    from plyd.clients.commands.bench import figure
    from plyd.clients.stress.daemons import ended, first_line, free_port
    from plyd.clients.stress.tally import Tally

    tally = Tally()
    command = [*PROGRAM, "up", GAME, "--no-web", "--no-metrics", "--base-port", str(free_port())]
    with tempfile.TemporaryFile() as errors, ended(command, errors) as supervisor:
        victim = Victim(first_line(supervisor, errors))
        victim.follow(supervisor)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(storm(victim, tally, progress, minutes * 60, every, clients, patience))
    found = [figure(GAME, f"answers: {kind}", count, "") for kind, count in sorted(tally.answers.items())]
    found += [
        figure(GAME, "kills", victim.kills, "", at_least=1),
        figure(GAME, "games and analyses cut off, begun again", tally.interrupted, ""),
        figure(GAME, "refused, no slot in time", tally.sheds, ""),
        figure(GAME, "longest time without an answer, one client", tally.longest_gap, "s"),
        figure(GAME, "wrong answers", tally.wrong, "", at_most=0),
        figure(GAME, "calls that failed for good", tally.errors, "", at_most=0),
        figure(GAME, "clients that finished", victim.finished, "", at_least=clients),
    ]
    return found, tally.examples


class Victim:
    """The daemon that the supervisor keeps running: its process now, and how often it was killed."""

    def __init__(self, line: str) -> None:
        self.kills = 0
        self.finished = 0
        self._hear(line)

    def _hear(self, line: str) -> None:
        """Take in what the supervisor says when a daemon is ready: GAME ADDRESS PID."""
        _, self.target, pid = line.split()
        self._pid: int | None = int(pid)

    def follow(self, supervisor: subprocess.Popen[bytes]) -> None:
        """Listen to the supervisor from now on."""
        assert supervisor.stdout is not None
        threading.Thread(target=self._listen, args=(supervisor.stdout,), daemon=True).start()

    def _listen(self, stdout: Any) -> None:
        with contextlib.suppress(ValueError):  # closed, at the end
            for line in stdout:
                self._hear(line.decode())

    def kill(self) -> None:
        """End the process without a word, unless it has not come back since the last time."""
        if self._pid is not None:
            pid, self._pid = self._pid, None
            os.kill(pid, signal.SIGKILL)
            self.kills += 1


async def storm(
    victim: Victim, tally: Any, progress: Any, seconds: float, every: float, clients: int, patience: float
) -> None:
    """Have clients at work for so many seconds, and kill the daemon every so often; none in the last few seconds."""
    from plyd.clients.stress.known import known_of
    from plyd.clients.stress.load import run_load

    known = await known_of(victim.target, POSITIONS)
    end = time.monotonic() + seconds
    load = asyncio.ensure_future(
        run_load(victim.target, [GAME], clients, tally, end, margin=LATE_SECONDS, retry=patience, known=known)
    )
    next_kill = time.monotonic() + every / 2
    while not load.done():
        if time.monotonic() >= next_kill and time.monotonic() < end - 1:
            victim.kill()
            next_kill += every
        progress.say(
            f"{max(0, end - time.monotonic()):.0f} s to go: {victim.kills} kills, {tally.answers.total()} answers; "
            f"{tally.wrong} wrong, {tally.errors} failed, longest time without an answer {tally.longest_gap:.1f} s"
        )
        await asyncio.wait({load}, timeout=0.1)
    load.result()
    victim.finished = clients

"""One attack beside an honest caller: what both saw, and the verdict."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from plyd.clients.commands.bench import percentile
from plyd.clients.stress.attacks.honest import HonestCaller, Period
from plyd.clients.stress.attacks.scene import Attack, Scene
from plyd.clients.stress.daemons import RunningDaemon

MAX_P99_MS = 50.0  # of the honest caller
LEAD_SECONDS = 1.0  # of the honest caller alone, to know what it costs the daemon
SETTLE_SECONDS = 1.0  # after which memory is read again
SAMPLE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What an attack sent and heard, what an honest caller saw meanwhile, and what it cost the daemon."""

    name: str
    sent: dict[str, int]
    heard: dict[str, int]
    broken: list[str]
    honest: Period
    memory_mb: tuple[float, float, float]  # before, at most, afterwards
    cpu_seconds: float  # of the daemon, without what the honest caller costs
    has_died: bool = False

    def honest_ms(self, percent: int) -> float:
        """A percentile of the honest caller's times; infinite without an answer."""
        return percentile(self.honest.milliseconds, percent) if self.honest.milliseconds else float("inf")

    def failures(self) -> list[str]:
        """What did not hold, in words; empty if all did."""
        found = list(self.broken)
        if self.has_died:
            found.append("the daemon died")
        if self.honest.errors:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self.honest.errors.most_common())
            found.append(f"of {self.honest.calls} honest calls {self.honest.errors.total()} failed: {kinds}")
        if not self.honest_ms(99) < MAX_P99_MS:
            found.append(f"p99 of honest calls was {self.honest_ms(99):.0f} ms, at most {MAX_P99_MS:g} is allowed")
        return found

    def figures(self) -> dict[str, Any]:
        """The result as JSON."""
        before, peak, after = self.memory_mb
        return {
            "attack": self.name,
            "sent": self.sent,
            "heard": self.heard,
            "honest_calls": self.honest.calls,
            "honest_errors": dict(self.honest.errors),
            **{f"p{percent}_ms": round(self.honest_ms(percent), 2) for percent in (50, 99)},
            "max_ms": round(self.honest_ms(100), 2),
            "own_delay_ms": round(self.honest.delay_ms, 2),
            "memory_mb": {"before": round(before), "peak": round(peak), "after": round(after)},
            "cpu_seconds": round(self.cpu_seconds, 2),
            "failures": self.failures(),
        }


def run_attack(attack: Attack, scene: Scene) -> AttackResult:
    """Attack the scene's daemon while a new honest caller uses it."""
    with scene.stack:
        attack.prepare(scene)
        target, token = scene.honest_target or scene.daemon.target, scene.tokens["honest"]
        with HonestCaller(target, token) as honest:
            return measure(attack, scene, honest, LEAD_SECONDS, SETTLE_SECONDS)


def measure(
    attack: Attack, scene: Scene, honest: HonestCaller, lead_seconds: float, settle_seconds: float
) -> AttackResult:
    """Run a prepared attack beside an honest caller, some seconds after that one was alone with the daemon."""
    watched = scene.watched or scene.daemon
    cost = _cost_of_a_call(watched, honest, lead_seconds)
    cpu, memory = watched.cpu_seconds(), _Memory(watched)
    honest.measure()
    with memory.watched():
        _run_nicely(attack, scene)
        scene.wait()  # what was sent early may still be worked on
        period = honest.report()
    spent = max(0.0, watched.cpu_seconds() - cpu - cost * len(period.milliseconds))
    time.sleep(settle_seconds)
    sizes = (memory.before, memory.peak, memory.now())
    has_died = watched.has_died or scene.daemon.has_died
    return AttackResult(attack.name, dict(scene.sent), dict(scene.heard), scene.broken, period, sizes, spent, has_died)


def _cost_of_a_call(watched: RunningDaemon, honest: HonestCaller, seconds: float) -> float:
    """Processor time that a daemon spends on each call of an honest caller that is alone with it."""
    honest.measure()
    cpu = watched.cpu_seconds()
    time.sleep(seconds)
    calls = honest.report().calls
    return (watched.cpu_seconds() - cpu) / max(1, calls)


def _run_nicely(attack: Attack, scene: Scene) -> None:
    """Run an attack in a thread of low priority: an attacker would be on another machine, and take no time here."""

    def be_nice() -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)

    with ThreadPoolExecutor(1, initializer=be_nice) as pool:
        scene.begin()
        pool.submit(attack.run, scene).result()


class _Memory:
    """Resident memory of a process, in MB."""

    def __init__(self, daemon: RunningDaemon) -> None:
        self._daemon = daemon
        self.before = self.peak = self.now()

    def now(self) -> float:
        """Its memory now; 0 if it has died."""
        return (self._daemon.resident_bytes() or 0) / 2**20

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch its peak."""
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(SAMPLE_SECONDS):
                self.peak = max(self.peak, self.now())

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            is_over.set()
            watcher.join()

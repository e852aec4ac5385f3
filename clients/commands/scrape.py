"""What daemons say of themselves over HTTP, and the figures that follow from two such readings."""

import math
import time
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

TIMEOUT_SECONDS = 2.0
MOST_BYTES = 4 << 20
STREAMS = ("Play", "Evaluate", "WatchLoad")  # as long as a game, a file or a client: no latency


@dataclass(frozen=True, slots=True)
class Reading:
    """The samples of one daemon at one time: values by name and labels."""

    at: float
    samples: Mapping[str, list[tuple[Mapping[str, str], float]]]

    def total(self, name: str) -> float | None:
        """The sum of a metric over all its labels; None if it is not there."""
        values = [value for _, value in self.samples.get(name, ())]
        return sum(values) if values else None

    def labels(self, name: str, label: str) -> list[str]:
        """The values that a label of a metric has."""
        return list(dict.fromkeys(labels[label] for labels, _ in self.samples.get(name, ()) if label in labels))


@dataclass(frozen=True, slots=True)
class Figures:
    """A daemon at a glance; None where a figure is not known."""

    address: str  # of its metrics
    state: str  # ready, not ready, or away
    problem: str | None = None
    games: tuple[str, ...] = ()
    version: str | None = None
    uptime_seconds: float | None = None
    requests_per_second: float | None = None
    p50_seconds: float | None = None
    p99_seconds: float | None = None
    slots: int | None = None
    running: int | None = None
    waiting: int | None = None
    sessions: int | None = None
    sheds_per_second: float | None = None
    nodes_per_second: float | None = None
    memory_bytes: int | None = None
    cpu_cores: float | None = None
    serving: tuple[str, ...] = ()  # addresses that its clients connect to

    def as_json(self) -> dict[str, Any]:
        """The figures as JSON knows them."""
        return asdict(self)


def scrape(address: str) -> Reading:
    """A reading of the daemon whose metrics are at an address. Raises OSError or ValueError if there is none."""
    from prometheus_client.parser import text_string_to_metric_families

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # daemons are near; no proxy is between
    with opener.open(f"http://{address}/metrics", timeout=TIMEOUT_SECONDS) as answer:
        text = answer.read(MOST_BYTES).decode()
    samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    if "plyd_ready" not in samples:
        raise ValueError("it is no plyd daemon")
    return Reading(time.monotonic(), samples)


def figures(address: str, now: Reading, before: Reading | None) -> Figures:
    """What two readings of a daemon say; rates and latencies are of the time between them."""
    if before and before.total("process_start_time_seconds") != now.total("process_start_time_seconds"):
        before = None  # it was started again: its counts began anew
    began = now.total("process_start_time_seconds")
    return Figures(
        address=address,
        state="ready" if now.total("plyd_ready") else "not ready",
        games=tuple(now.labels("plyd_game_info", "game")),
        version=next(iter(now.labels("plyd_build_info", "version")), None),
        uptime_seconds=None if began is None else max(0.0, time.time() - began),
        requests_per_second=_rate("plyd_requests_total", now, before),
        p50_seconds=_latency(0.5, now, before),
        p99_seconds=_latency(0.99, now, before),
        slots=_whole(now.total("plyd_slots")),
        running=_whole(now.total("plyd_searches_running")),
        waiting=_whole(now.total("plyd_searches_waiting")),
        sessions=_whole(now.total("plyd_sessions")),
        sheds_per_second=_rate("plyd_sheds_total", now, before),
        nodes_per_second=_rate("plyd_nodes_total", now, before),
        memory_bytes=_whole(now.total("process_resident_memory_bytes")),
        cpu_cores=_rate("process_cpu_seconds_total", now, before),
        serving=tuple(now.labels("plyd_address_info", "address")),
    )


def quantile(share: float, buckets: Iterable[tuple[float, float]]) -> float | None:
    """The value that this share of all values is at or below, by a straight line within its bucket.

    Buckets are (upper bound, how many are at or below it), the last bound infinite. None if there are no values.
    """
    edges = [(0.0, 0.0), *sorted(buckets)]
    wanted = share * edges[-1][1]
    if wanted == 0:
        return None
    for (low, below), (high, within) in pairwise(edges):
        if within >= wanted:
            return low if math.isinf(high) else low + (high - low) * (wanted - below) / (within - below)
    return None


def _latency(share: float, now: Reading, before: Reading | None) -> float | None:
    """A quantile of the time that calls took which ended between the readings."""
    counts: dict[float, float] = {}
    for reading, sign in ((now, 1), (before, -1)):
        for labels, value in reading.samples.get("plyd_request_seconds_bucket", ()) if reading else ():
            if labels["method"] not in STREAMS:
                bound = float(labels["le"])
                counts[bound] = counts.get(bound, 0.0) + sign * value
    return quantile(share, counts.items()) if counts and before else None


def _rate(name: str, now: Reading, before: Reading | None) -> float | None:
    """How fast a counter grew between the readings; one that was not there had been 0."""
    if before is None or now.at <= before.at:
        return None
    return ((now.total(name) or 0.0) - (before.total(name) or 0.0)) / (now.at - before.at)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)

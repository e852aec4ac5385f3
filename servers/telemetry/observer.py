"""Observes the searches of a daemon: counts them, and traces them where tracing is on."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from plyd.engines.core.search import Report, StopReason
from plyd.servers.rpc.context import find_call
from plyd.servers.telemetry.metrics import Metrics

if TYPE_CHECKING:  # opentelemetry is installed only where traces are wanted
    from plyd.servers.telemetry.tracing import Tracing

FAILED = "failed"  # in place of a stop reason
OUT_OF_TIME = StopReason.TIME.name.lower()
Watch = Callable[[Iterator[Report], float], Iterator[Report]]


class Observer:
    """The metrics of one daemon, and its tracing if that is on."""

    def __init__(self, tracing: "Tracing | None" = None) -> None:
        self.metrics = Metrics()
        self.tracing = tracing

    def search(self, game: str, budget_seconds: float | None) -> Watch:
        """A function that passes on the reports of a search which begins to wait now, and counts them."""
        arrived = time.monotonic()
        call = find_call() if self.tracing else None

        def watch(reports: Iterator[Report], waited_seconds: float) -> Iterator[Report]:
            nodes = 0
            try:
                for report in reports:
                    self.metrics.search_went_on(game, max(0, report.nodes - nodes))
                    nodes = report.nodes
                    if report.stop_reason:
                        end(report.stop_reason.name.lower(), nodes, waited_seconds)
                    yield report
            except Exception:
                end(FAILED, nodes, waited_seconds)
                raise

        def end(reason: str, nodes: int, waited_seconds: float) -> None:
            since = time.monotonic() - arrived
            is_out_of_time = budget_seconds is not None and (reason == OUT_OF_TIME or since > budget_seconds)
            late = max(0.0, since - (budget_seconds or 0.0)) if is_out_of_time else None
            self.metrics.search_ended(game, reason, waited_seconds, since - waited_seconds, late)
            if self.tracing and call and call.span:
                self.tracing.search(call.span, game, reason, nodes, waited_seconds, since - waited_seconds)

        return watch

"""Prometheus metrics over HTTP: what a daemon has counted, and its current state."""

import http.server
import math
import platform
import socket
import socketserver
import threading
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from plyd.engines import __version__
from plyd.servers.access.addresses import Address, BadAddress, is_ip, refuse_if_taken
from plyd.servers.runtime import Runtime
from plyd.servers.telemetry.log import lines_lost
from plyd.servers.telemetry.metrics import SECONDS, Histogram

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
TIMEOUT_SECONDS = 5.0  # for a caller to send its request and to read the answer


class Exporter:
    """Answers GET /metrics and GET /healthz (200 if ready, else 503) in threads of its own.

    `names` are host names by which others may call this machine, besides its address and those of loopback.
    """

    def __init__(self, runtime: Runtime, address: Address, names: Collection[str] = ()) -> None:
        refuse_if_taken(address)
        registry = CollectorRegistry()
        registry.register(DaemonCollector(runtime))
        ProcessCollector(registry=registry)
        try:
            self._server = _Server(address, registry, runtime, names)
        except OSError as error:
            raise BadAddress(f"cannot listen on {address}: {error.strerror}") from None
        self.address = Address(address.host, self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class DaemonCollector(Collector):
    """The current metrics of one daemon; docs/metrics.md documents each of them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def collect(self) -> Iterator[Metric]:
        """Every metric."""
        yield from self._identity()
        yield from self._calls()
        yield from self._searches()
        yield from self._state()

    def _identity(self) -> Iterator[Metric]:
        yield InfoMetricFamily(
            "plyd_build", "Version of the daemon.", {"version": __version__, "python": platform.python_version()}
        )
        games = InfoMetricFamily("plyd_game", "A game that the daemon serves.", labels=["game"])
        models = InfoMetricFamily(
            "plyd_model", "The weights that play a variant.", labels=["game", "variant", "model", "sha256"]
        )
        addresses = InfoMetricFamily("plyd_address", "An address that the daemon listens on.", labels=["address"])
        for address in self._runtime.addresses:
            addresses.add_metric([address], {})
        for game, engine in self._runtime.engines.items():
            games.add_metric([game], {})
            for variant, model in engine.card.models.items():
                models.add_metric([game, variant, model.name, model.sha256], {})
        yield games
        yield models
        yield addresses

    def _calls(self) -> Iterator[Metric]:
        metrics = self._runtime.observer.metrics
        requests = CounterMetricFamily("plyd_requests", "Calls that ended.", labels=["method", "status", "client"])
        by_method: dict[str, Histogram] = {}
        for (method, status, client), histogram in list(metrics.requests.items()):
            requests.add_metric([method, status, client], sum(histogram.counts))
            whole = by_method.setdefault(method, Histogram(SECONDS))
            whole.counts = [sum(pair) for pair in zip(whole.counts, histogram.counts, strict=True)]
            whole.total += histogram.total
        yield requests
        yield _histogram("plyd_request_seconds", "Time from a call's arrival to its end.", by_method, "method")
        sheds = CounterMetricFamily("plyd_sheds", "Requests refused for lack of capacity.", labels=["reason", "client"])
        for (reason, client), count in list(metrics.sheds.items()):
            sheds.add_metric([reason, client], count)
        yield sheds
        yield CounterMetricFamily("plyd_log_lines_lost", "Log lines that could not be written.", lines_lost())

    def _searches(self) -> Iterator[Metric]:
        metrics = self._runtime.observer.metrics
        searches = CounterMetricFamily("plyd_searches", "Searches that ended.", labels=["game", "stop_reason"])
        for key, count in list(metrics.searches.items()):
            searches.add_metric(key, count)
        yield searches
        yield _counter("plyd_nodes", "Nodes searched.", "game", metrics.nodes)
        yield _histogram("plyd_search_seconds", "Time of a search in its slot.", metrics.search_seconds, "game")
        yield _histogram("plyd_queue_wait_seconds", "Time waited for a slot.", metrics.wait_seconds, "game")
        yield _histogram("plyd_overshoot_seconds", "Time searched after the time limit.", metrics.late_seconds, "game")
        yield _counter("plyd_known_answers", "Questions answered without a search.", "game", metrics.known)
        cancelled = self._runtime.searches.cancelled
        yield _counter("plyd_cancellations", "Searches whose caller left.", "state", cancelled)
        yield CounterMetricFamily("plyd_pauses", "Slots given up to another caller.", self._runtime.searches.pauses)
        dropped = self._runtime.memory.dropped
        yield CounterMetricFamily("plyd_trees_dropped", "Games that gave up their memory to others.", dropped)

    def _state(self) -> Iterator[Metric]:
        it = self._runtime
        yield GaugeMetricFamily("plyd_ready", "1 if the daemon is SERVING, else 0.", it.is_ready)
        yield GaugeMetricFamily("plyd_calls", "Running calls.", it.calls)
        yield GaugeMetricFamily("plyd_slots", "Maximum number of concurrent searches.", it.capacity.slots)
        yield GaugeMetricFamily("plyd_searches_running", "Running searches.", it.searches.running)
        yield GaugeMetricFamily("plyd_queue_limit", "Maximum number of waiting searches.", it.capacity.queue_size)
        yield GaugeMetricFamily("plyd_searches_waiting", "Searches that wait for a slot.", it.searches.waiting)
        yield GaugeMetricFamily("plyd_sessions_limit", "Maximum number of open Play streams.", it.capacity.max_sessions)
        yield GaugeMetricFamily("plyd_sessions", "Open Play streams.", it.sessions)
        limit = math.inf if it.memory.limit is None else it.memory.limit << 20
        yield GaugeMetricFamily("plyd_memory_limit_bytes", "Memory for all searches and open games.", limit)
        yield GaugeMetricFamily("plyd_memory_charged_bytes", "Memory that they hold.", it.memory.used << 20)
        reports, answers = it.known_reports.table, it.known_answers
        yield GaugeMetricFamily(
            "plyd_known_entries", "Known answers, as reports and bytes.", len(reports) + len(answers)
        )
        yield GaugeMetricFamily("plyd_known_bytes", "Memory of these, estimated.", reports.bytes + answers.bytes)
        yield GaugeMetricFamily("plyd_batches_running", "Evaluate batches being evaluated.", it.evaluations.running)
        yield GaugeMetricFamily("plyd_batches_waiting", "Evaluate batches that wait.", it.evaluations.waiting)


def _counter(name: str, text: str, label: str, counts: Mapping[str, int]) -> Metric:
    """A counter with one label."""
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in list(counts.items()):
        family.add_metric([value], count)
    return family


def _histogram(name: str, text: str, histograms: Mapping[str, Histogram], label: str) -> Metric:
    """A histogram with one label."""
    family = HistogramMetricFamily(name, text, labels=[label])
    for value, histogram in list(histograms.items()):
        counts = list(accumulate(histogram.counts))  # Prometheus counts all values at or below each bound
        bounds = [*map(str, histogram.bounds), "+Inf"]
        family.add_metric([value], list(zip(bounds, counts, strict=True)), histogram.total)
    return family


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_port = False
    request_queue_size = 128  # of 5, a burst of connections makes a probe of /healthz wait for seconds

    def __init__(self, address: Address, registry: CollectorRegistry, runtime: Runtime, names: Collection[str]) -> None:
        self.names = LOOPBACK_NAMES | {name.lower() for name in (address.host, *names)}
        self.takes_any_ip = not address.is_local
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.registry, self.runtime = registry, runtime
        super().__init__((address.host, address.port), _Handler)

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this machine.

        The check stops DNS rebinding: a site whose name resolves to this machine, opened in a browser here. Such a site
        has a name, so any IP address will do where other machines may call.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # brackets that do not close
            return False
        return name in self.names or (self.takes_any_ip and is_ip(name))

    def server_bind(self) -> None:
        """Bind without the name lookup that http.server does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "plyd", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: the caller has left."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_SECONDS

    def do_GET(self) -> None:
        """Answer a GET."""
        path = self.path.partition("?")[0]
        host = self.headers.get("Host", "localhost")  # browsers, whom the check is about, always send one
        if path == "/metrics" and not self.server.answers_to(host):
            known = ", ".join(sorted(self.server.names))
            text = f"unknown host {host[:60]!r}; this daemon's metrics answer to {known}; see metrics.name\n"
            self._send(421, "text/plain", text.encode())
        elif path == "/metrics":
            encoder, kind = choose_encoder(self.headers.get("Accept", ""))
            self._send(200, kind, encoder(self.server.registry))
        elif path == "/healthz":
            is_ready = self.server.runtime.is_ready
            self._send(200 if is_ready else 503, "text/plain", b"SERVING\n" if is_ready else b"NOT_SERVING\n")
        else:
            self._send(404, "text/plain", b"not found; try /metrics or /healthz\n")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: Prometheus reads the metrics every few seconds."""

"""OpenTelemetry traces: a span for each call, and in it one for each wait for a slot and one for each search.

Imported only where traces are wanted; needs the extra `trace`.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from plyd.engines import __version__

CONTEXT_KEYS = ("traceparent", "tracestate")
EXPORT_SECONDS = 2.0  # timeout of one export; a daemon that shuts down waits no longer than this
GOOD = ("OK", "CANCELLED")


class Tracing:
    """Sends spans to a collector in batches, in its own thread; if the collector is down, only the spans are lost."""

    def __init__(self, url: str) -> None:
        exporter = OTLPSpanExporter(endpoint=url, insecure=url.startswith("http:"), timeout=EXPORT_SECONDS)
        resource = Resource.create({SERVICE_NAME: "plyd", SERVICE_VERSION: __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("plyd", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, name: str, metadata: Iterable[tuple[str, Any]]) -> Span:
        """The span of a call that begins now, part of the caller's trace if its metadata names one."""
        carrier = {key: value for key, value in metadata if key in CONTEXT_KEYS}
        service, _, method = name.partition("/")
        return self._tracer.start_span(
            name,
            self._propagator.extract(carrier),
            SpanKind.SERVER,
            {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method},
        )

    def end(self, span: Span, status: str, fields: Mapping[str, Any]) -> None:
        """End the span of a call, with the fields of its log line as attributes."""
        span.set_attributes({f"plyd.{name}": value for name, value in fields.items()})
        span.set_attribute("plyd.status", status)
        if status not in GOOD:
            span.set_status(StatusCode.ERROR, fields.get("error"))
        span.end()

    def search(self, call: Span, game: str, reason: str, nodes: int, waited_seconds: float, seconds: float) -> None:
        """Add the spans of a search that has just ended: its wait for a slot and the search itself."""
        ended = time.time_ns()
        began = ended - int(seconds * 1e9)
        context = set_span_in_context(call)
        wait = self._tracer.start_span("wait for a slot", context, start_time=began - int(waited_seconds * 1e9))
        wait.end(began)
        attributes: dict[str, Any] = {"plyd.game": game, "plyd.stop_reason": reason, "plyd.nodes": nodes}
        search = self._tracer.start_span("search", context, attributes=attributes, start_time=began)
        if reason == "failed":
            search.set_status(StatusCode.ERROR)
        search.end(ended)

    def close(self) -> None:
        """Send the remaining spans and stop."""
        self._provider.shutdown()

"""Telemetry: what a daemon logs, counts and traces.

log           lines on stderr, for people or as JSON; requests in batches
line_writer   writes them in a thread of its own, so that the daemon never waits for their reader
observer      watches searches, for metrics and tracing
metrics       counts, as plain numbers
exporter      the counts as Prometheus metrics over HTTP
tracing       OpenTelemetry spans; imported only where traces are wanted
"""

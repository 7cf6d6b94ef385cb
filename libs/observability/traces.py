"""Traces across the API, jobs and solves: OpenTelemetry spans, sent over OTLP/HTTP if a collector is configured.

Tracing is off unless OTEL_EXPORTER_OTLP_ENDPOINT is set. A span then costs some microseconds and is dropped. The
attributes of a span are ids, names and numbers from the caller. An error adds only its type, because its text may hold
a secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORT_S_MAX = 3
"""Longest export, in seconds. A collector that does not answer must not hold up the process that sends."""
Attributes = Mapping[str, str | int] | Mapping[str, str | int | float | bool]
_tracer = trace.get_tracer("plimsoll")
_traceparent = TraceContextTextMapPropagator()


def configure_tracing(service: str) -> None:
    """Send the spans of this process to the endpoint that the environment names; do nothing if it names none."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return
    # Imported here, so that a process without tracing does not wait for the import.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    timeout = None if os.environ.get("OTEL_EXPORTER_OTLP_TIMEOUT") else _EXPORT_S_MAX
    provider = TracerProvider(resource=Resource.create({"service.name": f"plimsoll-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=timeout)))
    trace.set_tracer_provider(provider)


def flush_traces() -> None:
    """Send the spans not sent yet. Processes that run jobs call this, because they may end at any moment."""
    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush is not None:
        flush()


@contextmanager
def span(
    name: str,
    attributes: Attributes | None = None,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: str | None = None,
    link: str | None = None,
) -> Iterator[Span]:
    """Record the block as a span, within the span that is open around it.

    parent    W3C traceparent of the span that contains this one, if it is in another process
    link      traceparent of a span that this one follows from; this one then begins a trace of its own
    """
    context: Context | None = None
    links = []
    if link is not None:
        context = Context()
        links = [Link(trace.get_current_span(_context(link)).get_span_context())]
    elif parent is not None:
        context = _context(parent)
    with _tracer.start_as_current_span(
        name,
        context=context,
        kind=kind,
        attributes=attributes,
        links=links,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_status(StatusCode.ERROR)
            current.set_attribute("error.type", type(error).__name__)
            raise


def annotate(attributes: Attributes) -> None:
    """Add attributes to the span that is open."""
    trace.get_current_span().set_attributes(attributes)


def current_trace() -> str | None:
    """Return the traceparent of the open span, to continue the trace elsewhere; None without tracing."""
    carrier: dict[str, str] = {}
    _traceparent.inject(carrier)
    return carrier.get("traceparent")


def trace_ids() -> Mapping[str, str]:
    """Return the `trace_id` and `span_id` of the open span for log records; empty without tracing."""
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": trace.format_trace_id(context.trace_id), "span_id": trace.format_span_id(context.span_id)}


def _context(traceparent: str) -> Context:
    return _traceparent.extract({"traceparent": traceparent}, context=Context())

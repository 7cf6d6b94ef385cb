"""The OpenTelemetry SDK for Python sends spans to the running service: each counts for the product that caused it."""

from datetime import date

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.telemetry.span_sums import load_demand
from services.planner.reconcilers.sum_spans import SumSpans
from tests.libs.web.conftest import bearer
from tests.services.planner.intake.conftest import WORDS, serving

STORE, FRONT, FINDER = range(3)
SHOP, SEARCH = range(2)


def provider_of(service, url, headers):
    """Return the tracer provider that a program of this service sets up."""
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", headers=headers, compression=Compression.Gzip)
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def test_spans_of_the_sdk_belong_to_the_product_that_caused_them(make_app, database, gateways):
    headers = bearer(database, Role.TELEMETRY, "collector")
    with serving(make_app()) as url:
        providers = {name: provider_of(name, url, headers) for name in ("front", "finder", "store")}
        tracers = {name: provider.get_tracer("test") for name, provider in providers.items()}
        for caller, operation, lookups in (("front", "GET /", 2), ("finder", "GET /find", 5), ("front", "GET /", 1)):
            with tracers[caller].start_as_current_span(operation, kind=SpanKind.SERVER):
                for _ in range(lookups):
                    with (
                        tracers[caller].start_as_current_span("call store", kind=SpanKind.CLIENT),
                        tracers["store"].start_as_current_span("Get", kind=SpanKind.SERVER) as span,
                    ):
                        span.set_attribute("cpu.instructions", 1000)
        assert trace.get_current_span() is trace.INVALID_SPAN
        for provider in providers.values():
            provider.shutdown()
    sums = SumSpans(database, SystemClock(), 0.0).reconcile()
    assert sums is not None
    with database.snapshot() as tx:
        demand, _ = load_demand(tx, WORDS, date(2026, 1, 1), date(2100, 1, 1))
    assert demand.spans.tolist() == demand.attributed.tolist() == [8, 2 + 3, 1 + 5, 0]
    assert demand.cost["calls"].sum(0)[STORE, :2].tolist() == [3, 5]
    assert demand.cost["cpu"].sum(0)[STORE, :2].tolist() == [3000, 5000]
    assert demand.gateway.sum(0).tolist() == [2, 1, 0]
    assert demand.edges.between(FRONT, STORE) == 3
    assert demand.edges.between(FINDER, STORE) == 5

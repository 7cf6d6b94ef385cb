"""OTLP in its JSON form, an ExportTraceServiceRequest a line, as the OpenTelemetry Collector's file exporter writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from libs.domain.spans import Spans
from libs.interchange.traces.intake import KIND_OF_OTLP, Intake, Rows

CPU = "cpu.instructions"
PROBABILITY = "sampling.probability"
NAN = float("nan")


def read_otlp_json(content: bytes, intake: Intake) -> Spans:
    """The spans of one export request. What is no span is counted in `intake.malformed`, the rest is taken."""
    rows = Rows()
    add_otlp_json(content, intake, rows)
    return rows.spans()


def add_otlp_json(content: bytes, intake: Intake, rows: Rows) -> None:
    """Append the spans of one export request to the rows."""
    try:
        resources = orjson.loads(content)["resourceSpans"]
        for resource in resources:
            service = _service(resource)
            number, operations = intake.service(service), intake.operations(service)
            for scope in resource.get("scopeSpans", ()):
                _add(scope.get("spans", ()), number, operations, intake, rows)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        intake.malformed += 1


def _service(resource: Mapping[str, Any]) -> str:
    for attribute in resource["resource"]["attributes"]:
        if attribute["key"] == "service.name":
            return str(attribute["value"]["stringValue"])
    return "unknown_service"  # what OpenTelemetry's own exporters say


def _add(spans: Any, service: int, operations: Mapping[str, int], intake: Intake, rows: Rows) -> None:
    for span in spans:
        try:
            cpu = probability = NAN
            for attribute in span.get("attributes", ()):
                key = attribute["key"]
                if key == CPU:
                    cpu = _number(attribute["value"])
                elif key == PROBABILITY:
                    probability = _number(attribute["value"])
            trace, identifier, parent = span["traceId"], span["spanId"], span.get("parentSpanId", "")
            start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            kind = KIND_OF_OTLP[span.get("kind", 0)]
            int(trace, 16), int(identifier, 16), int(parent or "0", 16)
            if len(trace) != 32 or len(identifier) != 16 or len(parent) not in (0, 16):
                raise ValueError
        except (LookupError, TypeError, ValueError, AttributeError):
            intake.malformed += 1
            continue
        rows.trace.append(trace)
        rows.span.append(identifier)
        rows.parent.append(parent)
        rows.service.append(service)
        rows.gateway.append(operations.get(span.get("name", ""), -1))
        rows.kind.append(kind)
        rows.start_ns.append(start)
        rows.end_ns.append(end)
        rows.cpu.append(cpu)
        rows.probability.append(probability)


def _number(value: Mapping[str, Any]) -> float:
    """An attribute's number, whichever of its forms it has: 64-bit integers are strings in this protocol."""
    for form in ("intValue", "doubleValue", "stringValue"):
        if form in value:
            return float(value[form])
    return NAN

"""OTLP in its JSON form, an ExportTraceServiceRequest a line: what the OpenTelemetry Collector writes to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from libs.interchange.traces.intake import (
    CPU,
    KIND_OF_OTLP,
    NAN,
    PROBABILITY,
    UNKNOWN,
    Intake,
    Rows,
    probability_of,
)


def add_otlp_json(content: bytes, intake: Intake, rows: Rows) -> None:
    """Append the spans of one export request. What is no span is counted in `intake.malformed`, the rest is taken."""
    try:
        for resource in orjson.loads(content)["resourceSpans"]:
            service = _service(resource)
            number, operations = intake.service(service), intake.operations(service)
            for scope in resource.get("scopeSpans", ()):
                _add(scope.get("spans", ()), number, operations, intake, rows)
    except (ValueError, LookupError, TypeError, AttributeError):
        intake.malformed += 1


def _service(resource: Mapping[str, Any]) -> str:
    for attribute in resource.get("resource", {}).get("attributes", ()):
        if attribute["key"] == "service.name":
            return str(attribute["value"]["stringValue"])
    return UNKNOWN


def _add(spans: Any, service: int, operations: Mapping[str, int], intake: Intake, rows: Rows) -> None:
    fromhex = bytes.fromhex
    for span in spans:
        try:
            cpu = probability = NAN
            for attribute in span.get("attributes", ()):
                key = attribute["key"]
                if key == CPU:
                    cpu = _number(attribute["value"])
                elif key == PROBABILITY:
                    probability = _number(attribute["value"])
            state = span.get("traceState")
            if state and probability != probability:
                probability = probability_of(state)
            trace, identifier, parent = (
                fromhex(span["traceId"]),
                fromhex(span["spanId"]),
                fromhex(span.get("parentSpanId", "")),
            )
            gateway, kind = operations.get(span.get("name", ""), -1), KIND_OF_OTLP[span.get("kind", 0)]
            took_ns = int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
        except (LookupError, TypeError, ValueError, AttributeError):
            intake.malformed += 1
            continue
        rows.trace.append(trace)
        rows.span.append(identifier)
        rows.parent.append(parent)
        rows.service.append(service)
        rows.gateway.append(gateway)
        rows.kind.append(kind)
        rows.took_ns.append(took_ns)
        rows.cpu.append(cpu)
        rows.probability.append(probability)


def _number(value: Mapping[str, Any]) -> float:
    """An attribute's number, whichever of its forms it has: 64-bit integers are strings in this protocol."""
    for form in ("intValue", "doubleValue", "stringValue"):
        if form in value:
            return float(value[form])
    return NAN

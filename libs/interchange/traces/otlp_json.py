"""Read OTLP in JSON, one ExportTraceServiceRequest per line, as the OpenTelemetry Collector writes it to files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from libs.interchange.files.decoded import TooLarge, objects_in, require_few_objects
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
from libs.interchange.traces.otlp_form import ATTRIBUTES_MAX, OtlpForm, Scope
from libs.interchange.traces.otlp_wire import PARTS_MAX


def _parse(content: bytes) -> Any:
    require_few_objects(objects_in(content))
    request = orjson.loads(content)
    if request == {}:  # an empty export, which must succeed by the protocol
        return {"resourceSpans": []}
    if not isinstance(request, dict) or not isinstance(request.get("resourceSpans"), list):
        raise ValueError("has no list resourceSpans")
    return request


def _scopes(request: Mapping[str, Any]) -> Iterator[Scope]:
    parts = _few(len(request["resourceSpans"]))
    for r, resource in enumerate(request["resourceSpans"]):
        where = f"resourceSpans[{r}]"
        try:
            service, scopes = _service(resource), list(resource.get("scopeSpans") or ())
        except (LookupError, TypeError, AttributeError):
            yield Scope(where, UNKNOWN, None)
            continue
        parts = _few(parts + len(scopes))
        for s, scope in enumerate(scopes):
            spans = (scope.get("spans") or []) if isinstance(scope, dict) else None
            parts = _few(parts + (len(spans) if isinstance(spans, list) else 0))
            yield Scope(f"{where}.scopeSpans[{s}]", service, spans if isinstance(spans, list) else None)


def _few(parts: int) -> int:
    if parts > PARTS_MAX:
        raise TooLarge(f"has more than {PARTS_MAX:,} resources, scopes and spans")
    return parts


def _service(resource: Mapping[str, Any]) -> str:
    for attribute in (resource.get("resource") or {}).get("attributes") or ():
        if attribute["key"] == "service.name":
            return str(attribute["value"]["stringValue"])
    return UNKNOWN


def _add(spans: Any, service: int, operations: Mapping[str, int], intake: Intake, rows: Rows) -> None:
    fromhex = bytes.fromhex
    for span in spans:
        try:
            cpu = probability = NAN
            attributes = span.get("attributes") or ()
            if len(attributes) > ATTRIBUTES_MAX:
                raise ValueError(f"a span of more than {ATTRIBUTES_MAX} attributes")
            for attribute in attributes:
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
    """Return an attribute's number in any of its forms; 64-bit integers are strings in this protocol."""
    for form in ("intValue", "doubleValue", "stringValue"):
        if form in value:
            return float(value[form])
    return NAN


OTLP_JSON = OtlpForm(_parse, _scopes, _add)

"""Read Jaeger JSON, as its query service and web pages export it: traces with spans and processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from libs.domain.spans import INTERNAL
from libs.interchange.traces.intake import CPU, KIND_OF_NAME, NAN, PROBABILITY, UNKNOWN, Intake, Rows, padded


def add_jaeger(content: bytes, intake: Intake, rows: Rows) -> None:
    """Append the spans of all traces of a document. Raises ValueError if it holds no list of traces."""
    document = orjson.loads(content)
    try:
        traces = list(document["data"])
    except (LookupError, TypeError) as error:
        raise ValueError("has no list `data` of traces") from error
    for trace in traces:
        try:
            services = {key: str(p.get("serviceName") or UNKNOWN) for key, p in trace.get("processes", {}).items()}
            spans = list(trace["spans"])
        except (LookupError, TypeError, AttributeError):
            intake.malformed += 1
            continue
        for span in spans:
            try:
                _add(span, services.get(span.get("processID"), UNKNOWN), intake, rows)
            except (LookupError, TypeError, ValueError, AttributeError):
                intake.malformed += 1


def _add(span: Mapping[str, Any], service: str, intake: Intake, rows: Rows) -> None:
    tags = {tag["key"]: tag.get("value") for tag in span.get("tags") or ()}
    probability = tags.get(PROBABILITY)
    if probability is None and tags.get("sampler.type") == "probabilistic":
        probability = tags.get("sampler.param")
    parent = _parent(span)
    rows.add(
        padded(span["traceID"], 32),
        padded(span["spanID"], 16),
        padded(parent, 16) if parent else b"",
        intake.service(service),
        intake.operations(service).get(span.get("operationName") or "", -1),
        KIND_OF_NAME.get(str(tags.get("span.kind", "")).upper(), INTERNAL),
        int(span.get("duration", 0)) * 1_000,
        float(tags.get(CPU, NAN)),
        NAN if probability is None else float(probability),
    )


def _parent(span: Mapping[str, Any]) -> str:
    """Return the id of the caller in the same trace: by CHILD_OF, or else FOLLOWS_FROM; "" if there is none."""
    references = [r for r in span.get("references") or () if r.get("traceID", span["traceID"]) == span["traceID"]]
    references.sort(key=lambda r: r.get("refType") != "CHILD_OF")
    return str(references[0]["spanID"]) if references else str(span.get("parentSpanID") or "")

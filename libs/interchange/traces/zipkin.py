"""Read Zipkin v2 JSON: a list of spans."""

from __future__ import annotations

import orjson

from libs.domain.spans import INTERNAL, SERVER
from libs.interchange.traces.intake import CPU, KIND_OF_NAME, NAN, PROBABILITY, UNKNOWN, Intake, Rows, padded


def add_zipkin(content: bytes, intake: Intake, rows: Rows) -> None:
    """Append the spans of a list. Both halves of a call may have the same id; the server's half then has `shared`."""
    for span in orjson.loads(content):
        try:
            service = str((span.get("localEndpoint") or {}).get("serviceName") or UNKNOWN)
            tags, kind = span.get("tags") or {}, KIND_OF_NAME.get(span.get("kind"), INTERNAL)
            number, gateway = intake.service(service), intake.operations(service).get(span.get("name") or "", -1)
            parent = span.get("parentId")
            rows.add(
                padded(span["traceId"], 32),
                padded(span["id"], 16),
                padded(parent, 16) if parent else b"",
                number,
                gateway,
                kind,
                int(span.get("duration", 0)) * 1_000,
                float(tags.get(CPU, NAN)),
                float(tags.get(PROBABILITY, NAN)),
            )
            if span.get("shared") and kind == SERVER:
                rows.shared.add(len(rows) - 1)
        except (LookupError, TypeError, ValueError, AttributeError):
            intake.malformed += 1

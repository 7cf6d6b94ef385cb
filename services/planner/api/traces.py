"""`/v1/traces`: spans over OTLP/HTTP, from any OpenTelemetry SDK or Collector.

Answers, refusals and errors have the form of that protocol: `services.planner.otlp_errors`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request, Response
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from libs.domain.principal import Role
from libs.interchange.files.decoded import TooLarge, charge, charge_json
from libs.interchange.files.gunzip import TooLong, gunzip
from libs.interchange.traces.intake import TooManyServicesError
from libs.interchange.traces.otlp_export import WANTED, Export, read_export
from libs.interchange.traces.otlp_json import OTLP_JSON
from libs.interchange.traces.otlp_proto import OTLP_PROTO
from libs.interchange.traces.otlp_wire import decoded_bytes
from libs.web.auth import Asking, require
from libs.web.decoding import Slot, room
from libs.web.openapi import problems
from libs.web.problems import Problem
from services.planner.span_intake import Kept, SpanDoor
from services.planner.span_metrics import REFUSED, SPANS

router = APIRouter(prefix="/v1/traces", tags=["telemetry"])
BODY_BYTES_MAX = 16 << 20
"""Limit of an export as sent. For scale: a Collector's batch of 8,192 spans is 2 MB unpacked."""
UNPACKED_BYTES_MAX = 6 << 20
"""Limit of an unpacked export: three batches of a Collector.

A parser blocks all other threads, also the one for /healthz, so its input must be small.
"""
BODY_S_MAX = 30.0
PROTOBUF, JSON = "application/x-protobuf", "application/json"
FORMS = {PROTOBUF: OTLP_PROTO, JSON: OTLP_JSON}
_CONTENT = {PROTOBUF: {"schema": {"type": "string", "format": "binary"}}, JSON: {"schema": {"type": "object"}}}
_STATUS = _CONTENT | {
    JSON: {
        "schema": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
        }
    }
}
"""A google.rpc.Status. `services.planner.otlp_errors` makes it from every problem."""


async def _body(request: Request, door: SpanDoor) -> AsyncIterator[bytes]:
    """Yield the body as sent. Until the answer is sent, its bytes count against this process's memory bound."""
    announced = request.headers.get("Content-Length", "")
    size = int(announced) if announced.isdecimal() else BODY_BYTES_MAX
    try:
        await asyncio.to_thread(door.enter, size)
    except Problem:
        REFUSED.inc()
        raise
    try:
        async with asyncio.timeout(BODY_S_MAX):
            body = await request.body()
        yield body
    except TimeoutError as error:
        raise Problem(408, "too_slow", f"The body did not arrive within {BODY_S_MAX:g} s.") from error
    finally:
        door.leave(size)


@router.post(
    "",
    operation_id="export_traces",
    response_class=Response,
    dependencies=[Depends(require(Role.TELEMETRY)), Depends(room)],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": _CONTENT,
        }
    },
    responses={
        200: {
            "description": "An ExportTraceServiceResponse; partialSuccess lists the rejected spans and where they are",
            "content": _CONTENT,
        },
        **problems(400, 401, 403, 408, 413, 415, 422, 429, 500, 503, content=_STATUS),
    },
)
def post_traces(
    request: Request, body: Annotated[bytes, Depends(_body)], door: SpanDoor, principal: Asking, _slot: Slot
) -> Response:
    """Store the spans of an ExportTraceServiceRequest. They are stored before the answer acknowledges them.

    Invalid spans are left out and named in partialSuccess. 429 and 503 ask to send the same again after Retry-After.
    """
    media = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media not in FORMS:
        raise Problem(415, "unsupported_media_type", f"Send Content-Type: {PROTOBUF} or {JSON}.")
    content = _unpacked(body, request.headers.get("Content-Encoding", "identity").strip().lower())
    try:
        if media == JSON:
            charge_json(content)
        else:
            charge(decoded_bytes(content))
        export = read_export(FORMS[media], content, door.reader())
    except TooLarge as error:
        raise Problem(413, "too_large", f"The body {error}.") from error
    except ValueError as error:
        raise Problem(400, "bad_request", f"The body is no export of spans: {str(error)[:200]}.") from error
    except TooManyServicesError as error:
        raise Problem(400, "bad_request", f"The body names {error}.") from error
    try:
        kept = door.keep(export.spans, export.services, named_by=principal.name, rejected=export.malformed)
    except Problem:
        REFUSED.inc()
        raise
    SPANS.labels("kept").inc(kept.spans)
    SPANS.labels("rejected").inc(kept.rejected)
    return _answer(media, kept.rejected, _said(export, kept))


def _said(export: Export, kept: Kept) -> str:
    said = []
    if export.malformed:
        said.append(f"{export.malformed} left out, of these {', '.join(export.bad)}: {WANTED}")
    if kept.unnamed:
        named = ", ".join(repr(name[:80]) for name in kept.unnamed[:3])
        why = "are no names, or more than this token may bring"
        said.append(f"{len(kept.unnamed)} services {why}, and their spans were left out: {named}")
    return "; ".join(said)


def _answer(media: str, rejected: int, message: str) -> Response:
    if media == JSON:
        partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}} if rejected else {}
        return Response(orjson.dumps(partial), media_type=JSON)
    answer: Any = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans, answer.partial_success.error_message = rejected, message
    return Response(answer.SerializeToString(), media_type=PROTOBUF)


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding == "identity":
        return body
    if encoding != "gzip":
        raise Problem(415, "unsupported_media_type", "Send Content-Encoding: gzip, or none.")
    try:
        content = gunzip(body, UNPACKED_BYTES_MAX)
    except TooLong as error:
        raise Problem(
            413, "too_large", f"The body unpacks to more than the {UNPACKED_BYTES_MAX} bytes taken."
        ) from error
    except ValueError as error:
        raise Problem(400, "bad_request", f"The body {error}.") from error
    return content

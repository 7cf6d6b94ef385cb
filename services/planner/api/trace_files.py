"""`/v1/trace-files`: span files of other tracing systems and of the OpenTelemetry Collector."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, File, Response, UploadFile
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.spans import Spans, join_spans
from libs.interchange.files.decoded import charge
from libs.interchange.files.errors import InterchangeError
from libs.interchange.traces.intake import Intake, Rows, TooManyServicesError
from libs.interchange.traces.readers import read_trace_stream
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.decoding import Slot, room
from libs.web.idempotency import Answer, Write
from libs.web.model import ResponseModel
from libs.web.problems import FieldError, Problem, invalid
from services.planner.span_intake import SpanDoor, SpanIntake

router = APIRouter(prefix="/v1/trace-files", tags=["telemetry"])
FILE_BYTES_MAX = 256_000_000
UNPACKED_BYTES_MAX = 2_000_000_000
FILE_SPANS_MAX = 1_000_000
FILE_PARTS_MAX = 2 * FILE_SPANS_MAX
"""Lines, messages and invalid items in a file. They take as much time as spans."""
SPANS_BYTES = 100 << 20
"""Memory for FILE_SPANS_MAX spans: as arrays, as values before that, and as the written bytes."""


class TraceFileOut(ResponseModel):
    """The result of reading a file."""

    spans: int = Field(description="Spans of this file that now wait to be summed")
    rejected: int = Field(description="Items that are not valid spans, or whose service has no usable name")


@router.post(
    "",
    operation_id="send_trace_file",
    response_model=TraceFileOut,
    dependencies=[Depends(require(Role.TELEMETRY)), Depends(room)],
)
def post_trace_file(
    file: Annotated[UploadFile, File(description="The suffix of the file name gives the format; see docs/flux.md")],
    write: Write,
    door: SpanDoor,
    principal: Asking,
    _slot: Slot,
) -> Response:
    """Store the spans of a file, all or none. An answer of 429 asks to send the file again after Retry-After."""
    write = write.about(file.file)
    charge(SPANS_BYTES)
    intake, spans = _read(door, file)
    door.require_room(len(spans))

    def effect(tx: Transaction) -> Answer:
        services = tuple(intake.services)
        kept = door.keep_in(tx, spans, services, named_by=principal.name, rejected=intake.malformed)
        return Answer(200, TraceFileOut(spans=kept.spans, rejected=kept.rejected))

    return write.once(effect)


def _read(door: SpanIntake, file: UploadFile) -> tuple[Intake, Spans]:
    intake, name, parts = door.reader(), (file.filename or "")[-200:], []
    intake.parts_max = FILE_PARTS_MAX
    try:
        for part in read_trace_stream(file.file, name, intake, unpacked_bytes_max=UNPACKED_BYTES_MAX):
            parts.append(part)
            if sum(map(len, parts)) >= min(FILE_SPANS_MAX, door.settings.spans_waiting_max):
                raise Problem(413, "too_large", f"{name} has more spans than one request may bring: split it.")
    except InterchangeError as error:
        raise invalid(FieldError(field="file", location="body", code="bad_file", message=str(error)[:500])) from error
    except TooManyServicesError as error:
        raise invalid(FieldError(field="file", location="body", code="bad_file", message=f"names {error}")) from error
    return intake, join_spans(parts) if parts else Rows(intake).spans()

"""Read spans from a CSV table as in the Nezha data set: TraceID, SpanID, ParentID, PodName, OperationName, times."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from typing import BinaryIO

from libs.domain.spans import INTERNAL, Spans
from libs.interchange.traces.intake import NAN, Intake, Rows, padded

_LINE_BYTES_MAX = 1 << 20
FIELDS = ("TraceID", "SpanID", "ParentID", "PodName", "OperationName", "StartTimeUnixNano", "EndTimeUnixNano")
ROOT = "root"


def read_span_csv(stream: BinaryIO, intake: Intake, batch: int) -> Iterator[Spans]:
    """Yield spans in batches. The name of a service is the name of the pod without the two suffixes of its deployment.

    Raises ValueError if a column is missing.
    """
    table = csv.DictReader(codecs.iterdecode(_lines(stream, intake), "utf-8"))
    try:
        missing = [field for field in FIELDS if field not in (table.fieldnames or ())]
    except csv.Error as error:  # csv.Error is not a ValueError
        raise ValueError(f"is no CSV: {error}") from error
    if missing:
        raise ValueError(f"lacks the columns {', '.join(missing)}")
    rows = Rows(intake)
    for row in _rows(table):
        try:
            service = row["PodName"].rsplit("-", 2)[0]
            parent = row["ParentID"]
            rows.add(
                padded(row["TraceID"], 32),
                padded(row["SpanID"], 16),
                b"" if parent == ROOT else padded(parent, 16),
                intake.service(service),
                intake.operations(service).get(row["OperationName"], -1),
                INTERNAL,
                int(row["EndTimeUnixNano"]) - int(row["StartTimeUnixNano"]),
                NAN,
                NAN,
            )
        except (TypeError, ValueError, AttributeError):
            intake.malformed += 1
        if len(rows) >= batch:
            yield rows.spans()
            rows = Rows(intake)
    if len(rows):
        yield rows.spans()


def _rows(table: csv.DictReader[str]) -> Iterator[dict[str, str]]:
    try:
        yield from table
    except csv.Error as error:
        raise ValueError(f"is no CSV: {error}") from error


def _lines(stream: BinaryIO, intake: Intake) -> Iterator[bytes]:
    while line := stream.readline(_LINE_BYTES_MAX + 1):
        if len(line) > _LINE_BYTES_MAX:
            raise ValueError(f"has a line of more than {_LINE_BYTES_MAX >> 20} MiB")
        intake.look()  # counted here, because the CSV reader skips empty lines
        yield line

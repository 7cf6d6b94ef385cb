"""Read an uploaded table of measurements, and write its samples. Usage and traffic share this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, Query, Request, Response
from pydantic import Field

from libs.domain.telemetry import Samples
from libs.interchange.files.errors import InterchangeError
from libs.interchange.world.measurements import Series
from libs.reconcile.environment import read_environment
from libs.store.platform.database import Transaction
from libs.store.telemetry.measures import Measure, put_samples
from libs.web.auth import Asking
from libs.web.bad_files import bad_files
from libs.web.context import Context
from libs.web.decoding import Slot
from libs.web.idempotency import Answer, Write
from libs.web.model import ResponseModel, Time
from libs.web.problems import Problem
from services.planner.telemetry_settings import TelemetrySettings

TABLE_BYTES_MAX = 32_000_000
"""Bytes of a table; a million rows of CSV. Joining the pieces of a body blocks all other threads, so bound it.

`plimsoll flux send` splits larger tables. PLIMSOLL_DECODING_BYTES bounds the rows of Parquet: 160 bytes each.
"""
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
_SUFFIXES = {CSV: "csv", PARQUET: "parquet"}
_BINARY = {"type": "string", "format": "binary"}
REQUEST_BODY = {
    "requestBody": {"required": True, "content": {CSV: {"schema": {"type": "string"}}, PARQUET: {"schema": _BINARY}}}
}
_AHEAD = timedelta(days=1)
"""Allowed lead of a sender's clock. A larger lead is a mistake."""
Load = Callable[..., tuple[Series, Samples]]


class MeasurementsOut(ResponseModel):
    """The result of reading a table."""

    samples: int
    series: int
    first_minute_at: datetime | None = Field(description="null: the table has no rows")
    last_minute_at: datetime | None


async def _content(request: Request) -> bytes:
    return await request.body()


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded table, and how to keep it."""

    context: Context
    write: Write
    named_by: str
    content: bytes
    media: str
    minute_zero: datetime
    dry_run: bool

    def keep(self, measure: Measure, load: Load) -> Response:
        """Write all rows or none, over existing samples of the same minutes. Raises Problem (415, 422)."""
        settings, now = read_environment(TelemetrySettings), self.context.clock.now()
        if self.media not in _SUFFIXES:
            raise Problem(415, "unsupported_media_type", f"Send Content-Type: {CSV} or {PARQUET}.")
        try:
            series, samples = load(
                {f"{measure.noun}.{_SUFFIXES[self.media]}": self.content},
                minute_zero=_minute(self.minute_zero),
                first=_minute(now - timedelta(days=settings.telemetry_kept_days)),
                end=_minute(now + _AHEAD),
            )
        except InterchangeError as error:
            raise bad_files(error) from error
        out = _out(series, samples)

        def effect(tx: Transaction) -> Answer:
            if not self.dry_run:
                put_samples(tx, measure, series, samples, series_max=settings.series_max, named_by=self.named_by)
            return Answer(200, out)

        return self.write.once(effect)


def _upload(
    request: Request,
    context: Context,
    write: Write,
    principal: Asking,
    content: Annotated[bytes, Depends(_content)],
    _slot: Slot,
    minute_zero: Annotated[
        Time, Query(description="The moment of the table's minute 0; if omitted, minutes count from 1970, UTC")
    ] = datetime(1970, 1, 1, tzinfo=UTC),
    dry_run: Annotated[bool, Query(description="Read and check the table without keeping it")] = False,
) -> Upload:
    media = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Upload(context, write, principal.name, content, media, minute_zero, dry_run)


Uploaded = Annotated[Upload, Depends(_upload)]
"""A parameter of a route: the table in the body of the request."""


def _minute(at: datetime) -> int:
    return int(at.timestamp() // 60)


def _out(series: Series, samples: Samples) -> MeasurementsOut:
    ends = (samples.minute.min(), samples.minute.max()) if len(samples) else ()
    first, last = (datetime.fromtimestamp(int(end) * 60, UTC) for end in ends) if ends else (None, None)
    return MeasurementsOut(samples=len(samples), series=len(series), first_minute_at=first, last_minute_at=last)

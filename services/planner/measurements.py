"""What both uploads of measurements do: read a table that came as a body, and write its samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, Query, Request, Response
from pydantic import AwareDatetime, Field

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
from libs.web.model import ResponseModel
from libs.web.problems import Problem
from services.planner.telemetry_settings import TelemetrySettings

TABLE_BYTES_MAX = 32_000_000
"""A million rows of CSV: putting the pieces of a body together lets no other thread run. `plimsoll flux send` splits.

PLIMSOLL_DECODING_BYTES bounds the rows of Parquet: 160 bytes each."""
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
_SUFFIXES = {CSV: "csv", PARQUET: "parquet"}
_BINARY = {"type": "string", "format": "binary"}
REQUEST_BODY = {
    "requestBody": {"required": True, "content": {CSV: {"schema": {"type": "string"}}, PARQUET: {"schema": _BINARY}}}
}
_AHEAD = timedelta(days=1)
"""Clocks differ; more than this is a mistake."""
Load = Callable[..., tuple[Series, Samples]]


class MeasurementsOut(ResponseModel):
    """What a table came to."""

    samples: int
    series: int
    first_minute_at: datetime | None = Field(description="null: the table has no rows")
    last_minute_at: datetime | None


async def _content(request: Request) -> bytes:
    return await request.body()


@dataclass(frozen=True, slots=True)
class Upload:
    """A table that somebody sends, and how to keep it."""

    context: Context
    write: Write
    named_by: str
    content: bytes
    media: str
    minute_zero: datetime
    dry_run: bool

    def keep(self, measure: Measure, load: Load) -> Response:
        """All rows or none; what is there for a minute is written over. Raises Problem (415, 422)."""
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
        AwareDatetime, Query(description="When the table's minute 0 was; left out: its minutes count from 1970, UTC")
    ] = datetime(1970, 1, 1, tzinfo=UTC),
    dry_run: Annotated[bool, Query(description="Read and judge the table, and keep nothing")] = False,
) -> Upload:
    media = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Upload(context, write, principal.name, content, media, minute_zero, dry_run)


Uploaded = Annotated[Upload, Depends(_upload)]
"""A parameter of a route: the table that came as its body."""


def _minute(at: datetime) -> int:
    return int(at.timestamp() // 60)


def _out(series: Series, samples: Samples) -> MeasurementsOut:
    ends = (samples.minute.min(), samples.minute.max()) if len(samples) else ()
    first, last = (datetime.fromtimestamp(int(end) * 60, UTC) for end in ends) if ends else (None, None)
    return MeasurementsOut(samples=len(samples), series=len(series), first_minute_at=first, last_minute_at=last)

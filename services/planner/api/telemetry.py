"""`/v1/telemetry`: what has come in, and what traces showed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from libs.store.telemetry.measures import TRAFFIC, USAGE, count_measured
from libs.store.telemetry.span_batches import count_waiting
from libs.store.telemetry.summary import list_traced_callers, list_traced_services, load_trace_days
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.model import PageOf, ResponseModel
from services.planner.span_intake import SpanDoor

router = APIRouter(prefix="/v1/telemetry", tags=["telemetry"])
_SERVICES, _CALLERS = "traced-services", "traced-callers"
Days = Annotated[int, Query(ge=1, le=366, description="Of the last so many days, today included")]


class WaitingOut(ResponseModel):
    """Spans that are kept and not summed yet."""

    spans: int
    batches: int
    oldest_at: datetime | None = Field(description="Real time, not the Clock's")
    oldest_s: float
    spans_max: int = Field(description="Beyond, exports are answered with 429")


class TraceDayOut(ResponseModel):
    """Spans of a day, by what became of them."""

    day: date
    received: int
    attributed: int = Field(description="To a product")
    orphaned: int = Field(description="Their callers never came, and with them the product")
    late: int = Field(description="Of a trace that had been summed before")
    duplicates: int
    rejected: int = Field(description="No spans, or of services that cannot be named; not among received")


class MeasuredOut(ResponseModel):
    """How much of a measure there is."""

    series: int
    first_hour_at: datetime | None
    last_hour_at: datetime | None


class TelemetryOut(ResponseModel):
    """What has come in."""

    waiting: WaitingOut
    days: list[TraceDayOut] = Field(description="The latest first")
    usage: MeasuredOut
    traffic: MeasuredOut


class TracedServiceOut(ResponseModel):
    """Spans of a service."""

    name: str
    spans: int
    attributed: int
    orphaned: int


class TracedCallerOut(ResponseModel):
    """Whom a service calls, and how often that was seen."""

    name: str
    calls: dict[str, int]


@router.get("", operation_id="get_telemetry")
def get_telemetry(context: Context, door: SpanDoor, days: Days = 7) -> TelemetryOut:
    """What waits, what became of the spans of each day, and what was measured."""
    with context.database.snapshot() as tx:
        waiting = count_waiting(tx)
        found = load_trace_days(tx, first=_first(context, days))
        usage, traffic = count_measured(tx, USAGE), count_measured(tx, TRAFFIC)
    return TelemetryOut(
        waiting=WaitingOut(**asdict(waiting), spans_max=door.settings.spans_waiting_max),
        days=[TraceDayOut.model_validate(day) for day in found],
        usage=MeasuredOut.model_validate(usage),
        traffic=MeasuredOut.model_validate(traffic),
    )


@router.get("/services", operation_id="list_traced_services")
def get_services(context: Context, paging: Paging, days: Days = 7) -> PageOf[TracedServiceOut]:
    """The services that spans named."""
    after = paging.after(_SERVICES)
    with context.database.snapshot() as tx:
        page = list_traced_services(tx, first=_first(context, days), after=after, limit=paging.limit)
    items = [
        TracedServiceOut(name=one.name, spans=one.spans, attributed=one.attributed, orphaned=one.orphaned)
        for one in page.items
    ]
    return PageOf(items=items, next_cursor=next_cursor(_SERVICES, page.next_cursor))


@router.get("/callers", operation_id="list_traced_callers")
def get_callers(context: Context, paging: Paging, days: Days = 7) -> PageOf[TracedCallerOut]:
    """Who calls whom."""
    after = paging.after(_CALLERS)
    with context.database.snapshot() as tx:
        page = list_traced_callers(tx, first=_first(context, days), after=after, limit=paging.limit)
    items = [TracedCallerOut(name=one.name, calls=one.calls) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_CALLERS, page.next_cursor))


def _first(context: WebContext, days: int) -> date:
    return context.clock.now().date() - timedelta(days=days - 1)

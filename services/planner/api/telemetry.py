"""`/v1/telemetry`: the amount of telemetry received, and the services and calls in traces."""

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
Days = Annotated[int, Query(ge=1, le=366, description="Number of latest days, today included")]


class WaitingOut(ResponseModel):
    """Stored spans that are not summed yet."""

    spans: int
    batches: int
    oldest_at: datetime | None = Field(description="When the oldest was stored, in real time and not the Clock's")
    oldest_s: float
    spans_max: int = Field(description="Largest number of waiting spans. Above it, exports are answered with 429")


class TraceDayOut(ResponseModel):
    """The spans of a day, by outcome."""

    day: date
    received: int
    attributed: int = Field(description="Spans attributed to a product")
    orphaned: int = Field(description="Spans whose product is unknown, because the caller's span never came")
    late: int = Field(description="Spans that came after their trace was summed")
    duplicates: int
    rejected: int = Field(
        description="Items that are not valid spans, or whose service has no usable name. `received` leaves them out"
    )


class MeasuredOut(ResponseModel):
    """The amount of data of one measure."""

    series: int
    first_hour_at: datetime | None
    last_hour_at: datetime | None


class TelemetryOut(ResponseModel):
    """The amount of telemetry received."""

    waiting: WaitingOut
    days: list[TraceDayOut] = Field(description="Latest day first")
    usage: MeasuredOut
    traffic: MeasuredOut


class TracedServiceOut(ResponseModel):
    """The spans of a service."""

    name: str
    spans: int
    attributed: int
    orphaned: int


class TracedCallerOut(ResponseModel):
    """A service, one of the services that it calls, and how often spans showed that call."""

    name: str
    calls: dict[str, int]


@router.get("", operation_id="get_telemetry")
def get_telemetry(context: Context, door: SpanDoor, days: Days = 7) -> TelemetryOut:
    """Return waiting spans, the outcome of spans per day, and the amount of measurements."""
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
    """List the services named in spans."""
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
    """List the pairs of caller and called service."""
    after = paging.after(_CALLERS)
    with context.database.snapshot() as tx:
        page = list_traced_callers(tx, first=_first(context, days), after=after, limit=paging.limit)
    items = [TracedCallerOut(name=one.name, calls=one.calls) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_CALLERS, page.next_cursor))


def _first(context: WebContext, days: int) -> date:
    return context.clock.now().date() - timedelta(days=days - 1)

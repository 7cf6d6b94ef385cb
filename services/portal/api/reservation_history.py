"""`/v1/reservations/{id}/history`: what it asked for, was granted and held, over the last 90 days."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field

from libs.domain.readiness import Readiness, ReadinessInterval
from libs.domain.region_condition import ConditionStatus
from libs.store.capacity.readiness_history import list_readiness
from libs.store.capacity.reservations import load_reservation
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.model import PageOf, ResponseModel
from libs.web.openapi import problems
from services.portal.api.reservations import ReservationId

router = APIRouter(prefix="/v1/reservations", tags=["reservations"])
_NOUN = "reservation-history"


class ReadinessIntervalOut(ResponseModel):
    """A time in which nothing about the reservation changed."""

    from_at: datetime
    until_at: datetime = Field(description="Start of the next interval; of the latest, when the platform last looked")
    ready: ConditionStatus = Field(
        description="Status of the condition Ready; Unknown: no promise, or the platform did not look"
    )
    reason: Readiness = Field(description="Reason of the condition Ready; NotWatched: the platform was down")
    capacity_rru: float = Field(description="RRU asked for")
    granted_rru: float | None = Field(
        description="RRU of them that were granted, and so promised: less only while a request waited; null: a record "
        "of an earlier version, which did not keep it"
    )
    held_rru: float | None = Field(description="RRU of the servers that had joined it and were up; null: not watched")
    held_after_msb_loss_rru: float | None = Field(
        description="RRU of the same servers without the MSB that gave most; null: not watched"
    )
    observed_generation: int = Field(description="Generation of the spec that asked for it")


@router.get("/{reservation_id}/history", operation_id="list_reservation_history", responses=problems(404))
def get_reservation_history(
    reservation_id: ReservationId, context: Context, paging: Paging
) -> PageOf[ReadinessIntervalOut]:
    """List the intervals of a reservation's history, the newest first. Nothing changed within one."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        load_reservation(tx, reservation_id)
        page = list_readiness(tx, reservation_id, after=after, limit=paging.limit)
    return PageOf(items=[_out(one) for one in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


def _out(interval: ReadinessInterval) -> ReadinessIntervalOut:
    record = interval.record
    return ReadinessIntervalOut(
        from_at=record.from_at,
        until_at=interval.until_at,
        ready=record.readiness.status,
        reason=record.readiness,
        capacity_rru=record.capacity_rru,
        granted_rru=record.granted_rru,
        held_rru=record.held_rru,
        held_after_msb_loss_rru=record.held_after_msb_loss_rru,
        observed_generation=record.observed_generation,
    )

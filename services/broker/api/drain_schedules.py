"""`/v1/regions/{region}/drain-schedule`: when racks may be drained so that no promise is broken."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, FiniteFloat

from libs.domain.maintenance import MaintenanceReason
from libs.ras.drain_schedule import plan_drains
from libs.store.capacity.drain_ground import load_drain_ground
from libs.web.context import Context
from libs.web.model import Moment, ResponseModel, SomeName
from libs.web.openapi import problems
from libs.web.past import require_not_past
from libs.web.problems import FieldError, invalid
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
_PLACES_MAX = 200
_SLOTS_MAX = 500
_HOURS_MAX = 24.0 * 92


class DrainSlotOut(ResponseModel):
    """Racks of one MSB that may be drained at one time."""

    starts_at: datetime
    ends_at: datetime
    msb: str
    servers: int
    racks: list[str]


class UnplacedOut(ResponseModel):
    """A rack that no slot may have."""

    rack: str
    reason: MaintenanceReason = Field(description="The rule against it, or NoSlot")
    message: str
    short_rru: dict[str, float] = Field(description="Reservation -> RRU that it would lack")


class DrainScheduleOut(ResponseModel):
    """A schedule of drains. The rules of maintenance allow each slot, if the region stays as it is."""

    region: str
    racks: int = Field(description="Racks that were asked for")
    slots: list[DrainSlotOut] = Field(description="In order of time")
    unplaced: list[UnplacedOut]


@router.get("/{region}/drain-schedule", operation_id="plan_drains", responses=problems(404))
def get_drain_schedule(
    region: RegionName,
    context: Context,
    rack: Annotated[list[SomeName] | None, Query(max_length=_PLACES_MAX, description="Racks to drain")] = None,
    msb: Annotated[
        list[SomeName] | None, Query(max_length=_PLACES_MAX, description="MSBs of which to drain all racks")
    ] = None,
    hours_each: Annotated[FiniteFloat, Query(gt=0, le=_HOURS_MAX, description="Hours that one drain takes")] = 4.0,
    within_hours: Annotated[
        FiniteFloat, Query(gt=0, le=_HOURS_MAX, description="Hours in which all should be done")
    ] = 168.0,
    starts_at: Annotated[Moment | None, Query(description="Start of the first slot; by default now")] = None,
) -> DrainScheduleOut:
    """Plan drains one after the other, as many racks at a time as the rules of maintenance allow. Nothing is stored."""
    if not rack and not msb:
        message = "is needed, or msb: name at least one place to drain"
        raise invalid(FieldError(field="rack", location="query", code="missing", message=message))
    now = context.clock.now()
    require_not_past("starts_at", starts_at, now=now)
    begins_at = starts_at or now
    with context.database.snapshot() as tx:
        ground = load_drain_ground(tx, region, racks=rack or (), msbs=msb or (), now=now)
    schedule = plan_drains(
        ground,
        begins_at=begins_at,
        ends_at=begins_at + timedelta(hours=within_hours),
        each=timedelta(hours=hours_each),
        slots_max=_SLOTS_MAX,
    )
    return DrainScheduleOut(
        region=region,
        racks=len(ground.rack),
        slots=[DrainSlotOut.model_validate(slot) for slot in schedule.slots],
        unplaced=[
            UnplacedOut(rack=name, reason=answer.reason, message=answer.message, short_rru=dict(answer.short_rru))
            for name, answer in schedule.unplaced
        ],
    )

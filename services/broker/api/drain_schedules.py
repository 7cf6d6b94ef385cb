"""`/v1/regions/{region}/drain-schedule`: when racks may be drained so that no promise is broken."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, FiniteFloat

from libs.domain.domain_kind import RACK
from libs.domain.domain_limits import MSB
from libs.domain.maintenance import MaintenanceReason
from libs.ras.drain_schedule import plan_drains
from libs.store.capacity.drain_ground import load_drain_ground
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.web.context import Context
from libs.web.domain_kinds import wrong_kinds
from libs.web.model import Moment, ResponseModel, SomeName
from libs.web.openapi import problems
from libs.web.past import require_not_past
from libs.web.problems import FieldError, invalid
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
_DRAINED = (MSB, RACK)
"""The kinds of place that every region has, and of which all racks may be drained."""
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
    domain: Annotated[
        list[SomeName] | None,
        Query(
            max_length=_PLACES_MAX,
            description="Domains of which to drain all racks, each as KIND:DOMAIN: of a further kind, or msb or rack",
            examples=["network_block:block-03"],
        ),
    ] = None,
    hours_each: Annotated[FiniteFloat, Query(gt=0, le=_HOURS_MAX, description="Hours that one drain takes")] = 4.0,
    within_hours: Annotated[
        FiniteFloat, Query(gt=0, le=_HOURS_MAX, description="Hours in which all should be done")
    ] = 168.0,
    starts_at: Annotated[Moment | None, Query(description="Start of the first slot; by default now")] = None,
) -> DrainScheduleOut:
    """Plan drains one after the other, as many racks at a time as the rules of maintenance allow. Nothing is stored.

    A rack is drained as a whole, also where a domain has a part of its servers.
    """
    if not rack and not msb and not domain:
        message = "is needed, or msb or domain: name at least one place to drain"
        raise invalid(FieldError(field="rack", location="query", code="missing", message=message))
    now = context.clock.now()
    require_not_past("starts_at", starts_at, now=now)
    begins_at = starts_at or now
    with context.database.snapshot() as tx:
        domains = _domains(tx, region, domain or ())
        named = {kind: [name for of, name in domains if of == kind] for kind in _DRAINED}
        ground = load_drain_ground(
            tx,
            region,
            racks=[*(rack or ()), *named[RACK]],
            msbs=[*(msb or ()), *named[MSB]],
            domains=[one for one in domains if one[0] not in named],
            now=now,
        )
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


def _domains(tx: Transaction, region: str, given: Sequence[str]) -> list[tuple[str, str]]:
    """Return the kind and the name of each KIND:DOMAIN. Raises Problem (422) for another form and an unknown kind."""
    pairs = []
    for text in given:
        kind, _, name = text.partition(":")
        if not kind or not name:
            message = f"{text} is not KIND:DOMAIN, such as network_block:block-03"
            raise invalid(FieldError(field="domain", location="query", code="wrong_form", message=message))
        pairs.append((kind, name))
    further = [kind for kind, _ in pairs if kind not in _DRAINED]
    wrong = wrong_kinds(tx, load_region(tx, region), further, "domain", also=_DRAINED, location="query")
    if wrong:
        raise invalid(*wrong)
    return pairs

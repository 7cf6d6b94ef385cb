"""`/v1/regions/{region}/chances` and `/spares`: what failures may do to reservations and to spare servers.

See docs/designs/0057.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, FiniteFloat

from libs.domain.reservation import ReservationKind
from libs.ras.chance_whole import chances_whole
from libs.ras.spare_outlook import foresee_spares
from libs.store.capacity.loss_ground import load_loss_ground
from libs.store.capacity.reservations import find_reservation
from libs.store.fleet.failure_record import load_msb_losses, load_spare_record
from libs.store.fleet.known_names import placed_kinds
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.web.context import Context
from libs.web.model import ResponseModel, SomeName
from libs.web.names import not_begun, unknown_name
from libs.web.openapi import problems
from libs.web.problems import FieldError, invalid
from services.broker.api.regions import RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])
_DAY_S = 86_400.0


class ChanceOut(ResponseModel):
    """The chance of one reservation to hold its promise at every moment of these days."""

    reservation: str
    owner: str
    survives_msb_loss: bool = Field(description="Whether it asks to survive the loss of an MSB")
    capacity_rru: float = Field(description="RRU that it asks for")
    granted_rru: float = Field(
        description="RRU of them that were granted: its promise. 0: nothing is promised, and the chance is 1"
    )
    missing_rru: float = Field(
        description="RRU that it lacks of its promise now; above 0: it is not whole, and the chance is 0"
    )
    fatal_msbs: int = Field(description="MSBs whose loss alone would leave it short")
    fatal_pairs: int = Field(description="Further pairs of MSBs whose loss at one time would leave it short")
    times_short: float = Field(description="Expected number of times that it falls short")
    chance: float = Field(description="Probability that it never falls short")


class ChancesOut(ResponseModel):
    """The chances of all guaranteed reservations, and the rates that they rest on."""

    region: str
    covers: str = Field(description="The losses that count, and the kinds of domain of the region that do not")
    days: float = Field(description="Days from now")
    watched_days: float = Field(description="Days of history that count, at most 90")
    msb_losses: int = Field(description="Losses of MSBs in them: unplanned events of scope msb")
    losses_per_msb_year: float = Field(
        description="Losses of one MSB in a year: those seen, and half a loss at the published rate of 0.02"
    )
    down_hours: float = Field(description="Mean hours until an MSB is back: those seen, and half a loss of 2 hours")
    items: list[ChanceOut] = Field(description="The least chance first")


class SpareOut(ResponseModel):
    """The shared buffer of one hardware type. The rates are those of the days of history that count."""

    hardware_type: str
    wanted: float = Field(description="Servers that the buffer is sized for")
    usable: int = Field(description="Servers of the buffer that are up")
    down: int = Field(description="Servers of the type that are down for an unplanned reason, other than with an MSB")
    failures_per_day: float = Field(description="Servers of the type that fail in a day")
    repair_days: float | None = Field(description="Mean days of a repair; null: no repair has ended yet")
    down_expected: float | None = Field(
        description="Servers that will be down at a time at these rates; null: no repair has ended yet"
    )
    runs_out_days: float | None = Field(
        description="Days until no spare server is expected to be left; null: never, at these rates"
    )
    lasts_days: float | None = Field(
        description="Days that the spare servers last if nothing is repaired; null: no failure was seen"
    )


class SparesOut(ResponseModel):
    """The outlook for all shared buffers."""

    region: str
    watched_days: float = Field(description="Days of history that count, at most 90")
    items: list[SpareOut] = Field(description="The one that runs out first in front")


@router.get("/{region}/chances", operation_id="foresee_chances", responses=problems(404))
def get_chances(
    region: RegionName,
    context: Context,
    days: Annotated[FiniteFloat, Query(gt=0, le=366, description="Days from now")] = 30.0,
    reservation: Annotated[SomeName | None, Query(description="Only this reservation")] = None,
) -> ChancesOut:
    """Tell how probable it is that each reservation stays whole: that no loss of MSBs leaves it short of its promise.

    A request that waits is promised only as far as it was granted. A reservation that has not begun has no chance yet.
    Losses of other domains do not count, also of kinds whose loss a reservation is to survive: they have no rate.
    """
    with context.database.snapshot() as tx:
        ground, record = load_loss_ground(tx, region), load_msb_losses(tx, region, now=context.clock.now())
        further = placed_kinds(tx, load_region(tx, region).region_id)
        if reservation is not None:
            _require_chance(tx, region, reservation, set(ground.reservation.tolist()))
    found = chances_whole(ground, record, horizon_s=days * _DAY_S)
    return ChancesOut(
        region=region,
        covers=_covers(further),
        days=days,
        watched_days=record.watched_s / _DAY_S,
        msb_losses=record.losses,
        losses_per_msb_year=record.per_s * 365 * _DAY_S,
        down_hours=record.mean_down_s / 3600,
        items=[ChanceOut.model_validate(one) for one in found if reservation in (None, one.reservation)],
    )


def _covers(further: Sequence[str]) -> str:
    """Return the losses that count, in words. `further`: the further kinds of domain that the region has."""
    alone = "Only losses of MSBs count: other domains have no known rate of losses."
    return f"{alone} The loss of a {' or '.join(further)} does not count." if further else alone


def _require_chance(tx: Transaction, region: str, name: str, known: Collection[str]) -> None:
    """Raise Problem (422) for a reservation that is not live, or that no promise makes hold anything now.

    known   the names of those that have a chance
    """
    found = find_reservation(tx, region, name)
    if found is None:
        raise invalid(unknown_name("reservation", "reservation", name, known, location="query"))
    if found.scheduled:
        raise invalid(not_begun("reservation", found, "it need not hold anything before", location="query"))
    if found.kind is ReservationKind.SHARED_BUFFER:
        message = f"{name} is a shared buffer: `spares` says how long its servers last"
        raise invalid(FieldError(field="reservation", location="query", code="not_for_this", message=message))


@router.get("/{region}/spares", operation_id="foresee_spares", responses=problems(404))
def get_spares(region: RegionName, context: Context) -> SparesOut:
    """Tell which shared buffer runs out first, and when, at the rates of failures and repairs so far."""
    with context.database.snapshot() as tx:
        record = load_spare_record(tx, region, now=context.clock.now())
    items = [SpareOut.model_validate(one) for one in foresee_spares(record)]
    return SparesOut(region=region, watched_days=record.watched_s / _DAY_S, items=items)

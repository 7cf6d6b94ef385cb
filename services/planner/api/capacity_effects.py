"""`/v1/capacity-effects`: the combined effect of the ledger's events at a time."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from libs.domain.combined_effect import EffectSums
from libs.store.ledger.effects import combined_effect
from libs.web.context import Context
from libs.web.model import Moment, ResponseModel, SomeName
from libs.web.problems import FieldError, invalid

router = APIRouter(prefix="/v1/capacity-effects", tags=["capacity events"])


class EffectSumsOut(ResponseModel):
    """EffectSumsOut over events. No amount is in two of the first four."""

    done: float
    active: float
    approved: float
    proposed: float
    planned: float


class CapacityEffectOut(ResponseModel):
    """The change of a service's capacity in a region, in units of the hardware type."""

    service: str
    region: str
    hardware_type: str
    sums: EffectSumsOut


class TrafficEffectOut(ResponseModel):
    """The change of a product's share of traffic in a region."""

    product: str
    region: str
    sums: EffectSumsOut


class CombinedEffectOut(ResponseModel):
    """The effects of all events that are due at `at`."""

    at: datetime
    capacity: list[CapacityEffectOut]
    traffic: list[TrafficEffectOut]


@router.get("", operation_id="get_capacity_effects")
def get_effects(
    context: Context,
    at: Annotated[Moment | None, Query(description="The time; by default now")] = None,
    since: Annotated[Moment | None, Query(description="Leave out changes that had happened by this time")] = None,
    service: SomeName | None = None,
    region: SomeName | None = None,
    hardware_type: SomeName | None = None,
    product: SomeName | None = None,
) -> CombinedEffectOut:
    """Return the combined effect on a service, a product, a region, or several of them.

    done: what has happened. active: what is left of active events. approved, proposed: due, and not begun. planned: all
    that is still to happen.
    """
    if service is None and region is None and product is None:
        message = "give service, product or region"
        raise invalid(FieldError(field="service", location="query", code="missing", message=message))
    due = at or context.clock.now()
    with context.database.snapshot() as tx:
        found = combined_effect(
            tx, at=due, since=since, service=service, region=region, hardware_type=hardware_type, product=product
        )
    places, shares = found.capacity, found.traffic
    return CombinedEffectOut(
        at=due,
        capacity=[
            CapacityEffectOut(service=service, region=region, hardware_type=hardware_type, sums=sums)
            for service, region, hardware_type, sums in zip(
                places.service, places.region, places.hardware_type, _sums(places.sums), strict=True
            )
        ],
        traffic=[
            TrafficEffectOut(product=product, region=region, sums=sums)
            for product, region, sums in zip(shares.product, shares.region, _sums(shares.sums), strict=True)
        ],
    )


def _sums(sums: EffectSums) -> list[EffectSumsOut]:
    columns = {name: getattr(sums, name).tolist() for name in EffectSumsOut.model_fields}
    return [EffectSumsOut(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]

"""`/v1/regions/{region}/supply`: the servers that services of a region may use at a date."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from libs.domain.region_supply import with_deliveries
from libs.interchange.planning_inputs.region_supply import deliveries_of
from libs.store.planner.planning_inputs import load_current
from libs.store.regions.region_supply import load_region_supply
from libs.web.context import Context
from libs.web.model import Moment, ResponseModel, SomeName
from libs.web.openapi import problems
from libs.web.past import require_not_past

router = APIRouter(prefix="/v1/regions", tags=["regions"])
RegionName = Annotated[SomeName, Path(description="Name of the region")]


class TypeSupplyOut(ResponseModel):
    """Servers of one hardware type."""

    hardware_type: str
    servers: int = Field(description="Servers of the fleet now, with servers that are down")
    embedded_buffer: int = Field(
        description="Servers in the largest MSB of each reservation that survives the loss of an MSB"
    )
    shared_buffer: int = Field(description="Servers that shared buffers hold")
    retired: int = Field(description="Servers with an announced retirement that is due by the date")
    returned: int = Field(description="Servers that become this type by a refresh, by the date")
    delivered: int = Field(description="Expected deliveries by the date, from the planning input `deliveries`")
    usable: int = Field(description="servers + returned + delivered - buffers - retired")


class RegionSupplyOut(ResponseModel):
    """The supply of a region at a date."""

    region: str
    at: datetime
    retired_until: datetime = Field(description="Servers whose retirement is due by then are in `retired`")
    hardware_types: list[TypeSupplyOut]


@router.get("/{region}/supply", operation_id="get_region_supply", responses=problems(404))
def get_region_supply(
    region: RegionName,
    context: Context,
    at: Annotated[Moment | None, Query(description="The date, not in the past; by default now")] = None,
    retired_until: Annotated[
        Moment | None,
        Query(description="Also leave out servers whose retirement is due by this later date; by default `at`"),
    ] = None,
) -> RegionSupplyOut:
    """Return the servers of each type at a date: the fleet less buffers and retirements, with expected deliveries."""
    now = context.clock.now()
    require_not_past("at", at, now=now)
    date = at or now
    until = max(date, retired_until or date)
    with context.database.snapshot() as tx:
        supply = load_region_supply(tx, region, at=date, retired_until=until)
        current = load_current(tx, "deliveries")
    deliveries = () if current is None else deliveries_of(current[1])
    found = with_deliveries(supply, deliveries, region=region, now=now, at=date)
    types = [TypeSupplyOut.model_validate(one) for one in found]
    return RegionSupplyOut(region=region, at=date, retired_until=until, hardware_types=types)

"""`/v1/regions/{region}/server-counts`: a region or a reservation as a map of MSBs and hardware types."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from libs.store.regions.server_counts import count_by_place
from libs.web.context import Context
from libs.web.model import ResponseModel, SomeName
from libs.web.openapi import problems
from services.broker.api.regions import RegionName
from services.broker.api.server_counts_out import ServerCountsOut

router = APIRouter(prefix="/v1/regions", tags=["regions"])


class PlacesOut(ResponseModel):
    """The counts of all places that have servers."""

    region: str
    reservation: str | None
    items: list[ServerCountsOut]


@router.get("/{region}/server-counts", operation_id="count_servers", responses=problems(404))
def get_server_counts(
    region: RegionName,
    context: Context,
    reservation: Annotated[
        SomeName | None, Query(description="Count only the servers that this reservation has, by target or now")
    ] = None,
) -> PlacesOut:
    """Count the servers of a region, or of one of its reservations, by MSB and hardware type."""
    with context.database.snapshot() as tx:
        found = count_by_place(tx, region, reservation=reservation)
    items = [ServerCountsOut.model_validate(one) for one in found]
    return PlacesOut(region=region, reservation=reservation, items=items)

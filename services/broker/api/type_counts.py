"""`/v1/regions/{region}/type-counts`: the servers of a region by hardware type, without what reservations hold."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from libs.store.regions.region_summary import load_type_counts
from libs.web.context import Context
from libs.web.model import ResponseModel
from libs.web.openapi import problems
from services.broker.api.regions import HardwareTypeSummaryOut, RegionName

router = APIRouter(prefix="/v1/regions", tags=["regions"])


class TypeCountsOut(ResponseModel):
    """The servers of a region, as in its summary."""

    region: str
    items: list[HardwareTypeSummaryOut]
    domain_kinds: list[str] = Field(
        description="Further kinds of domain of which servers have places; survives_loss_of of a request may name them"
    )
    resources: list[str] = Field(
        description="Figures that its hardware types have among their attributes, such as cores, without watts; "
        "resources of a request may name them"
    )


@router.get("/{region}/type-counts", operation_id="count_servers_by_type", responses=problems(404))
def get_type_counts(region: RegionName, context: Context) -> TypeCountsOut:
    """Count the servers of a region by hardware type. The summary has the same counts, and takes longer."""
    with context.database.snapshot() as tx:
        found = load_type_counts(tx, region)
    items = [HardwareTypeSummaryOut.model_validate(one) for one in found.types]
    return TypeCountsOut(
        region=region, items=items, domain_kinds=list(found.domain_kinds), resources=list(found.resources)
    )

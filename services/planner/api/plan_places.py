"""`/v1/placement-plans/{id}/places`: a plan by service, product and region, and the traffic that it shifts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field

from libs.store.planner.placement_plans import load_plan_file
from libs.web.context import Context
from libs.web.model import ID_MAX, ResponseModel, SomeName
from libs.web.names import unknown_name
from libs.web.openapi import problems
from libs.web.problems import invalid
from services.planner.document_names import PLACES

router = APIRouter(prefix="/v1/placement-plans", tags=["placement plans"])
_SUMMED = ("now", "planned", "growth")


class ServicePlacesOut(ResponseModel):
    """Capacity of a service in each region, in units of its hardware type."""

    service: str
    hardware_type: str
    now: list[float] = Field(description="In the order of `regions`, like all lists")
    planned: list[float] = Field(description="After the first step, without growth")
    growth: list[float] = Field(description="Growth that the first step adds")


class OtherPlacesOut(ResponseModel):
    """The sums of the services of a hardware type that are not listed."""

    hardware_type: str
    services: int
    now: list[float]
    planned: list[float]
    growth: list[float]


class ProductPlacesOut(ResponseModel):
    """Traffic of a product in each region, as a share of its present traffic."""

    product: str
    now: list[float]
    planned: list[float]


class TrafficShiftOut(ResponseModel):
    """Traffic that the first step shifts from one region to another."""

    product: str
    from_region: str
    to_region: str
    share: float = Field(description="Share of the product's traffic")


class PlanPlacesOut(ResponseModel):
    """The first step of a plan by place."""

    step: int
    regions: list[str]
    services_found: int = Field(description="Services that pass the filters")
    services: list[ServicePlacesOut] = Field(description="The largest of them, largest first")
    others: list[OtherPlacesOut] = Field(description="The rest of them, by hardware type")
    products: list[ProductPlacesOut]
    shifts: list[TrafficShiftOut]


@router.get("/{placement_plan_id}/places", operation_id="get_placement_plan_places", responses=problems(404))
def get_places(
    placement_plan_id: Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the plan")],
    context: Context,
    hardware_type: Annotated[SomeName | None, Query(description="Services of this hardware type only")] = None,
    name_contains: Annotated[SomeName | None, Query(description="Services whose name contains this")] = None,
    services_max: Annotated[int, Query(ge=0, le=1000, description="So many services at most")] = 40,
) -> PlanPlacesOut:
    """Return capacity by service and region, traffic by product and region, and the shifts between regions."""
    with context.database.snapshot() as tx:
        found: dict[str, Any] = json.loads(load_plan_file(tx, placement_plan_id, PLACES))
    services = [
        one
        for one in found["services"]
        if hardware_type in (None, one["hardware_type"])
        and (name_contains is None or name_contains.casefold() in one["service"].casefold())
    ]
    if not services and hardware_type is not None:
        known = {one["hardware_type"] for one in found["services"]}
        if hardware_type not in known:
            noun = "hardware type of this plan's services"
            raise invalid(unknown_name("hardware_type", noun, hardware_type, known, location="query"))
    services.sort(key=lambda one: (-max(sum(one["now"]), sum(one["planned"])), one["service"]))
    shown, rest = services[:services_max], services[services_max:]
    found |= {"services_found": len(services), "services": shown, "others": _others(rest)}
    return PlanPlacesOut.model_validate(found)


def _others(services: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    by_type: dict[str, list[dict[str, Any]]] = {}
    for one in services:
        by_type.setdefault(one["hardware_type"], []).append(one)
    return [
        {"hardware_type": kind, "services": len(some)}
        | {name: [sum(values) for values in zip(*(one[name] for one in some), strict=True)] for name in _SUMMED}
        for kind, some in sorted(by_type.items())
    ]

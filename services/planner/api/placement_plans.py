"""`/v1/placement-plans`: placement plans, the reasons for them, and the steps to execute them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from libs.domain.plan_run import StoredPlan
from libs.store.planner.placement_plans import list_placement_plans, load_placement_plan, load_plan_file
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.model import ID_MAX, PageOf, ResponseModel, SomeName
from libs.web.openapi import problems
from services.planner.document_names import CHANGES, DAG, DISASTER, MODEL, PLAN

router = APIRouter(prefix="/v1/placement-plans", tags=["placement plans"])
_NOUN = "placement-plans"
_SVG = "image/svg+xml"
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the plan")]


class PlacementPlanOut(ResponseModel):
    """One plan in a few figures."""

    placement_plan_id: int
    parent_placement_plan_id: int | None = Field(description="The previous target; it may be deleted by now")
    plan_run_id: int
    committed: bool = Field(description="false: the plan is for review only")
    target: bool = Field(description="Whether it is the plan to execute")
    input_versions: dict[str, int] = Field(description="Versions of the inputs of the plan")
    overrides: list[dict[str, Any]] = Field(description="The overrides that bound the plan")
    summary: dict[str, Any] = Field(description="Objective, deficit, growth withheld, actions, and figures by step")
    created_at: datetime


class PlacementPlanFullOut(PlacementPlanOut):
    """A plan with all its numbers."""

    steps: list[dict[str, Any]] = Field(
        description="Per step: traffic, capacity, growth, residual, deficit, spare, double_occupancy by name and region"
    )


class ChangesOut(ResponseModel):
    """The changes of the first step, and the reasons for them."""

    step: int
    changes: list[dict[str, Any]] = Field(
        description="Per service and region: before, after, and the share of each product's traffic in the change"
    )
    pull: dict[str, Any] = Field(description="Product -> region -> the constraints and costs that attract its traffic")
    hardware_price: dict[str, Any] = Field(description="What one more unit of supply would save, by type and region")


class PlanModelsOut(ResponseModel):
    """The plan's model of services and products, as in model.json."""

    services: dict[str, Any] = Field(description="By name: metric, capacity, attribution, baseline, residual, ...")
    presence: dict[str, Any] = Field(description="Product -> region -> share of its traffic before the plan")


class RegionLossesOut(ResponseModel):
    """For each lost region, the capacity that services with load tests need."""

    services: dict[str, Any] = Field(description="By name: whether its load tests are used, and their error")
    places: list[dict[str, Any]] = Field(
        description="Per step, service and region: the loss that decides, capacity needed, planned, now and lacking"
    )
    without_load_tests: int
    capacity_without_load_tests: float = Field(description="As a share of all capacity")


class DagOut(ResponseModel):
    """The execution plan of the first step."""

    step: int
    estimate_h: float
    critical_path: list[str]
    nodes: list[dict[str, Any]] = Field(description="Actions in an order that works")
    edges: list[list[str]] = Field(description="[finished before, this]")
    pools: list[dict[str, Any]] = Field(
        default_factory=list, description="By region and hardware type: capacity used before, and room"
    )


@router.get("", operation_id="list_placement_plans")
def get_plans(context: Context, paging: Paging) -> PageOf[PlacementPlanOut]:
    """List plans, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_placement_plans(tx, before=before, limit=paging.limit)
    return PageOf(items=[_out(plan) for plan in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{placement_plan_id}", operation_id="get_placement_plan", responses=problems(404))
def get_plan(placement_plan_id: _Id, context: Context) -> PlacementPlanFullOut:
    """Return one plan with all its steps."""
    with context.database.snapshot() as tx:
        plan = load_placement_plan(tx, placement_plan_id)
        steps = json.loads(load_plan_file(tx, placement_plan_id, PLAN))["steps"]
    return PlacementPlanFullOut(**_out(plan).model_dump(), steps=steps)


@router.get("/{placement_plan_id}/changes", operation_id="get_placement_plan_changes", responses=problems(404))
def get_changes(
    placement_plan_id: _Id,
    context: Context,
    service: Annotated[SomeName | None, Query(description="Of this service only")] = None,
    region: Annotated[SomeName | None, Query(description="In this region only")] = None,
) -> ChangesOut:
    """List the changes of the first step by service and region, with the constraint or cost that caused each."""
    found = _document(context, placement_plan_id, CHANGES)
    found["changes"] = [
        one
        for one in found["changes"]
        if (service is None or one["service"] == service) and (region is None or one["region"] == region)
    ]
    return ChangesOut(**found)


@router.get("/{placement_plan_id}/models", operation_id="get_placement_plan_models", responses=problems(404))
def get_models(placement_plan_id: _Id, context: Context) -> PlanModelsOut:
    """Return the service models of the plan. `plimsoll flux plan --model` reads the same document."""
    return PlanModelsOut(**_document(context, placement_plan_id, MODEL))


@router.get(
    "/{placement_plan_id}/region-losses", operation_id="get_placement_plan_region_losses", responses=problems(404)
)
def get_region_losses(placement_plan_id: _Id, context: Context) -> RegionLossesOut:
    """Return whether the plan survives the loss of any one region, as far as load tests tell the need."""
    return RegionLossesOut(**_document(context, placement_plan_id, DISASTER))


@router.get("/{placement_plan_id}/dag", operation_id="get_placement_plan_dag", responses=problems(404))
def get_dag(placement_plan_id: _Id, context: Context) -> DagOut:
    """Return the actions of the first step, each with the actions that must finish before it."""
    return DagOut(**_document(context, placement_plan_id, DAG))


@router.get(
    "/{placement_plan_id}/pictures/{name}.svg",
    operation_id="get_placement_plan_picture",
    response_class=Response,
    responses={200: {"content": {_SVG: {"schema": {"type": "string"}}}}, **problems(404)},
)
def get_picture(
    placement_plan_id: _Id,
    name: Annotated[
        str, Path(pattern="^[a-z]{1,40}$", description="presence, pools, residuals or models", examples=["pools"])
    ],
    context: Context,
) -> Response:
    """Return a picture for review."""
    with context.database.snapshot() as tx:
        content = load_plan_file(tx, placement_plan_id, f"{name}.svg")
    # A picture holds names that people chose. Forbid scripts in it, wherever a page shows it.
    return Response(
        content, media_type=_SVG, headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    )


def _out(plan: StoredPlan) -> PlacementPlanOut:
    return PlacementPlanOut.model_validate(plan)


def _document(context: WebContext, placement_plan_id: int, name: str) -> Any:
    with context.database.snapshot() as tx:
        return json.loads(load_plan_file(tx, placement_plan_id, name))

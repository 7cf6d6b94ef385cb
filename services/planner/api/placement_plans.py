"""`/v1/placement-plans`: what is to be where, why, and how to get there."""

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
    parent_placement_plan_id: int | None = Field(description="The target before it; it may be forgotten by now")
    plan_run_id: int
    committed: bool = Field(description="false: it was made to be looked at")
    target: bool = Field(description="Whether it is the plan that is to be carried out")
    input_versions: dict[str, int] = Field(description="What it was made from")
    overrides: list[dict[str, Any]] = Field(description="Those that it keeps to")
    summary: dict[str, Any] = Field(description="Objective, deficit, growth withheld, actions, and figures by step")
    created_at: datetime


class PlacementPlanFullOut(PlacementPlanOut):
    """With all its numbers."""

    steps: list[dict[str, Any]] = Field(
        description="Per step: traffic, capacity, growth, residual, deficit, spare, double_occupancy by name and region"
    )


class ChangesOut(ResponseModel):
    """What changes in the first step, and why."""

    step: int
    changes: list[dict[str, Any]] = Field(
        description="Per service and region: before, after, and what of it is because of which product's traffic"
    )
    pull: dict[str, Any] = Field(description="Product -> region -> what attracts its traffic, by constraint or cost")
    hardware_price: dict[str, Any] = Field(description="What one more unit of supply would save, by type and region")


class PlanModelsOut(ResponseModel):
    """What the plan believes of services and products, as model.json holds it."""

    services: dict[str, Any] = Field(description="By name: metric, capacity, attribution, baseline, residual, ...")
    presence: dict[str, Any] = Field(description="Product -> region -> share of its traffic before the plan")


class RegionLossesOut(ResponseModel):
    """What the loss of each region asks of services with load tests."""

    services: dict[str, Any] = Field(description="By name: whether its load tests are used, and how far to trust them")
    places: list[dict[str, Any]] = Field(
        description="Per step, service and region: the loss that decides, capacity needed, planned, now and lacking"
    )
    without_load_tests: int
    capacity_without_load_tests: float = Field(description="As a share of all capacity")


class DagOut(ResponseModel):
    """How the first step is carried out."""

    step: int
    estimate_h: float
    critical_path: list[str]
    nodes: list[dict[str, Any]] = Field(description="Actions in an order that works")
    edges: list[list[str]] = Field(description="[finished before, this]")


@router.get("", operation_id="list_placement_plans")
def get_plans(context: Context, paging: Paging) -> PageOf[PlacementPlanOut]:
    """Plans, the latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_placement_plans(tx, before=before, limit=paging.limit)
    return PageOf(items=[_out(plan) for plan in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{placement_plan_id}", operation_id="get_placement_plan", responses=problems(404))
def get_plan(placement_plan_id: _Id, context: Context) -> PlacementPlanFullOut:
    """One plan, every step of it."""
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
    """What changes in the first step, per service and region, and which constraint or cost pulled it."""
    found = _document(context, placement_plan_id, CHANGES)
    found["changes"] = [
        one
        for one in found["changes"]
        if (service is None or one["service"] == service) and (region is None or one["region"] == region)
    ]
    return ChangesOut(**found)


@router.get("/{placement_plan_id}/models", operation_id="get_placement_plan_models", responses=problems(404))
def get_models(placement_plan_id: _Id, context: Context) -> PlanModelsOut:
    """The service models that it was made with: `plimsoll flux plan --model` reads the same document."""
    return PlanModelsOut(**_document(context, placement_plan_id, MODEL))


@router.get(
    "/{placement_plan_id}/region-losses", operation_id="get_placement_plan_region_losses", responses=problems(404)
)
def get_region_losses(placement_plan_id: _Id, context: Context) -> RegionLossesOut:
    """Whether the plan outlasts the loss of any one region, where load tests say what that takes."""
    return RegionLossesOut(**_document(context, placement_plan_id, DISASTER))


@router.get("/{placement_plan_id}/dag", operation_id="get_placement_plan_dag", responses=problems(404))
def get_dag(placement_plan_id: _Id, context: Context) -> DagOut:
    """The actions of the first step, and what must be finished before each."""
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
    """A picture for review."""
    with context.database.snapshot() as tx:
        content = load_plan_file(tx, placement_plan_id, f"{name}.svg")
    # A picture holds names that people chose: nothing in it may run, wherever it is shown.
    return Response(
        content, media_type=_SVG, headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    )


def _out(plan: StoredPlan) -> PlacementPlanOut:
    return PlacementPlanOut.model_validate(plan)


def _document(context: WebContext, placement_plan_id: int, name: str) -> Any:
    with context.database.snapshot() as tx:
        return json.loads(load_plan_file(tx, placement_plan_id, name))

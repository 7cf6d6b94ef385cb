"""`/v1/placement-plans`: placement plans, the reasons for them, and the steps to execute them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field

from libs.domain.plan_run import StoredPlan
from libs.domain.principal import Role
from libs.store.planner.placement_plans import (
    apply_placement_plan,
    list_placement_plans,
    load_placement_plan,
    load_plan_file,
)
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web import patterns
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.names import unknown_name
from libs.web.openapi import headers, problems
from libs.web.pictures import SVG_RESPONSE, picture
from libs.web.problems import Problem, invalid
from libs.web.reasons import GivenReason
from services.planner.document_names import CHANGES, DAG, DISASTER, MODEL, PLAN, WHAT_IF

router = APIRouter(prefix="/v1/placement-plans", tags=["placement plans"])
_NOUN = "placement-plans"
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
    hardware_price: dict[str, Any] = Field(
        description="Cost that one more unit of supply would save, by hardware type and region"
    )


class PlanModelsOut(ResponseModel):
    """The plan's model of services and products, as in model.json."""

    services: dict[str, Any] = Field(description="Service -> metric, capacity, attribution, baseline, residual, ...")
    presence: dict[str, Any] = Field(description="Product -> region -> share of its traffic before the plan")


class RegionLossesOut(ResponseModel):
    """The capacity that services need when a region is lost: from load tests, estimated, or not known."""

    services: dict[str, Any] = Field(description="Service -> whether its load tests are used, and their error")
    places: list[dict[str, Any]] = Field(
        description="Per step, service and region: the loss that decides, and capacity needed, planned, now, lacking"
    )
    without_load_tests: int
    capacity_without_load_tests: float = Field(
        description="Capacity of services without load tests, as a share of all capacity"
    )
    estimated: dict[str, Any] = Field(
        default_factory=dict,
        description="Service without a usable load test -> least need by its linear model in the first step, without a "
        "limit on utilisation, and the capacity that the plan lacks for it",
    )
    estimated_places: list[dict[str, Any]] = Field(
        default_factory=list, description="The places of these services that lack most, at most 1,000"
    )
    unsized: list[dict[str, Any]] = Field(
        default_factory=list,
        description="Services whose need is not known, with the reason: NotModelled (nothing measured) or NoUse",
    )


class PlaceDifferenceOut(ResponseModel):
    """Capacity of a service, or traffic of a product, in a region: now, and as planned without and with the change."""

    step: int
    service: str | None = None
    product: str | None = None
    hardware_type: str | None = None
    region: str
    now: float
    without: float | None = Field(description="null: without the change there is no plan")
    with_: float = Field(alias="with")


class ImpossibleOut(ResponseModel):
    """Something that the plan could not do."""

    reason: str = Field(description="SupplyLacking, GrowthWithheld or FallNotCounted")
    message: str
    numbers: dict[str, float]


class WhatIfOut(ResponseModel):
    """The difference that a what-if makes. Only places that differ are listed."""

    asked: dict[str, Any]
    capacity: list[PlaceDifferenceOut]
    traffic: list[PlaceDifferenceOut]
    impossible: list[ImpossibleOut]


class ApplyIn(RequestModel):
    """Why a plan that was made for review becomes the target."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "region west closes in May"}]})
    reason: GivenReason


class DagOut(ResponseModel):
    """The execution plan of the first step."""

    step: int
    estimate_h: float
    critical_path: list[str]
    nodes: list[dict[str, Any]] = Field(description="Actions in an order that works")
    edges: list[list[str]] = Field(description="Pairs of actions: the first must finish before the second begins")
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
    if not found["changes"] and (service or region):
        _require_planned(_document(context, placement_plan_id, PLAN), service, region)
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


@router.get("/{placement_plan_id}/what-if", operation_id="get_placement_plan_what_if", responses=problems(404))
def get_what_if(placement_plan_id: _Id, context: Context) -> WhatIfOut:
    """Return the difference that the what-if of a plan makes: capacity and traffic by place, and what is not
    possible.
    """
    return WhatIfOut(**_document(context, placement_plan_id, WHAT_IF))


@router.post(
    "/{placement_plan_id}/apply",
    operation_id="apply_placement_plan",
    status_code=201,
    response_model=PlacementPlanOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={201: {"headers": headers("Location")}, **problems(404, 409)},
)
def post_apply(placement_plan_id: _Id, body: ApplyIn, write: Write, principal: Asking, context: Context) -> Response:
    """Make a plan for review the target, as a plan of its own. It is then executed like any other, with the same
    approvals. 409 if another plan became the target since it was made.
    """

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        plan = load_placement_plan(tx, placement_plan_id)
        if plan.committed:
            raise Problem(409, "conflict", f"Placement plan {placement_plan_id} was not made for review.")
        made = apply_placement_plan(tx, plan, now=now)
        audit.append(
            tx,
            actor=principal.name,
            action="apply",
            subject_kind="placement_plan",
            subject_id=made,
            now=now,
            after={"from_placement_plan_id": placement_plan_id},
            reason=body.reason,
        )
        return Answer(201, _out(load_placement_plan(tx, made)), {"Location": f"/v1/placement-plans/{made}"})

    return write.once(effect)


@router.get("/{placement_plan_id}/dag", operation_id="get_placement_plan_dag", responses=problems(404))
def get_dag(placement_plan_id: _Id, context: Context) -> DagOut:
    """Return the actions of the first step, each with the actions that must finish before it."""
    return DagOut(**_document(context, placement_plan_id, DAG))


@router.get(
    "/{placement_plan_id}/pictures/{name}.svg",
    operation_id="get_placement_plan_picture",
    response_class=Response,
    responses={**SVG_RESPONSE, **problems(404)},
)
def get_picture(
    placement_plan_id: _Id,
    name: Annotated[
        str, Path(pattern=patterns.PICTURE_NAME, description="presence, pools, residuals or models", examples=["pools"])
    ],
    context: Context,
) -> Response:
    """Return a picture for review."""
    with context.database.snapshot() as tx:
        content = load_plan_file(tx, placement_plan_id, f"{name}.svg")
    return picture(content)


def _require_planned(plan: Any, service: str | None, region: str | None) -> None:
    """Raise Problem (422) with the nearest names if the plan does not have the service or the region."""
    capacity: dict[str, dict[str, float]] = plan["steps"][0]["capacity"]
    given = (("service", service, capacity), ("region", region, {name for by in capacity.values() for name in by}))
    errors = [
        unknown_name(noun, f"{noun} of this plan", name, known, location="query")
        for noun, name, known in given
        if name is not None and name not in known
    ]
    if errors:
        raise invalid(*errors)


def _out(plan: StoredPlan) -> PlacementPlanOut:
    return PlacementPlanOut.model_validate(plan)


def _document(context: WebContext, placement_plan_id: int, name: str) -> Any:
    with context.database.snapshot() as tx:
        return json.loads(load_plan_file(tx, placement_plan_id, name))

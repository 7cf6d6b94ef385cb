"""`/v1/plans`: plans, and the target bindings that each one changed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from libs.domain.plan import PlanKind
from libs.store.plans.plans import list_plan_changes, list_plans, load_plan
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.filters import require_known
from libs.web.model import ID_MAX, PageOf, ResponseModel, SomeName
from libs.web.openapi import problems

router = APIRouter(prefix="/v1/plans", tags=["plans"])
_NOUN, _CHANGES = "plans", "plan-changes"
PlanId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the plan")]


class PlanOut(ResponseModel):
    """A plan. It never changes."""

    plan_id: int
    region: str
    parent_plan_id: int | None
    kind: PlanKind
    solve_run_id: int | None
    capacity_request_id: int | None
    changes: int = Field(description="Servers whose target the plan changed")
    left_alone: int = Field(
        description="Servers that kept their target: they changed during the solve, or a reservation needs them"
    )
    created_at: datetime


class PlanChangeOut(ResponseModel):
    """One server whose target binding a plan changed."""

    server_id: int
    server: str
    from_reservation: str | None
    to_reservation: str | None


@router.get("", operation_id="list_plans", responses=problems(404))
def get_plans(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    kind: Annotated[PlanKind | None, Query(description="Of this kind only")] = None,
    server: Annotated[
        SomeName | None, Query(description="Only those that changed the target of the server with this name")
    ] = None,
) -> PageOf[PlanOut]:
    """List plans, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_plans(tx, region, kind=kind, server=server, before=before, limit=paging.limit)
        require_known(tx, page.items, region, server=server)
    items = [PlanOut.model_validate(plan) for plan in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{plan_id}", operation_id="get_plan", responses=problems(404))
def get_plan(plan_id: PlanId, context: Context) -> PlanOut:
    """Return one plan."""
    with context.database.snapshot() as tx:
        return PlanOut.model_validate(load_plan(tx, plan_id))


@router.get("/{plan_id}/changes", operation_id="list_plan_changes", responses=problems(404))
def get_plan_changes(plan_id: PlanId, context: Context, paging: Paging) -> PageOf[PlanChangeOut]:
    """List the servers whose target the plan changed, by id. The plan of an import lists none, because it brought all
    of them.
    """
    after = paging.after(_CHANGES)
    with context.database.snapshot() as tx:
        page = list_plan_changes(tx, plan_id, after=after, limit=paging.limit)
    items = [PlanChangeOut.model_validate(change) for change in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_CHANGES, page.next_cursor))

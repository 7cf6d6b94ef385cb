"""`/v1/service-models`: the resources that each service needs per unit of traffic, and the error of that model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from libs.store.planner.plan_runs import load_plan_run
from libs.store.planner.service_models import list_service_models, load_latest_modelled_run
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.model import ID_MAX, PageOf, ResponseModel, SomeName
from libs.web.openapi import problems

router = APIRouter(prefix="/v1/service-models", tags=["service models"])
_NOUN = "service-models"


class ServiceModelOut(ResponseModel):
    """The model of one service from one run."""

    service_model_id: int
    plan_run_id: int
    service: str
    confidence: Literal["high", "low"]
    document: dict[str, Any] = Field(
        description="hardware_type, metric, capacity, attribution, baseline, residual, error, reasons, coverage, spans"
    )


@router.get("", operation_id="list_service_models", responses=problems(404))
def get_models(
    context: Context,
    paging: Paging,
    plan_run_id: Annotated[
        int | None, Query(ge=1, le=ID_MAX, description="If omitted: the latest run that has models")
    ] = None,
    service: Annotated[SomeName | None, Query(description="Of this service only")] = None,
    confidence: Annotated[Literal["high", "low"] | None, Query(description="With this confidence only")] = None,
    brief: Annotated[bool, Query(description="Leave out attribution, baseline and residual")] = False,
) -> PageOf[ServiceModelOut]:
    """List the models of one run by service."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        run_id = load_latest_modelled_run(tx) if plan_run_id is None else load_plan_run(tx, plan_run_id).plan_run_id
        if run_id is None:
            return PageOf(items=[], next_cursor=None)
        page = list_service_models(
            tx, run_id, service=service, confidence=confidence, brief=brief, after=after, limit=paging.limit
        )
    items = [ServiceModelOut.model_validate(model) for model in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))

"""`/v1/execution-figures`: the latest executions side by side, as numbers and as pictures (Flux, figures 8 to 10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic import Field

from libs.domain.arrays import Floats
from libs.domain.plan_execution import ExecutionState
from libs.flux.report.cycles import SERVICES_MAX, automation_svg, completion_svg, coverage_svg
from libs.store.executions.figures import RecordedFigures
from libs.web.context import Context, WebContext
from libs.web.model import ResponseModel, SomeName
from libs.web.pictures import SVG_RESPONSE, picture
from services.orchestrator.api.plan_executions import ExecutionFiguresOut
from services.orchestrator.execution_figures import CycleFigures, load_cycle_figures

router = APIRouter(prefix="/v1/execution-figures", tags=["plan executions"])
Last = Annotated[int, Query(ge=1, le=104, description="So many executions, the latest")]
Service = Annotated[SomeName | None, Query(description="Of this service only; default: those with the largest changes")]


class PictureName(StrEnum):
    """The pictures."""

    AUTOMATION = "automation"
    COMPLETION = "completion"
    COVERAGE = "coverage"


class ExecutionCycleOut(ResponseModel):
    """One execution of a plan. Executions that take another back are left out."""

    plan_execution_id: int
    placement_plan_id: int
    state: ExecutionState
    started_at: datetime
    finished_at: datetime | None
    completion_h: float | None = Field(description="Hours from start to end; null: it goes on")
    resize_h: list[float] | None = Field(
        description="Hours that finished resizes took: least, lower quartile, median, upper quartile, most"
    )
    figures: ExecutionFiguresOut | None = Field(description="null: it ended before figures were recorded")


class ServiceCycleOut(ResponseModel):
    """The resizes of a service in one execution, over all regions."""

    planned: float = Field(description="Planned change of capacity: upsizes and downsizes, in units of its types")
    executed: float = Field(description="The part of it that was executed, as people may have edited it")
    above: float = Field(description="Sizing error: capacity after the execution beyond the planned capacity")
    below: float = Field(description="Sizing error: capacity after the execution short of the planned capacity")
    automated: float | None = Field(description="Share of its finished actions without a person; null: none finished")


class ServiceCyclesOut(ResponseModel):
    """A service over executions."""

    service: str
    executions: list[ServiceCycleOut | None] = Field(
        description="In the order of `executions` of the answer; null: the service was not resized there"
    )


class CycleFiguresOut(ResponseModel):
    """The latest executions, oldest first."""

    executions: list[ExecutionCycleOut]
    services: list[ServiceCyclesOut]


@router.get("", operation_id="get_execution_figures")
def get_figures(
    context: Context,
    last: Last = 26,
    service: Service = None,
    services_max: Annotated[int, Query(ge=0, le=1000, description="So many services at most")] = SERVICES_MAX,
) -> CycleFiguresOut:
    """Return coverage, completion time, automation and sizing errors of the latest executions."""
    found = _load(context, last, service, services_max)
    return CycleFiguresOut(
        executions=[_execution_out(one) for one in found.executions],
        services=[
            ServiceCyclesOut(
                service=name, executions=[None if one is None else ServiceCycleOut(**one) for one in figures]
            )
            for name, figures in found.services.items()
        ],
    )


@router.get(
    "/pictures/{name}.svg",
    operation_id="get_execution_figures_picture",
    response_class=Response,
    responses=SVG_RESPONSE,
)
def get_picture(name: PictureName, context: Context, last: Last = 26, service: Service = None) -> Response:
    """Draw one kind of figures over the latest executions."""
    found = _load(context, last, service, SERVICES_MAX)
    cycles = [f"{one.started_at:%Y-%m-%d}" for one in found.executions]
    match name:
        case PictureName.AUTOMATION:
            rows = [_column(figures, "automated") for figures in found.services.values()]
            by_service = np.array(rows).reshape(len(rows), len(cycles))
            return picture(automation_svg(cycles, _totals(found, "automated"), list(found.services), by_service))
        case PictureName.COMPLETION:
            hours = np.array([np.nan if (h := _completion_h(one)) is None else h for one in found.executions])
            boxes = np.full((len(cycles), 5), np.nan)
            for cycle, one in enumerate(found.executions):
                if one.figures is not None and one.figures["resize_h"] is not None:
                    boxes[cycle] = one.figures["resize_h"]
            return picture(completion_svg(cycles, hours, boxes))
        case PictureName.COVERAGE:
            pairs = (("upsized", "upsize"), ("downsized", "downsize"), ("shifted", "shift"))
            shares = [_share(_totals(found, done), _totals(found, planned)) for done, planned in pairs]
            return picture(coverage_svg(cycles, *shares))


def _load(context: WebContext, last: int, service: str | None, services_max: int) -> CycleFigures:
    with context.database.snapshot() as tx:
        return load_cycle_figures(tx, last=last, service=service, services_max=services_max)


def _execution_out(one: RecordedFigures) -> ExecutionCycleOut:
    return ExecutionCycleOut(
        plan_execution_id=one.plan_execution_id,
        placement_plan_id=one.placement_plan_id,
        state=one.state,
        started_at=one.started_at,
        finished_at=one.finished_at,
        completion_h=_completion_h(one),
        resize_h=None if one.figures is None else one.figures["resize_h"],
        figures=None
        if one.figures is None
        else ExecutionFiguresOut(**{name: one.figures[name] for name in ExecutionFiguresOut.model_fields}),
    )


def _completion_h(one: RecordedFigures) -> float | None:
    return None if one.finished_at is None else (one.finished_at - one.started_at).total_seconds() / 3600


def _totals(found: CycleFigures, name: str) -> Floats:
    return np.array(_column([one.figures for one in found.executions], name), float)


def _column(rows: Sequence[object], name: str) -> list[float]:
    """Return a figure of each row; nan: not known."""
    values = [row.get(name) if isinstance(row, dict) else None for row in rows]
    return [np.nan if value is None else float(value) for value in values]


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)

"""`/v1/model-figures`: residuals and errors of service models over plan runs (Flux, figure 11)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic import Field

from libs.flux.report.cycles import SERVICES_MAX, residuals_svg
from libs.store.planner.model_figures import load_largest_services, load_model_figures, load_modelled_runs
from libs.web.context import Context, WebContext
from libs.web.model import ResponseModel, SomeName
from libs.web.pictures import SVG_RESPONSE, picture

router = APIRouter(prefix="/v1/model-figures", tags=["service models"])
Last = Annotated[int, Query(ge=1, le=104, description="So many runs, the latest")]
Service = Annotated[SomeName | None, Query(description="Of this service only; default: those with the most capacity")]


class ModelledRunOut(ResponseModel):
    """A run whose plan became the target."""

    plan_run_id: int
    finished_at: datetime


class ModelFigureOut(ResponseModel):
    """The model of a service in one run."""

    residual: float | None = Field(
        description="Sum over regions of the absolute residual, as a share of the capacity; null: no capacity"
    )
    error: float = Field(description="Error of the model on the run's measurements")
    capacity: float = Field(description="Measured capacity over all regions, in units of its hardware type")


class ServiceModelFiguresOut(ResponseModel):
    """A service over runs."""

    service: str
    runs: list[ModelFigureOut | None] = Field(description="In the order of `runs` of the answer; null: no model")


class ModelFiguresOut(ResponseModel):
    """The latest runs, oldest first. Models are kept as long as the documents of plans."""

    runs: list[ModelledRunOut]
    services: list[ServiceModelFiguresOut]


@router.get("", operation_id="get_model_figures")
def get_figures(
    context: Context,
    last: Last = 26,
    service: Service = None,
    services_max: Annotated[int, Query(ge=0, le=1000, description="So many services at most")] = SERVICES_MAX,
) -> ModelFiguresOut:
    """Return residuals and model errors of services over the latest runs."""
    return _load(context, last, service, services_max)


@router.get(
    "/pictures/residuals.svg",
    operation_id="get_model_figures_picture",
    response_class=Response,
    responses=SVG_RESPONSE,
)
def get_picture(context: Context, last: Last = 26, service: Service = None) -> Response:
    """Draw the residuals of services over the latest runs."""
    found = _load(context, last, service, SERVICES_MAX)
    rows = [
        [np.nan if one is None or one.residual is None else one.residual for one in each.runs]
        for each in found.services
    ]
    values = np.array(rows, float).reshape(len(rows), len(found.runs))
    names = [each.service for each in found.services]
    return picture(residuals_svg([f"{run.finished_at:%Y-%m-%d}" for run in found.runs], names, values))


def _load(context: WebContext, last: int, service: str | None, services_max: int) -> ModelFiguresOut:
    with context.database.snapshot() as tx:
        runs = load_modelled_runs(tx, last=last)
        ids = [run_id for run_id, _ in runs]
        if service is not None:
            names: tuple[str, ...] = (service,)
        else:
            names = load_largest_services(tx, ids[-1], most=services_max) if ids else ()
        figures = {(one.plan_run_id, one.service): one for one in load_model_figures(tx, ids, names)}
    return ModelFiguresOut(
        runs=[ModelledRunOut(plan_run_id=run_id, finished_at=at) for run_id, at in runs],
        services=[
            ServiceModelFiguresOut(
                service=name,
                runs=[
                    None if (one := figures.get((run_id, name))) is None else ModelFigureOut.model_validate(one)
                    for run_id in ids
                ],
            )
            for name in names
        ],
    )

"""`/v1/solve-runs`: ask for one now, see how far it is and what it found, stop it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.plan import SolveRun, SolveStatus
from libs.domain.principal import Principal, Role
from libs.store import audit
from libs.store.database import Transaction
from libs.store.jobs import enqueue
from libs.store.regions import load_region
from libs.store.solve_runs import list_solve_runs, load_solve_run, request_cancel
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from services.solver.job_names import SOLVE

router = APIRouter(prefix="/v1/solve-runs", tags=["solve runs"])
_NOUN = "solve runs"
_Id = Annotated[int, Path(ge=1, le=ID_MAX)]
_OPERATOR = [Depends(require(Role.OPERATOR))]


class SolveIn(RequestModel):
    """A solve that is wanted now."""

    region: SomeName


class SolveJobOut(ResponseModel):
    """The job that will run it. It may be one that waited already: a solve that has not begun sees everything."""

    job_id: int
    region: str
    after_solve_run_id: int | None = Field(description="The region's latest run so far; the new one comes after it")


class SolveRunOut(ResponseModel):
    """One run."""

    solve_run_id: int
    region: str
    trigger: str
    status: SolveStatus
    seed: int
    parent_plan_id: int | None
    plan_id: int | None = Field(description="The plan that it committed, if any")
    progress: dict[str, Any] = Field(description="phase, incumbent, bound, gap, elapsed_s")
    report: dict[str, Any] | None = Field(description="Steps, model size, memory, objective by term, bound and gap")
    error: str | None
    bundle: str | None = Field(description="Replay bundle on the solver's machine: `plimsoll solve` runs it again")
    cancel_requested: bool
    started_at: datetime
    finished_at: datetime | None


def _out(run: SolveRun) -> SolveRunOut:
    return SolveRunOut.model_validate(run)


@router.post(
    "",
    operation_id="run_solve",
    status_code=202,
    response_model=SolveJobOut,
    dependencies=_OPERATOR,
    responses=problems(404),
)
def post_solve_run(body: SolveIn, write: Write, principal: Asking, context: Context) -> Response:
    """Solve a region now, instead of when it is next due. Poll the list for the run."""

    def effect(tx: Transaction) -> Answer:
        region_id = load_region(tx, body.region).region_id
        latest = list_solve_runs(tx, region=body.region, after=None, limit=1).items
        job_id = enqueue(tx, SOLVE, body.region, {"trigger": "request"})
        after = latest[0].solve_run_id if latest else None
        _audit(tx, "ask_for_solve", "region", region_id, principal, context)
        return Answer(202, SolveJobOut(job_id=job_id, region=body.region, after_solve_run_id=after))

    return write.once(effect)


@router.get("", operation_id="list_solve_runs")
def get_solve_runs(
    context: Context, paging: Paging, region: Annotated[SomeName | None, Query()] = None
) -> PageOf[SolveRunOut]:
    """Runs, the latest first."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_solve_runs(tx, region=region, after=after, limit=paging.limit)
    return PageOf(items=[_out(run) for run in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{solve_run_id}", operation_id="get_solve_run", responses=problems(404))
def get_solve_run(solve_run_id: _Id, context: Context) -> SolveRunOut:
    """One run: while it runs its progress, afterwards its report."""
    with context.database.snapshot() as tx:
        return _out(load_solve_run(tx, solve_run_id))


@router.post(
    "/{solve_run_id}/cancel",
    operation_id="cancel_solve_run",
    status_code=202,
    response_model=SolveRunOut,
    dependencies=_OPERATOR,
    responses={202: {"headers": headers()}, **problems(404, 409)},
)
def cancel_solve_run(solve_run_id: _Id, write: Write, principal: Asking, context: Context) -> Response:
    """Tell a run to stop: it commits the best plan that it has."""

    def effect(tx: Transaction) -> Answer:
        load_solve_run(tx, solve_run_id)
        if not request_cancel(tx, solve_run_id):
            raise Problem(409, "wrong_phase", f"Solve run {solve_run_id} is over: there is nothing to stop.")
        _audit(tx, "cancel", "solve_run", solve_run_id, principal, context)
        return Answer(202, _out(load_solve_run(tx, solve_run_id)))

    return write.once(effect)


def _audit(
    tx: Transaction, action: str, subject_kind: str, subject_id: int, principal: Principal, context: WebContext
) -> None:
    actor, now = principal.name, context.clock.now()
    audit.append(tx, actor=actor, action=action, subject_kind=subject_kind, subject_id=subject_id, now=now)

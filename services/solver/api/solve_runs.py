"""`/v1/solve-runs`: request a solve, watch its progress and result, and stop it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.plan import SolveRun, SolveStatus
from libs.domain.principal import Role
from libs.reconcile.jobs import SOLVE
from libs.store.fleet.regions import load_region
from libs.store.plans.solve_runs import list_solve_runs, load_solve_run, request_cancel
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging
from libs.web.idempotency import Answer, Write
from libs.web.long_runs import PROGRESS, LongRuns
from libs.web.model import ID_MAX, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems

router = APIRouter(prefix="/v1/solve-runs", tags=["solve runs"])
_Id = Annotated[int, Path(ge=1, le=ID_MAX)]
_OPERATOR = [Depends(require(Role.OPERATOR))]


class SolveIn(RequestModel):
    """A request to solve a region now."""

    region: SomeName


class SolveJobOut(ResponseModel):
    """The job that will run the solve. It may be a job that waited already, because a solve that has not begun sees all
    changes.
    """

    job_id: int
    region: str
    after_solve_run_id: int | None = Field(description="The region's latest run so far; the new run comes after it")


class SolveRunOut(ResponseModel):
    """One run."""

    solve_run_id: int
    region: str
    trigger: str
    status: SolveStatus
    seed: int
    parent_plan_id: int | None
    plan_id: int | None = Field(description="The plan that the run committed, if any")
    progress: dict[str, Any] = Field(description=PROGRESS)
    report: dict[str, Any] | None = Field(
        description="Steps, model size, memory, objective by term before (`stay`) and after, bound and gap. "
        "`as_solved`, only if the costs after count other shortfalls than the gap and the costs before: says why"
    )
    error: str | None
    bundle: str | None = Field(description="Replay bundle on the solver's machine: `plimsoll solve` runs it again")
    cancel_requested: bool
    started_at: datetime
    finished_at: datetime | None


def _out(run: SolveRun) -> SolveRunOut:
    return SolveRunOut.model_validate(run)


_RUNS = LongRuns(
    noun="Solve run",
    cursor_noun="solve runs",
    out=_out,
    load=load_solve_run,
    cancel=lambda tx, solve_run_id, now: request_cancel(tx, solve_run_id),
    subject_kind="solve_run",
)


@router.post(
    "",
    operation_id="run_solve",
    status_code=202,
    response_model=SolveJobOut,
    dependencies=_OPERATOR,
    responses=problems(404),
)
def post_solve_run(body: SolveIn, write: Write, principal: Asking, context: Context) -> Response:
    """Solve a region now, before its next scheduled solve. Poll the list for the run."""

    def effect(tx: Transaction) -> Answer:
        region_id = load_region(tx, body.region).region_id
        latest = list_solve_runs(tx, region=body.region, after=None, limit=1).items
        job_id = enqueue(tx, SOLVE, body.region, {"trigger": "request"})
        after = latest[0].solve_run_id if latest else None
        audit.append(
            tx,
            actor=principal.name,
            action="ask_for_solve",
            subject_kind="region",
            subject_id=region_id,
            now=context.clock.now(),
        )
        return Answer(202, SolveJobOut(job_id=job_id, region=body.region, after_solve_run_id=after))

    return write.once(effect)


@router.get("", operation_id="list_solve_runs", responses=problems(404))
def get_solve_runs(
    context: Context, paging: Paging, region: Annotated[SomeName | None, Query()] = None
) -> PageOf[SolveRunOut]:
    """List solve runs, latest first."""
    return _RUNS.page(
        context, paging, lambda tx, after: list_solve_runs(tx, region=region, after=after, limit=paging.limit)
    )


@router.get("/{solve_run_id}", operation_id="get_solve_run", responses=problems(404))
def get_solve_run(solve_run_id: _Id, context: Context) -> SolveRunOut:
    """Return one run: its progress while it runs, then its report."""
    return _RUNS.one(context, solve_run_id)


@router.post(
    "/{solve_run_id}/cancel",
    operation_id="cancel_solve_run",
    status_code=202,
    response_model=SolveRunOut,
    dependencies=_OPERATOR,
    responses={202: {"headers": headers()}, **problems(404, 409)},
)
def cancel_solve_run(solve_run_id: _Id, write: Write, principal: Asking, context: Context) -> Response:
    """Stop a run. It commits its best plan so far."""
    return _RUNS.stop(context, write, principal, solve_run_id)

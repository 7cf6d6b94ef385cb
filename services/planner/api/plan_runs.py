"""`/v1/plan-runs`: request a plan, watch its progress and result, and stop it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from pydantic import ConfigDict, Field

from libs.domain.plan_run import PlanRun, PlanRunStatus, PlanTrigger
from libs.domain.principal import Role
from libs.reconcile.jobs import PLAN, WORLD
from libs.store.planner.plan_runs import cancel_plan_run, create_plan_run, list_plan_runs, load_open_runs, load_plan_run
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging
from libs.web.idempotency import Answer, Write
from libs.web.long_runs import LongRuns
from libs.web.model import ID_MAX, Flag, PageOf, RequestModel, ResponseModel
from libs.web.openapi import headers, problems
from libs.web.reasons import GivenReason
from services.planner.api.what_if_in import WhatIfIn

router = APIRouter(prefix="/v1/plan-runs", tags=["plan runs"])
_Id = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the run")]
_OPERATOR = [Depends(require(Role.OPERATOR))]


class PlanRunIn(RequestModel):
    """A request to plan now."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the new feed launches"}]})
    dry_run: Flag = Field(default=False, description="Plan for review only: the plan does not become the target")
    what_if: WhatIfIn | None = Field(
        default=None, description="Plan for a changed world, for review only: POST .../apply makes it the target"
    )
    reason: GivenReason | None = Field(default=None, description="Why, for the audit trail")


class PlanRunOut(ResponseModel):
    """One run."""

    plan_run_id: int
    trigger: PlanTrigger
    requested_by: str | None
    request_reason: str | None
    dry_run: bool
    what_if: dict[str, Any] | None = Field(description="The changes that it plans for")
    status: PlanRunStatus
    attempts: int = Field(description="Number of starts; a run starts again after its worker dies")
    input_versions: dict[str, int] | None = Field(description="Versions that the run reads; null before its start")
    window_start: datetime | None
    window_end: datetime | None
    parent_placement_plan_id: int | None
    placement_plan_id: int | None = Field(description="The plan that the run made")
    progress: dict[str, Any] = Field(description="phase, elapsed_s")
    report: dict[str, Any] | None = Field(description="Measurements, models, decisions, and seconds by phase")
    reason: str | None = Field(
        description="Why there is no plan: MissingInputs, BadInputs, BadWhatIf, NothingMeasured, CostModel, "
        "NoPlan, PlanRefused, RegionUnknown, OutOfTime, Unsolved, StalePlan, Crashed"
    )
    error: str | None
    bundle: str | None = Field(
        description="Replay bundle on the planner's machine: `plimsoll flux plan` plans it again"
    )
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


def _out(run: PlanRun) -> PlanRunOut:
    return PlanRunOut.model_validate(run)


_RUNS = LongRuns(
    noun="Plan run",
    cursor_noun="plan-runs",
    out=_out,
    load=load_plan_run,
    cancel=lambda tx, plan_run_id, now: cancel_plan_run(tx, plan_run_id, now=now),
    subject_kind="plan_run",
)


@router.post(
    "",
    operation_id="run_plan",
    status_code=202,
    response_model=PlanRunOut,
    dependencies=_OPERATOR,
    responses={202: {"headers": headers("Location")}},
)
def post_plan_run(body: PlanRunIn, write: Write, principal: Asking, context: Context) -> Response:
    """Plan now, before the next scheduled plan. Poll the Location of the answer. A waiting run is returned instead of a
    new one.
    """

    def effect(tx: Transaction) -> Answer:
        now, dry_run = context.clock.now(), body.dry_run or body.what_if is not None
        what_if = None if body.what_if is None else asdict(body.what_if.what_if())
        asked = json.loads(json.dumps(what_if))  # as the database returns it
        waiting = [
            run
            for run in load_open_runs(tx)
            if run.status is PlanRunStatus.QUEUED and (run.dry_run, run.what_if) == (dry_run, asked)
        ]
        run = (
            waiting[0]
            if waiting
            else create_plan_run(
                tx,
                trigger=PlanTrigger.REQUEST,
                requested_by=principal.name,
                request_reason=body.reason,
                dry_run=dry_run,
                what_if=what_if,
                now=now,
            )
        )
        enqueue(tx, PLAN, WORLD)
        audit.append(
            tx,
            actor=principal.name,
            action="ask_for_plan",
            subject_kind="plan_run",
            subject_id=run.plan_run_id,
            now=now,
            reason=body.reason,
        )
        return Answer(202, _out(run), {"Location": f"/v1/plan-runs/{run.plan_run_id}"})

    return write.once(effect)


@router.get("", operation_id="list_plan_runs")
def get_plan_runs(context: Context, paging: Paging) -> PageOf[PlanRunOut]:
    """List plan runs, latest first."""
    return _RUNS.page(context, paging, lambda tx, before: list_plan_runs(tx, before=before, limit=paging.limit))


@router.get("/{plan_run_id}", operation_id="get_plan_run", responses=problems(404))
def get_plan_run(plan_run_id: _Id, context: Context) -> PlanRunOut:
    """Return one run: its progress while it runs, then its report."""
    return _RUNS.one(context, plan_run_id)


@router.post(
    "/{plan_run_id}/cancel",
    operation_id="cancel_plan_run",
    status_code=202,
    response_model=PlanRunOut,
    dependencies=_OPERATOR,
    responses=problems(404, 409),
)
def post_cancel(plan_run_id: _Id, write: Write, principal: Asking, context: Context) -> Response:
    """Stop a run. A waiting run stops at once, a running one when its solver next checks. The run then makes no
    plan.
    """
    return _RUNS.stop(context, write, principal, plan_run_id)

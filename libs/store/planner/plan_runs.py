"""Plan runs. One worker at a time takes a run. If the worker dies, another worker takes the run again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.plan_run import PlanRun, PlanRunStatus, PlanTrigger
from libs.store.planner.placement_plans import load_target_plan_id
from libs.store.planner.planning_inputs import list_current
from libs.store.platform.database import Transaction
from libs.store.platform.errors import told
from libs.store.platform.refusals import NotFound
from libs.store.tables import plan_runs

_T = plan_runs.c
_OPEN = (PlanRunStatus.QUEUED, PlanRunStatus.RUNNING)


def create_plan_run(
    tx: Transaction,
    *,
    trigger: PlanTrigger,
    requested_by: str | None = None,
    request_reason: str | None = None,
    dry_run: bool = False,
    what_if: Mapping[str, object] | None = None,
    now: datetime,
) -> PlanRun:
    """Create a queued run."""
    values: dict[str, Any] = {
        "trigger": trigger,
        "requested_by": requested_by,
        "request_reason": request_reason,
        "dry_run": dry_run,
        "what_if": what_if,
        "status": PlanRunStatus.QUEUED,
        "progress": {},
        "created_at": now,
    }
    return _run(tx.execute(sa.insert(plan_runs).values(values).returning(plan_runs)).mappings().one())


def take_plan_run(tx: Transaction, *, window: tuple[datetime, datetime], now: datetime) -> PlanRun | None:
    """Begin the oldest open run, or begin it again after its worker died. Return None if there is no open run.

    The first attempt pins the input: the versions of inputs, the window and the parent plan.
    """
    query = sa.select(plan_runs).where(_T.status.in_(_OPEN)).order_by(_T.plan_run_id).limit(1)
    row = tx.execute(query.with_for_update()).mappings().one_or_none()
    if row is None:
        return None
    values: dict[str, Any] = {"status": PlanRunStatus.RUNNING, "attempts": row["attempts"] + 1}
    if row["started_at"] is None:
        values |= {
            "started_at": now,
            "input_versions": {one.name: one.version for one in list_current(tx)},
            "window_start": window[0],
            "window_end": window[1],
            "parent_placement_plan_id": load_target_plan_id(tx),
        }
    update = sa.update(plan_runs).where(_T.plan_run_id == row["plan_run_id"]).values(values)
    return _run(tx.execute(update.returning(plan_runs)).mappings().one())


def record_plan_progress(tx: Transaction, plan_run_id: int, progress: Mapping[str, object]) -> bool:
    """Store the latest progress. Return True if cancelling was requested."""
    update = sa.update(plan_runs).where(_T.plan_run_id == plan_run_id).values(progress=dict(progress))
    return bool(tx.execute(update.returning(_T.cancel_requested)).scalar_one())


def record_plan_bundle(tx: Transaction, run: PlanRun, bundle: str) -> bool:
    """Store the path of the run's replay bundle. Return False, and change nothing, unless this is the latest
    attempt.
    """
    return tx.execute(sa.update(plan_runs).where(*_ours(run)).values(bundle=bundle)).rowcount == 1


def finish_plan_run(
    tx: Transaction,
    run: PlanRun,
    status: PlanRunStatus,
    *,
    now: datetime,
    placement_plan_id: int | None = None,
    report: Mapping[str, object] | None = None,
    reason: str | None = None,
    error: str | None = None,
) -> bool:
    """Finish the run. Return False, and change nothing, if the run is over or `run` is not its latest attempt."""
    values = {
        "status": status,
        "placement_plan_id": placement_plan_id,
        "report": report,
        "reason": reason,
        "error": told(error),
        "finished_at": now,
    }
    return tx.execute(sa.update(plan_runs).where(*_ours(run)).values(values)).rowcount == 1


def cancel_plan_run(tx: Transaction, plan_run_id: int, *, now: datetime) -> bool:
    """Cancel a queued run, or ask a running run to stop. Return False if the run is over."""
    queued = sa.update(plan_runs).where(_T.plan_run_id == plan_run_id, _T.status == PlanRunStatus.QUEUED)
    values = {"status": PlanRunStatus.CANCELLED, "cancel_requested": True, "finished_at": now}
    if tx.execute(queued.values(values)).rowcount == 1:
        return True
    running = sa.update(plan_runs).where(_T.plan_run_id == plan_run_id, _T.status == PlanRunStatus.RUNNING)
    return tx.execute(running.values(cancel_requested=True)).rowcount == 1


def load_plan_run(tx: Transaction, plan_run_id: int) -> PlanRun:
    """Return one run. Raises NotFound."""
    row = tx.execute(sa.select(plan_runs).where(_T.plan_run_id == plan_run_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("plan run", plan_run_id)
    return _run(row)


def list_plan_runs(tx: Transaction, *, before: int | None, limit: int) -> Page[PlanRun]:
    """Return a page of runs, latest first; `before` is the id that the last page ended with."""
    query = sa.select(plan_runs).order_by(_T.plan_run_id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(_T.plan_run_id < before)
    found = [_run(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda run: run.plan_run_id)


def was_scheduled(tx: Transaction, *, since: datetime, passing: Collection[str] = ()) -> bool:
    """Return whether a run that the schedule created at `since` or later is over.

    passing   reasons of failed runs that do not count, because they pass
    """
    query = sa.select(_T.plan_run_id).where(
        _T.trigger == PlanTrigger.SCHEDULE,
        _T.created_at >= since,
        _T.status.not_in(_OPEN),
        sa.func.coalesce(_T.reason, "").not_in(tuple(passing)),
    )
    return tx.execute(query.limit(1)).first() is not None


def load_open_runs(tx: Transaction) -> tuple[PlanRun, ...]:
    """Return the queued and running runs, oldest first."""
    query = sa.select(plan_runs).where(_T.status.in_(_OPEN)).order_by(_T.plan_run_id)
    return tuple(_run(row) for row in tx.execute(query).mappings())


def _ours(run: PlanRun) -> tuple[sa.ColumnElement[bool], ...]:
    return _T.plan_run_id == run.plan_run_id, _T.status == PlanRunStatus.RUNNING, _T.attempts == run.attempts


def _run(row: sa.RowMapping) -> PlanRun:
    fields = {name: row[name] for name in PlanRun.__dataclass_fields__}
    return PlanRun(**{**fields, "status": PlanRunStatus(row["status"]), "trigger": PlanTrigger(row["trigger"])})

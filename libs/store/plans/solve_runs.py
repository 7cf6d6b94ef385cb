"""Solve runs: their progress and results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.plan import SolveRun, SolveStatus
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction
from libs.store.platform.errors import told
from libs.store.platform.refusals import NotFound
from libs.store.tables import regions, solve_runs

_COLUMNS = sa.select(solve_runs, regions.c.name.label("region")).join(
    regions, regions.c.region_id == solve_runs.c.region_id
)


def fail_left_runs(tx: Transaction, region_id: int, *, now: datetime) -> int:
    """Mark the region's running runs as failed, because their worker died; return their number.

    Only one solve job of a region runs at a time (libs.jobs). So when a solve job begins, a run that is marked as
    running has lost its worker.
    """
    left = (solve_runs.c.region_id == region_id, solve_runs.c.status == SolveStatus.RUNNING)
    values = {"status": SolveStatus.FAILED, "error": "the worker ended before the solve did", "finished_at": now}
    return tx.execute(sa.update(solve_runs).where(*left).values(values)).rowcount


def start_solve_run(
    tx: Transaction, region_id: int, *, trigger: str, seed: int, parent_plan_id: int | None, now: datetime
) -> int:
    """Create a running run and return its id."""
    values = {
        "region_id": region_id,
        "trigger": trigger,
        "status": SolveStatus.RUNNING,
        "seed": seed,
        "parent_plan_id": parent_plan_id,
        "progress": {},
        "started_at": now,
    }
    return int(tx.execute(sa.insert(solve_runs).values(values).returning(solve_runs.c.solve_run_id)).scalar_one())


def record_progress(tx: Transaction, solve_run_id: int, progress: Mapping[str, object]) -> bool:
    """Store the latest progress. Return True if cancelling was requested."""
    statement = (
        sa.update(solve_runs)
        .where(solve_runs.c.solve_run_id == solve_run_id)
        .values(progress=dict(progress))
        .returning(solve_runs.c.cancel_requested)
    )
    return bool(tx.execute(statement).scalar_one())


def record_bundle(tx: Transaction, solve_run_id: int, bundle: str) -> None:
    """Store the path of the run's replay bundle."""
    tx.execute(sa.update(solve_runs).where(solve_runs.c.solve_run_id == solve_run_id).values(bundle=bundle))


def finish_solve_run(
    tx: Transaction,
    solve_run_id: int,
    status: SolveStatus,
    *,
    now: datetime,
    plan_id: int | None = None,
    report: Mapping[str, object] | None = None,
    error: str | None = None,
) -> bool:
    """Finish the run. Return False, and change nothing, if the run is over."""
    statement = (
        sa.update(solve_runs)
        .where(solve_runs.c.solve_run_id == solve_run_id, solve_runs.c.status == SolveStatus.RUNNING)
        .values(status=status, plan_id=plan_id, report=report, error=told(error), finished_at=now)
    )
    return tx.execute(statement).rowcount == 1


def request_cancel(tx: Transaction, solve_run_id: int) -> bool:
    """Ask a run to stop. Return False if the run is not running."""
    statement = (
        sa.update(solve_runs)
        .where(solve_runs.c.solve_run_id == solve_run_id, solve_runs.c.status == SolveStatus.RUNNING)
        .values(cancel_requested=True)
    )
    return tx.execute(statement).rowcount == 1


def load_solve_run(tx: Transaction, solve_run_id: int) -> SolveRun:
    """Return one run. Raises NotFound."""
    row = tx.execute(_COLUMNS.where(solve_runs.c.solve_run_id == solve_run_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("solve run", solve_run_id)
    return _solve_run(row)


def list_solve_runs(tx: Transaction, *, region: str | None, after: int | None, limit: int) -> Page[SolveRun]:
    """Return a page of runs, latest first; `after` is the id that the last page ended with. Raises NotFound for the
    region.
    """
    query = _COLUMNS.order_by(solve_runs.c.solve_run_id.desc()).limit(limit + 1)
    if region is not None:
        query = query.where(solve_runs.c.region_id == load_region(tx, region).region_id)
    if after is not None:
        query = query.where(solve_runs.c.solve_run_id < after)
    found = [_solve_run(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda run: run.solve_run_id)


def _solve_run(row: sa.RowMapping) -> SolveRun:
    fields = {name: row[name] for name in SolveRun.__dataclass_fields__}
    return SolveRun(**{**fields, "status": SolveStatus(row["status"])})

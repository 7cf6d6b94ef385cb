"""Shadow solves of roll-outs: begun, given up and finished. One row per roll-out and real solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.job import JobStatus
from libs.domain.page import Page
from libs.domain.plan import SolveRun, SolveStatus
from libs.domain.policy_rollout import ComparisonStatus, Finding, PolicyComparison, PolicyRollout, RolloutStage
from libs.reconcile.jobs import SIMULATE, SOLVE
from libs.store.plans.solve_runs import load_solve_run
from libs.store.platform.database import Transaction
from libs.store.platform.errors import told
from libs.store.tables import jobs, policy_comparisons, solve_runs

_table = policy_comparisons
_SOLVED = (SolveStatus.COMMITTED, SolveStatus.UNCHANGED)


def load_run_to_shadow(tx: Transaction, region_id: int, *, since: datetime) -> SolveRun | None:
    """Return the region's latest run, if it has begun since, ended well and kept its replay bundle; otherwise None."""
    latest = (
        sa.select(solve_runs.c.solve_run_id)
        .where(
            solve_runs.c.region_id == region_id,
            solve_runs.c.status.in_(_SOLVED),
            solve_runs.c.started_at >= since,
            solve_runs.c.bundle.is_not(None),
        )
        .order_by(solve_runs.c.solve_run_id.desc())
        .limit(1)
    )
    found = tx.execute(latest).scalar_one_or_none()
    return None if found is None else load_solve_run(tx, found)


def load_solve_reports(
    tx: Transaction, region_id: int, *, before: datetime | None, most: int
) -> list[Mapping[str, Any]]:
    """Return the reports of the region's latest `most` runs that ended well, begun before `before`; None: of all."""
    query = (
        sa.select(solve_runs.c.report)
        .where(solve_runs.c.region_id == region_id, solve_runs.c.status.in_(_SOLVED), solve_runs.c.report.is_not(None))
        .order_by(solve_runs.c.solve_run_id.desc())
        .limit(most)
    )
    if before is not None:
        query = query.where(solve_runs.c.started_at < before)
    return list(tx.execute(query).scalars())


def solve_waits(tx: Transaction, region: str, *, after_job: int | None) -> bool:
    """Return whether a solve of this region waits or runs, or other work of solvers waits for a worker.

    after_job   the job of the solve that asked for the shadow; it does not count
    """
    waits = sa.and_(jobs.c.kind.in_((SOLVE, SIMULATE)), jobs.c.status == JobStatus.QUEUED)
    runs = sa.and_(jobs.c.kind == SOLVE, jobs.c.subject == region, jobs.c.status == JobStatus.RUNNING)
    found = sa.select(sa.exists().where(sa.or_(waits, runs), jobs.c.job_id != (after_job or 0)))
    return bool(tx.execute(found).scalar_one())


def load_planned(tx: Transaction, plan_id: int) -> list[tuple[str, str | None]]:
    """Return (server, reservation) for each server whose target the plan changed. None: the server is free."""
    query = """
        SELECT servers.name, reservations.name FROM plan_changes JOIN servers USING (server_id)
        LEFT JOIN reservations ON reservation_id = to_reservation_id WHERE plan_id = :plan_id"""
    return [(server, reservation) for server, reservation in tx.execute(sa.text(query), {"plan_id": plan_id})]


def start_comparison(tx: Transaction, rollout: PolicyRollout, solve_run_id: int, *, now: datetime) -> int:
    """Create a running comparison and return its id."""
    values = {
        "policy_rollout_id": rollout.policy_rollout_id,
        "solve_run_id": solve_run_id,
        "stage": rollout.stage,
        "status": ComparisonStatus.RUNNING,
        "findings": [],
        "started_at": now,
    }
    return int(tx.execute(sa.insert(_table).values(values).returning(_table.c.policy_comparison_id)).scalar_one())


def load_latest_comparison(tx: Transaction, policy_rollout_id: int) -> PolicyComparison | None:
    """Return the latest comparison of a roll-out; None if there is none."""
    found = list_comparisons(tx, policy_rollout_id, limit=1).items
    return found[0] if found else None


def finish_comparison(
    tx: Transaction,
    policy_comparison_id: int,
    status: ComparisonStatus,
    *,
    now: datetime,
    report: Mapping[str, object] | None = None,
    findings: Sequence[Finding] = (),
    error: str | None = None,
) -> bool:
    """Finish a running comparison. Return False, and change nothing, if it is over."""
    statement = (
        sa.update(_table)
        .where(_table.c.policy_comparison_id == policy_comparison_id, _table.c.status == ComparisonStatus.RUNNING)
        .values(
            status=status,
            report=None if report is None else dict(report),
            findings=[asdict(one) for one in findings],
            error=told(error),
            finished_at=now,
        )
    )
    return tx.execute(statement).rowcount == 1


def count_comparisons(tx: Transaction, rollout: PolicyRollout) -> int:
    """Return the number of comparisons that ended with an answer since the roll-out's stage began."""
    done = sa.select(sa.func.count()).where(
        _table.c.policy_rollout_id == rollout.policy_rollout_id,
        _table.c.status == ComparisonStatus.DONE,
        _table.c.started_at >= rollout.stage_at,
    )
    return int(tx.execute(done).scalar_one())


def list_comparisons(
    tx: Transaction, policy_rollout_id: int, *, before: int | None = None, limit: int = 100
) -> Page[PolicyComparison]:
    """Return a page of a roll-out's comparisons, latest first. `before` is the last id of the page before."""
    query = sa.select(_table).where(_table.c.policy_rollout_id == policy_rollout_id)
    if before is not None:
        query = query.where(_table.c.policy_comparison_id < before)
    rows = tx.execute(query.order_by(_table.c.policy_comparison_id.desc()).limit(limit + 1)).mappings()
    return Page.of([_comparison(row) for row in rows], limit, lambda one: one.policy_comparison_id)


def forget_comparisons(tx: Transaction, policy_rollout_id: int, *, most: int) -> None:
    """Delete the comparisons of a roll-out, except the newest `most`."""
    of_rollout = _table.c.policy_rollout_id == policy_rollout_id
    newest = (
        sa.select(_table.c.policy_comparison_id)
        .where(of_rollout)
        .order_by(_table.c.policy_comparison_id.desc())
        .limit(most)
    )
    tx.execute(sa.delete(_table).where(of_rollout, _table.c.policy_comparison_id.not_in(newest)))


def _comparison(row: sa.RowMapping) -> PolicyComparison:
    fields = {name: row[name] for name in PolicyComparison.__dataclass_fields__}
    return PolicyComparison(
        **fields
        | {
            "stage": RolloutStage(row["stage"]),
            "status": ComparisonStatus(row["status"]),
            "findings": tuple(Finding(**one) for one in row["findings"]),
        }
    )

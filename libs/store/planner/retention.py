"""Retention of finished plan runs, with their plans, and of superseded planning inputs."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.planner.executed_changes import latest_executed
from libs.store.platform.database import Transaction
from libs.store.tables import (
    executed_changes,
    execution_actions,
    execution_commands,
    gate_readings,
    placement_lineage,
    placement_plan_files,
    placement_plans,
    plan_executions,
    plan_runs,
    planning_input_versions,
    service_models,
)

# A version is in force until the next one. Keep the versions that a stored run was made from.
_SUPERSEDED = """
    WITH ended AS (
        SELECT planning_input_version_id, name, version,
            lead(created_at) OVER (PARTITION BY name ORDER BY version) AS ended_at
        FROM planning_input_versions
    )
    SELECT planning_input_version_id FROM ended
    WHERE ended_at < :before
      AND NOT EXISTS (SELECT FROM plan_runs WHERE (input_versions ->> ended.name)::bigint = ended.version)
    ORDER BY planning_input_version_id LIMIT :most"""


def forget_plan_runs(tx: Transaction, *, before: datetime, executed_plans: int, most: int) -> int:
    """Delete up to `most` runs that ended before `before`, oldest first, with their models and plans. Return the number
    of deleted runs.

    Keep the run of the target, and the runs of plans under execution. Keep those of the latest plans too, because the
    next plan takes its executed shares from them.
    """
    _allow(tx)
    run, plan, execution = plan_runs.c, placement_plans.c, plan_executions.c
    needed = sa.union(
        sa.select(placement_lineage.c.placement_plan_id).where(placement_lineage.c.placement_plan_id.is_not(None)),
        latest_executed(executed_plans),
        sa.select(execution.placement_plan_id).where(execution.finished_at.is_(None)),
    )
    kept = sa.select(plan.plan_run_id).where(plan.placement_plan_id.in_(needed))
    query = sa.select(run.plan_run_id).where(run.finished_at < before, run.plan_run_id.not_in(kept))
    old = tx.execute(query.order_by(run.plan_run_id).limit(most).with_for_update(skip_locked=True)).scalars().all()
    plans = tx.execute(sa.select(plan.placement_plan_id).where(plan.plan_run_id.in_(old))).scalars().all()
    tx.execute(sa.update(plan_runs).where(run.plan_run_id.in_(old)).values(placement_plan_id=None))
    executions = sa.select(execution.plan_execution_id).where(execution.placement_plan_id.in_(plans))
    for table in (gate_readings, execution_commands, execution_actions):
        tx.execute(sa.delete(table).where(table.c.plan_execution_id.in_(executions)))
    for table in (plan_executions, executed_changes, placement_plan_files, placement_plans):
        tx.execute(sa.delete(table).where(table.c.placement_plan_id.in_(plans)))
    for table in (service_models, plan_runs):
        tx.execute(sa.delete(table).where(table.c.plan_run_id.in_(old)))
    return len(old)


def forget_input_versions(tx: Transaction, *, before: datetime, most: int) -> int:
    """Delete up to `most` versions of inputs that were superseded before `before` and that no run uses. Return the
    number of deleted versions.
    """
    _allow(tx)
    old = tx.execute(sa.text(_SUPERSEDED), {"before": before, "most": most}).scalars().all()
    key = planning_input_versions.c.planning_input_version_id
    tx.execute(sa.delete(planning_input_versions).where(key.in_(old)))
    return len(old)


def _allow(tx: Transaction) -> None:
    tx.execute(sa.text("SET LOCAL plimsoll.forgetting = 'on'"))  # or triggers refuse the deletion

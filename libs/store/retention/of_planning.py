"""Retention of plan runs with their plans, of superseded planning inputs, and of other rows without a region."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

import sqlalchemy as sa

from libs.store.planner.executed_changes import latest_executed
from libs.store.platform.database import Transaction
from libs.store.retention.batches import BATCH, Forget, allow_forgetting, first_owners
from libs.store.tables import (
    approvals,
    executed_changes,
    execution_actions,
    execution_commands,
    freeze_overrides,
    gate_readings,
    placement_lineage,
    placement_plan_files,
    placement_plans,
    plan_executions,
    plan_runs,
    planning_input_versions,
    service_models,
)

_OF_EXECUTIONS = (approvals, freeze_overrides, gate_readings, execution_commands, execution_actions)
_OF_PLANS = (executed_changes, placement_plan_files)
_OF_A_RUN = [
    *(
        f"FROM {table.name} AS it JOIN plan_executions USING (plan_execution_id) "
        "JOIN placement_plans AS made ON made.placement_plan_id = plan_executions.placement_plan_id "
        "WHERE made.plan_run_id = owner"
        for table in _OF_EXECUTIONS
    ),
    *(
        f"FROM {table.name} JOIN placement_plans USING (placement_plan_id) WHERE plan_run_id = owner"
        for table in _OF_PLANS
    ),
]

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


def forget_plan_runs(
    tx: Transaction, *, before: datetime, executed_plans: int, most: int, dependents_most: int = BATCH
) -> int:
    """Delete up to `most` runs that ended before `before`, oldest first, with their models and plans. Return the number
    of deleted runs.

    At most `dependents_most` rows of each table that goes with plans bound the batch too (first_owners).

    Keep the run of the target, and the runs of plans under execution. Keep those of the latest plans too, because the
    next plan takes its executed shares from them.
    """
    allow_forgetting(tx)
    run, plan, execution = plan_runs.c, placement_plans.c, plan_executions.c
    needed = sa.union(
        sa.select(placement_lineage.c.placement_plan_id).where(placement_lineage.c.placement_plan_id.is_not(None)),
        latest_executed(executed_plans),
        sa.select(execution.placement_plan_id).where(execution.finished_at.is_(None)),
    )
    kept = sa.select(plan.plan_run_id).where(plan.placement_plan_id.in_(needed))
    query = sa.select(run.plan_run_id).where(run.finished_at < before, run.plan_run_id.not_in(kept))
    old = tx.execute(query.order_by(run.plan_run_id).limit(most).with_for_update(skip_locked=True)).scalars().all()
    old = first_owners(tx, old, _OF_A_RUN, most=dependents_most)
    plans = tx.execute(sa.select(plan.placement_plan_id).where(plan.plan_run_id.in_(old))).scalars().all()
    tx.execute(sa.update(plan_runs).where(run.plan_run_id.in_(old)).values(placement_plan_id=None))
    executions = sa.select(execution.plan_execution_id).where(execution.placement_plan_id.in_(plans))
    for table in _OF_EXECUTIONS:
        tx.execute(sa.delete(table).where(table.c.plan_execution_id.in_(executions)))
    for table in (plan_executions, *_OF_PLANS, placement_plans):
        tx.execute(sa.delete(table).where(table.c.placement_plan_id.in_(plans)))
    for table in (service_models, plan_runs):
        tx.execute(sa.delete(table).where(table.c.plan_run_id.in_(old)))
    return len(old)


def forget_input_versions(tx: Transaction, *, before: datetime, most: int) -> int:
    """Delete up to `most` versions of inputs that were superseded before `before` and that no run uses. Return the
    number of deleted versions.
    """
    allow_forgetting(tx)
    old = tx.execute(sa.text(_SUPERSEDED), {"before": before, "most": most}).scalars().all()
    key = planning_input_versions.c.planning_input_version_id
    tx.execute(sa.delete(planning_input_versions).where(key.in_(old)))
    return len(old)


_OVERRIDES = """
    DELETE FROM plan_overrides WHERE plan_override_id IN (
        SELECT plan_override_id FROM plan_overrides WHERE least(withdrawn_at, expires_at) < :before
        ORDER BY plan_override_id LIMIT :most FOR UPDATE SKIP LOCKED)"""
# freeze_overrides go with their execution.
_FREEZES = """
    DELETE FROM freezes WHERE freeze_id IN (
        SELECT freeze_id FROM freezes WHERE least(ended_at, ends_at) < :before
          AND NOT EXISTS (SELECT FROM freeze_overrides WHERE freeze_overrides.freeze_id = freezes.freeze_id)
        ORDER BY freeze_id LIMIT :most FOR UPDATE SKIP LOCKED)"""
_REMINDERS = """
    DELETE FROM approval_reminders WHERE (recipient, due_at) IN (
        SELECT recipient, due_at FROM approval_reminders
        WHERE due_at < :before AND status IN ('sent', 'failed', 'unknown') LIMIT :most FOR UPDATE SKIP LOCKED)"""


def _delete(statement: str, tx: Transaction, /, *, before: datetime, most: int) -> int:
    return tx.execute(sa.text(statement), {"before": before, "most": most}).rowcount


def of_planning(executed_plans: int) -> Mapping[str, Forget]:
    """Return the deletions in the history of planning. Runs go first, then the inputs that they pinned.

    executed_plans   number of latest executed plans to keep, see forget_plan_runs
    """
    return {
        "plan_runs": partial(forget_plan_runs, executed_plans=executed_plans),
        "planning_input_versions": forget_input_versions,
    }


OF_WORLD: Mapping[str, Forget] = {
    "plan_overrides": partial(_delete, _OVERRIDES),
    "freezes": partial(_delete, _FREEZES),
    "approval_reminders": partial(_delete, _REMINDERS),
}
"""The deletions of other rows that belong to no region."""

"""Executed upsizes and downsizes of placement plans, and the share of the planned amount that was carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert

from libs.store.platform.database import Transaction
from libs.store.tables import executed_changes, placement_plans

_RECORD = sa.text("""
    INSERT INTO executed_changes (placement_plan_id, action, phase, planned, executed, recorded_at)
    SELECT :plan, action, phase, planned, executed, :now
    FROM unnest(CAST(:action AS text[]), CAST(:phase AS text[]), CAST(:planned AS float8[]),
                CAST(:executed AS float8[])) AS new (action, phase, planned, executed)
    ON CONFLICT (placement_plan_id, action) DO UPDATE
    SET phase = excluded.phase, planned = excluded.planned, executed = excluded.executed,
        recorded_at = excluded.recorded_at""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedShare:
    """The share of planned changes that was carried out, over the latest plans: the number of finished actions, and the
    executed amount per planned unit.
    """

    actions: int
    share: float


def record_executed(
    tx: Transaction,
    placement_plan_id: int,
    action: str,
    *,
    phase: str,
    planned: float,
    executed: float,
    now: datetime,
) -> None:
    """Record a finished action of a plan, in the phase `upsize` or `downsize`. A second record of the same action
    replaces the first one.

    planned, executed   in units of the action's hardware type
    """
    values = {"phase": phase, "planned": planned, "executed": executed, "recorded_at": now}
    statement = insert(executed_changes).values(placement_plan_id=placement_plan_id, action=action, **values)
    tx.execute(statement.on_conflict_do_update(index_elements=["placement_plan_id", "action"], set_=values))


def record_all_executed(
    tx: Transaction,
    placement_plan_id: int,
    rows: Sequence[tuple[str, str, float, float]],
    *,
    now: datetime,
) -> None:
    """Record many finished actions, each as (action, phase, planned, executed), as record_executed does for one."""
    names = ("action", "phase", "planned", "executed")
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    values = dict(zip(names, columns, strict=True)) | {"plan": placement_plan_id, "now": now}
    tx.execute(_RECORD, values)


def record_taken_back(tx: Transaction, placement_plan_id: int, actions: Sequence[str], *, now: datetime) -> None:
    """Record that these actions of a plan were taken back: their executed amounts become 0."""
    e = executed_changes.c
    update = sa.update(executed_changes).where(
        e.placement_plan_id == placement_plan_id, e.action == sa.func.any(sa.cast(list(actions), ARRAY(sa.Text)))
    )
    tx.execute(update.values(executed=0.0, recorded_at=now))


def load_executed_shares(tx: Transaction, *, plans: int) -> dict[str, ExecutedShare]:
    """Return phase -> executed share, over the latest `plans` committed plans that have records."""
    e = executed_changes.c
    query = sa.select(e.phase, sa.func.count(), sa.func.sum(e.executed) / sa.func.sum(e.planned))
    rows = tx.execute(query.where(e.placement_plan_id.in_(latest_executed(plans))).group_by(e.phase))
    return {phase: ExecutedShare(actions=actions, share=share) for phase, actions, share in rows}


def latest_executed(plans: int) -> sa.Select[tuple[int]]:
    """Select the ids of the latest `plans` committed plans that have records."""
    e = executed_changes.c
    return (
        sa.select(e.placement_plan_id)
        .join(placement_plans, placement_plans.c.placement_plan_id == e.placement_plan_id)
        .where(placement_plans.c.committed)
        .group_by(e.placement_plan_id)
        .order_by(e.placement_plan_id.desc())
        .limit(plans)
    )

"""The figures of executions. They are recorded when an execution ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats
from libs.domain.plan_execution import ExecutionState
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction
from libs.store.tables import plan_executions

_T = plan_executions.c
# The event of an action is active from its first request on, and has succeeded when the action is done.
_TIMES = """
    SELECT position::bigint, extract(epoch FROM began.changed_at)::float8,
           CASE WHEN event.status = 'succeeded' THEN extract(epoch FROM event.changed_at) ELSE 'NaN' END::float8
    FROM execution_actions
    JOIN capacity_events AS event USING (capacity_event_id)
    JOIN LATERAL (
        SELECT changed_at FROM capacity_event_changes AS change
        WHERE change.capacity_event_id = event.capacity_event_id AND change.status = 'active'
        ORDER BY generation LIMIT 1
    ) AS began ON true
    WHERE plan_execution_id = %(id)s"""
_TIME_FIELDS = {"position": ">i8", "began_s": ">f8", "ended_s": ">f8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFigures:
    """One execution of a plan. figures is the document of libs.flux.execution.figures; None: not recorded (yet)."""

    plan_execution_id: int
    placement_plan_id: int
    state: ExecutionState
    started_at: datetime
    finished_at: datetime | None
    figures: Mapping[str, Any] | None


def load_action_times(tx: Transaction, plan_execution_id: int, actions: int) -> tuple[Floats, Floats]:
    """Return when each action was first asked for, and when it was done, by position: seconds since 1970.

    nan: it has not happened, or the action has no effect.
    """
    began_s, ended_s = np.full(actions, np.nan), np.full(actions, np.nan)
    rows = copy_out(tx, _TIMES, {"id": plan_execution_id}, _TIME_FIELDS)
    position = rows["position"].astype(np.int64)
    began_s[position], ended_s[position] = rows["began_s"], rows["ended_s"]
    return began_s, ended_s


def load_action_seconds(tx: Transaction, plan_execution_id: int, actions: int) -> Floats:
    """Return the seconds that each action took, by position; nan: it has not ended, or has no effect."""
    began_s, ended_s = load_action_times(tx, plan_execution_id, actions)
    return ended_s - began_s


def record_figures(tx: Transaction, plan_execution_id: int, figures: Mapping[str, Any]) -> None:
    """Store the figures of a locked execution that ends."""
    key = _T.plan_execution_id == plan_execution_id
    tx.execute(sa.update(plan_executions).where(key).values(figures=dict(figures)))


def load_figures(tx: Transaction, *, last: int) -> tuple[RecordedFigures, ...]:
    """Return the latest executions of plans that have started, oldest first. Executions that take another back are left
    out.
    """
    names = RecordedFigures.__dataclass_fields__
    query = (
        sa.select(*(_T[name] for name in names))
        .where(_T.started_at.is_not(None), _T.reverses_execution_id.is_(None))
        .order_by(_T.plan_execution_id.desc())
        .limit(last)
    )
    rows = tx.execute(query).mappings().all()
    return tuple(RecordedFigures(**{**row, "state": ExecutionState(row["state"])}) for row in reversed(rows))

"""The actions of an execution: what never changes of them, and how far they are. In bulk, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import sqlalchemy as sa

from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import STATES, ActionProgress, Progress, initial_progress
from libs.store.platform.bulk import Column, copy_in, copy_out, raw_rows
from libs.store.platform.database import Transaction
from libs.store.tables import execution_actions

_FIXED = ("action", "service", "product", "region", "to_region", "hardware_type")
_NUMBERS = ("before", "after", "lead_time_h", "estimate_h", "start_h")
_PROGRESS: Mapping[str, str] = {
    "attempt": ">i8",
    "tries": ">i8",
    "reached": ">f8",
    "asked": ">f8",
    "size": ">f8",
    "since_s": ">f8",
    "again_s": ">f8",
    "paused": "?",
    "person": "?",
    "overridden": ">f8",
}
_STATES = "ARRAY[" + ", ".join(f"'{state.value}'" for state in STATES) + "]"
_LOAD = f"""
    SELECT (array_position({_STATES}, state) - 1)::bigint, {", ".join(_PROGRESS)}
    FROM execution_actions WHERE plan_execution_id = %(id)s ORDER BY position"""
_NOTES = "SELECT position, note FROM execution_actions WHERE plan_execution_id = %(id)s AND note IS NOT NULL"
_ACTIONS = f"""
    SELECT phase, {", ".join(_FIXED)}, {", ".join(_NUMBERS)}, approval, waits_for
    FROM execution_actions WHERE plan_execution_id = %(id)s ORDER BY position"""
_CHANGE = sa.text("""
    UPDATE execution_actions SET
        state = new.state, attempt = new.attempt, tries = new.tries, reached = new.reached, asked = new.asked,
        size = new.size, since_s = new.since_s, again_s = new.again_s, paused = new.paused, person = new.person,
        overridden = new.overridden, note = new.note
    FROM json_to_recordset(CAST(:rows AS json)) AS new (
        position int, state text, attempt bigint, tries bigint, reached float8, asked float8, size float8,
        since_s float8, again_s float8, paused boolean, person boolean, overridden float8, note text)
    WHERE execution_actions.plan_execution_id = :id AND execution_actions.position = new.position""")


def insert_actions(
    tx: Transaction, plan_execution_id: int, actions: Sequence[Action], event_ids: Mapping[int, int], *, now_s: float
) -> None:
    """Store the actions of a new execution, in topological order. `event_ids` is position -> capacity event."""
    n, position = len(actions), {a.action: i for i, a in enumerate(actions)}
    progress = initial_progress(tuple(actions), now_s)
    columns: dict[str, Column] = {
        "plan_execution_id": [plan_execution_id] * n,
        "position": list(range(n)),
        "phase": [a.phase.value for a in actions],
        **{name: [getattr(a, name) for a in actions] for name in (*_FIXED, *_NUMBERS)},
        "approval": [list(a.approval) for a in actions],
        "waits_for": [[position[before] for before in a.waits_for] for a in actions],
        "capacity_event_id": [event_ids.get(i) for i in range(n)],
        "state": [STATES[code].value for code in progress.state.tolist()],
        **{name: getattr(progress, name) for name in _PROGRESS},
        "note": [None] * n,
    }
    copy_in(tx, execution_actions, columns)


def load_actions(tx: Transaction, plan_execution_id: int) -> tuple[Action, ...]:
    """Return the actions in topological order."""
    rows: list[tuple[Any, ...]] = list(raw_rows(tx, _ACTIONS, {"id": plan_execution_id}))
    names = [row[1] for row in rows]
    return tuple(
        Action(
            phase=Phase(phase),
            approval=tuple(approval),
            waits_for=tuple(names[i] for i in waits_for),
            **dict(zip((*_FIXED, *_NUMBERS), values, strict=True)),
        )
        for phase, *values, approval, waits_for in rows
    )


def load_progress(tx: Transaction, plan_execution_id: int) -> Progress:
    """Return how far the actions are."""
    rows = copy_out(tx, _LOAD, {"id": plan_execution_id}, {"state": ">i8", **_PROGRESS})
    note = np.full(len(rows), None, object)
    for position, text in raw_rows(tx, _NOTES, {"id": plan_execution_id}):
        note[int(str(position))] = text
    arrays = {name: rows[name].astype(np.dtype(kind).newbyteorder("=")) for name, kind in _PROGRESS.items()}
    return Progress(state=rows["state"].astype(np.int8), note=note, **arrays)


def change_actions(tx: Transaction, plan_execution_id: int, changes: Sequence[ActionProgress]) -> None:
    """Write how far actions are. The caller has locked the execution and raises its generation."""
    if changes:
        rows = orjson.dumps([{name: getattr(one, name) for name in _COLUMNS} for one in changes]).decode()
        tx.execute(_CHANGE, {"id": plan_execution_id, "rows": rows})


_COLUMNS = ("position", "state", *_PROGRESS, "note")

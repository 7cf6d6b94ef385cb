"""The actions of an execution: what never changes of them, and how far they are. In bulk, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import sqlalchemy as sa

from libs.domain.arrays import Ints
from libs.domain.execution_plan import Action, Phase
from libs.domain.execution_progress import STATES, ActionProgress, Progress, initial_progress
from libs.store.platform.bulk import Column, copy_in, load_columns, raw_rows
from libs.store.platform.database import Transaction
from libs.store.tables import execution_actions

_FIXED = ("action", "service", "product", "region", "to_region", "hardware_type")
_NUMBERS = ("before", "after", "lead_time_h", "estimate_h", "start_h")
_PROGRESS: Mapping[str, str] = {
    "attempt": "i8",
    "tries": "i8",
    "reached": "f8",
    "asked": "f8",
    "size": "f8",
    "since_s": "f8",
    "again_s": "f8",
    "paused": "?",
    "person": "?",
    "overridden": "f8",
}
_STATES = "ARRAY[" + ", ".join(f"'{state.value}'" for state in STATES) + "]"
_LOAD = f"""
    SELECT (array_position({_STATES}, state) - 1)::bigint AS state, {", ".join(_PROGRESS)}
    FROM execution_actions WHERE plan_execution_id = %(id)s ORDER BY position"""
_NOTES = "SELECT position, note FROM execution_actions WHERE plan_execution_id = %(id)s AND note IS NOT NULL"
_ACTIONS = f"""
    SELECT phase, {", ".join(_FIXED)}, {", ".join(_NUMBERS)}, cardinality(waits_for) AS waits
    FROM execution_actions WHERE plan_execution_id = %(id)s ORDER BY position"""
_WAITS = """
    SELECT waited FROM execution_actions, unnest(waits_for) WITH ORDINALITY AS one (waited, number)
    WHERE plan_execution_id = %(id)s ORDER BY position, number"""
_APPROVALS = "SELECT position, approval FROM execution_actions WHERE plan_execution_id = %(id)s AND approval <> '{}'"
_PHASES = {phase.value: phase for phase in Phase}
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
    given = {"id": plan_execution_id}
    kinds = {"phase": "O", **dict.fromkeys(_FIXED, "O"), **dict.fromkeys(_NUMBERS, "f8"), "waits": "i4"}
    columns = load_columns(tx, _ACTIONS, given, kinds)
    waits = columns["action"][load_columns(tx, _WAITS, given, {"waited": "i4"})["waited"]].tolist()
    ends = np.cumsum(columns.pop("waits")).tolist()
    waiting: list[tuple[Any, ...]] = list(raw_rows(tx, _APPROVALS, given))
    approvals = {position: tuple(why) for position, why in waiting}
    phases = columns.pop("phase").tolist()
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return tuple(
        Action(
            phase=_PHASES[phases[i]],
            approval=approvals.get(i, ()),
            waits_for=tuple(waits[ends[i - 1] if i else 0 : ends[i]]),
            **dict(zip(columns, row, strict=True)),
        )
        for i, row in enumerate(rows)
    )


def load_progress(tx: Transaction, plan_execution_id: int) -> Progress:
    """Return how far the actions are."""
    columns = load_columns(tx, _LOAD, {"id": plan_execution_id}, {"state": "i8", **_PROGRESS})
    state: Ints = columns.pop("state").astype(np.int8)
    note = np.full(len(state), None, object)
    for position, text in raw_rows(tx, _NOTES, {"id": plan_execution_id}):
        note[int(str(position))] = text
    return Progress(state=state, note=note, **columns)


def change_actions(tx: Transaction, plan_execution_id: int, changes: Sequence[ActionProgress]) -> None:
    """Write how far actions are. The caller has locked the execution and raises its generation."""
    if changes:
        rows = orjson.dumps([{name: getattr(one, name) for name in _COLUMNS} for one in changes]).decode()
        tx.execute(_CHANGE, {"id": plan_execution_id, "rows": rows})


_COLUMNS = ("position", "state", *_PROGRESS, "note")

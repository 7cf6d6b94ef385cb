"""Commands about executions, with their outcomes, and the readings of gates. Both are append-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from libs.domain.gate import GateReading
from libs.domain.page import Page
from libs.domain.plan_execution import Command, CommandLevel, RecordedCommand, RejectKind, Verb
from libs.store.platform.database import Transaction
from libs.store.tables import execution_commands, gate_readings

_C, _G = execution_commands.c, gate_readings.c
_FIELDS = ("position", "gate", "at", "value", "query", "bound", "note")


def record_command(tx: Transaction, plan_execution_id: int, one: RecordedCommand) -> None:
    """Append a command with its outcome."""
    values = {
        "plan_execution_id": plan_execution_id,
        "level": one.command.level,
        "verb": one.command.verb,
        "subject": one.command.subject,
        "size": one.command.size,
        "reason": one.reason,
        "reject_kind": one.reject_kind,
        "actor": one.actor,
        "given_at": one.given_at,
        "accepted": one.code is None,
        "code": one.code,
        "message": one.message,
        "changed": one.changed,
    }
    tx.execute(sa.insert(execution_commands).values(values))


def list_commands(
    tx: Transaction, plan_execution_id: int, *, before: int | None, limit: int
) -> Page[tuple[int, RecordedCommand]]:
    """Return a page of commands with their ids, latest first."""
    query = sa.select(execution_commands).where(_C.plan_execution_id == plan_execution_id)
    query = query.order_by(_C.execution_command_id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(_C.execution_command_id < before)
    found = [(int(row["execution_command_id"]), _command(row)) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda one: one[0])


def append_readings(tx: Transaction, plan_execution_id: int, readings: Sequence[GateReading]) -> None:
    """Append readings of gates."""
    if readings:
        rows = [
            {"plan_execution_id": plan_execution_id, **{name: getattr(one, name) for name in _FIELDS}}
            for one in readings
        ]
        tx.execute(sa.insert(gate_readings), rows)


def load_readings(tx: Transaction, plan_execution_id: int, *, since: datetime) -> Mapping[int, Sequence[GateReading]]:
    """Return position -> the readings from `since` on, oldest first."""
    query = sa.select(*(gate_readings.c[name] for name in _FIELDS)).where(
        _G.plan_execution_id == plan_execution_id, _G.at >= since
    )
    found: dict[int, list[GateReading]] = {}
    for row in tx.execute(query.order_by(_G.gate_reading_id)).mappings():
        found.setdefault(row["position"], []).append(GateReading(**row))
    return found


def list_readings(tx: Transaction, plan_execution_id: int, position: int, *, limit: int) -> tuple[GateReading, ...]:
    """Return the latest readings of the gates of an action, latest first."""
    query = sa.select(*(gate_readings.c[name] for name in _FIELDS)).where(
        _G.plan_execution_id == plan_execution_id, _G.position == position
    )
    rows = tx.execute(query.order_by(_G.gate_reading_id.desc()).limit(limit)).mappings()
    return tuple(GateReading(**row) for row in rows)


def _command(row: sa.RowMapping) -> RecordedCommand:
    kind = row["reject_kind"]
    return RecordedCommand(
        command=Command(
            level=CommandLevel(row["level"]), verb=Verb(row["verb"]), subject=row["subject"], size=row["size"]
        ),
        actor=row["actor"],
        given_at=row["given_at"],
        reason=row["reason"],
        reject_kind=None if kind is None else RejectKind(kind),
        code=row["code"],
        message=row["message"],
        changed=row["changed"],
    )

"""The calendar of freezes, and the actions that may begin in spite of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.freeze import Calendar, Freeze, FreezeScope
from libs.domain.page import Page
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import freeze_overrides, freezes

NOUN = "freeze"
_T, _O = freezes.c, freeze_overrides.c
_ALL = -1


def insert_freeze(
    tx: Transaction,
    *,
    scope: FreezeScope,
    name: str | None,
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    created_by: str,
    now: datetime,
) -> Freeze:
    """Enter a freeze. It may overlap with others."""
    values = {
        "scope": scope,
        "name": name,
        "starts_at": starts_at,
        "ends_at": ends_at,
        "reason": reason,
        "created_by": created_by,
        "created_at": now,
    }
    row = tx.execute(sa.insert(freezes).values(values).returning(freezes)).mappings().one()
    return _freeze(row)


def load_freeze(tx: Transaction, freeze_id: int) -> Freeze:
    """Return one freeze. Raises NotFound."""
    row = tx.execute(sa.select(freezes).where(_T.freeze_id == freeze_id)).mappings().one_or_none()
    if row is None:
        raise NotFound(NOUN, freeze_id)
    return _freeze(row)


def list_freezes(tx: Transaction, *, open_at: datetime | None, before: int | None, limit: int) -> Page[Freeze]:
    """Return a page of freezes, latest first. With `open_at`, only those that have not ended by then."""
    query = sa.select(freezes).order_by(_T.freeze_id.desc()).limit(limit + 1)
    if open_at is not None:
        query = query.where(_T.ended_at.is_(None), _T.ends_at > open_at)
    if before is not None:
        query = query.where(_T.freeze_id < before)
    return Page.of([_freeze(row) for row in tx.execute(query).mappings()], limit, lambda one: one.freeze_id)


def count_open_freezes(tx: Transaction, now: datetime) -> int:
    """Return how many freezes have not ended."""
    query = sa.select(sa.func.count()).select_from(freezes).where(_T.ended_at.is_(None), _T.ends_at > now)
    return int(tx.execute(query).scalar_one())


def end_freeze(tx: Transaction, freeze_id: int, *, generation: int, ended_by: str, now: datetime) -> Freeze:
    """End a freeze early. Raises NotFound, and StaleGeneration unless it is open and at `generation`."""
    key = sa.and_(_T.freeze_id == freeze_id, _T.generation == generation, _T.ended_at.is_(None))
    if tx.execute(sa.update(freezes).where(key).values(ended_at=now, ended_by=ended_by)).rowcount == 0:
        found = load_freeze(tx, freeze_id).generation
        raise StaleGeneration(NOUN, freeze_id, expected=generation, found=found)
    return load_freeze(tx, freeze_id)


def load_freezes_on(tx: Transaction, now: datetime) -> tuple[Freeze, ...]:
    """Return the freezes of this moment, oldest first."""
    query = sa.select(freezes).where(_T.ended_at.is_(None), _T.ends_at > now, _T.starts_at <= now)
    return tuple(_freeze(row) for row in tx.execute(query.order_by(_T.freeze_id)).mappings())


def load_calendar(tx: Transaction, plan_execution_id: int, now: datetime) -> Calendar:
    """Return the freezes of this moment, and the actions of an execution that may begin in spite of them."""
    found = load_freezes_on(tx, now)
    if not found:
        return Calendar()
    ids = [one.freeze_id for one in found]
    rows = tx.execute(
        sa.select(_O.freeze_id, _O.position).where(_O.plan_execution_id == plan_execution_id, _O.freeze_id.in_(ids))
    )
    overrides = frozenset((row.freeze_id, None if row.position == _ALL else row.position) for row in rows)
    return Calendar(freezes=found, overrides=overrides)


def insert_overrides(
    tx: Transaction,
    plan_execution_id: int,
    overrides: Sequence[tuple[int, int | None]],
    *,
    reason: str,
    given_by: str,
    now: datetime,
) -> None:
    """Let actions begin in spite of freezes: (freeze, position), where None means all actions of the execution."""
    if overrides:
        told = {"plan_execution_id": plan_execution_id, "reason": reason, "actor": given_by, "given_at": now}
        rows = [told | {"freeze_id": f, "position": _ALL if p is None else p} for f, p in overrides]
        tx.execute(insert(freeze_overrides).on_conflict_do_nothing(), rows)


def copy_overrides(tx: Transaction, from_execution: int, to_execution: int) -> None:
    """Let all actions of an execution begin in spite of the freezes that were overridden for all of another."""
    names = ("freeze_id", "position", "reason", "actor", "given_at")
    rows = sa.select(sa.literal(to_execution), *(_O[name] for name in names)).where(
        _O.plan_execution_id == from_execution, _O.position == _ALL
    )
    tx.execute(sa.insert(freeze_overrides).from_select(["plan_execution_id", *names], rows))


def _freeze(row: sa.RowMapping) -> Freeze:
    fields = {name: row[name] for name in Freeze.__dataclass_fields__}
    return Freeze(**fields | {"scope": FreezeScope(row["scope"])})

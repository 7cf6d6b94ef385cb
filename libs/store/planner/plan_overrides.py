"""Overrides of the planner's bounds. An override can be set, listed and withdrawn, but is never deleted."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.plan_override import OverrideKind, PlanOverride
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import plan_overrides

NOUN = "plan override"
_T = plan_overrides.c
_LOCK = "plan_overrides"


def lock_overrides(tx: Transaction) -> None:
    """Lock all overrides until the transaction ends, so that a check of a new override against the stored ones stays
    valid.
    """
    tx.execute(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtext(_LOCK))))


def create_override(
    tx: Transaction,
    *,
    kind: OverrideKind,
    subject: str,
    region: str,
    hardware_type: str | None,
    least: float | None,
    most: float | None,
    reason: str,
    expires_at: datetime | None,
    created_by: str,
    now: datetime,
) -> PlanOverride:
    """Create an override, in force at once."""
    values = {
        "kind": kind,
        "subject": subject,
        "region": region,
        "hardware_type": hardware_type,
        "least": least,
        "most": most,
        "reason": reason,
        "expires_at": expires_at,
        "created_by": created_by,
        "created_at": now,
    }
    row = tx.execute(sa.insert(plan_overrides).values(values).returning(plan_overrides)).mappings().one()
    return _override(row)


def load_override(tx: Transaction, plan_override_id: int) -> PlanOverride:
    """Return one override. Raises NotFound."""
    query = sa.select(plan_overrides).where(_T.plan_override_id == plan_override_id)
    row = tx.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound(NOUN, plan_override_id)
    return _override(row)


def load_overrides_in_force(tx: Transaction, now: datetime) -> tuple[PlanOverride, ...]:
    """Return the overrides in force, in the order of their creation."""
    query = sa.select(plan_overrides).where(_in_force(now)).order_by(_T.plan_override_id)
    return tuple(_override(row) for row in tx.execute(query).mappings())


def list_overrides(
    tx: Transaction, *, in_force: bool | None, now: datetime, before: int | None, limit: int
) -> Page[PlanOverride]:
    """Return a page of overrides, latest first. `in_force` is True for overrides in force, False for those no longer in
    force, and None for all.
    """
    query = sa.select(plan_overrides).order_by(_T.plan_override_id.desc()).limit(limit + 1)
    if in_force is not None:
        query = query.where(_in_force(now) if in_force else sa.not_(_in_force(now)))
    if before is not None:
        query = query.where(_T.plan_override_id < before)
    found = [_override(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda one: one.plan_override_id)


def withdraw_override(
    tx: Transaction, plan_override_id: int, *, generation: int, withdrawn_by: str, reason: str | None, now: datetime
) -> bool:
    """Withdraw an override. Return False if it was withdrawn already. Raises NotFound, StaleGeneration."""
    key = _T.plan_override_id == plan_override_id
    values = {"withdrawn_by": withdrawn_by, "withdrawn_at": now, "withdrawn_reason": reason}
    update = sa.update(plan_overrides).where(key, _T.generation == generation, _T.withdrawn_at.is_(None)).values(values)
    if tx.execute(update).rowcount == 1:
        return True
    found = load_override(tx, plan_override_id)
    if found.generation != generation:
        raise StaleGeneration(NOUN, plan_override_id, expected=generation, found=found.generation)
    return False


def _in_force(now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(_T.withdrawn_at.is_(None), sa.or_(_T.expires_at.is_(None), _T.expires_at > now))


def _override(row: sa.RowMapping) -> PlanOverride:
    fields = {name: row[name] for name in PlanOverride.__dataclass_fields__}
    return PlanOverride(**{**fields, "kind": OverrideKind(row["kind"])})

"""Conditions of regions: one row per region and type, overwritten on change. The condition Solved has no row, because
it is derived from solve runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from psycopg.types.json import Json

from libs.domain.region_condition import ConditionStatus, RegionCondition, RegionConditionType
from libs.store.plans.solve_conditions import load_solve_conditions
from libs.store.platform.database import Transaction
from libs.store.tables import region_conditions, regions

_SET = sa.text("""
    INSERT INTO region_conditions AS known
        (region_id, type, status, reason, message, numbers, changed_at, observed_at)
    VALUES (:region_id, :type, :status, :reason, :message, CAST(:numbers AS jsonb), :now, :now)
    ON CONFLICT (region_id, type) DO UPDATE SET
        status = EXCLUDED.status, reason = EXCLUDED.reason, message = EXCLUDED.message, numbers = EXCLUDED.numbers,
        observed_at = EXCLUDED.observed_at,
        changed_at = CASE WHEN known.status = EXCLUDED.status THEN known.changed_at ELSE EXCLUDED.changed_at END
    WHERE (known.status, known.reason, known.message, known.numbers)
        IS DISTINCT FROM (EXCLUDED.status, EXCLUDED.reason, EXCLUDED.message, EXCLUDED.numbers)""")


def set_condition(
    tx: Transaction,
    region_id: int,
    kind: RegionConditionType,
    status: ConditionStatus,
    *,
    reason: str,
    message: str,
    now: datetime,
    numbers: Mapping[str, object] | None = None,
) -> None:
    """Set a condition of a region. Write nothing if the condition is unchanged."""
    values = {"type": kind.value, "status": status.value, "reason": reason, "message": message, "now": now}
    tx.execute(_SET, {**values, "region_id": region_id, "numbers": Json(dict(numbers or {}))})


def condition_reason(tx: Transaction, region_id: int, kind: RegionConditionType) -> str | None:
    """Return the reason of a condition of a region; None if the condition was never set."""
    at = (region_conditions.c.region_id == region_id) & (region_conditions.c.type == kind.value)
    reason: str | None = tx.execute(sa.select(region_conditions.c.reason).where(at)).scalar()
    return reason


def load_condition(tx: Transaction, region_id: int, kind: RegionConditionType) -> RegionCondition | None:
    """Return one condition of a region; None if it was never set."""
    at = (region_conditions.c.region_id == region_id) & (region_conditions.c.type == kind.value)
    row = tx.execute(sa.select(region_conditions).where(at)).mappings().one_or_none()
    return None if row is None else _condition(row)


def load_conditions(tx: Transaction, region_ids: Sequence[int]) -> dict[int, tuple[RegionCondition, ...]]:
    """Return the conditions of each of these regions, by type."""
    table = region_conditions
    query = sa.select(table).where(table.c.region_id.in_(region_ids))
    found = {region_id: [solved] for region_id, solved in load_solve_conditions(tx, region_ids).items()}
    for row in tx.execute(query).mappings():
        found[row["region_id"]].append(_condition(row))
    by_type = attrgetter("type")
    return {region_id: tuple(sorted(conditions, key=by_type)) for region_id, conditions in found.items()}


def load_all_conditions(tx: Transaction) -> Iterator[tuple[str, RegionCondition]]:
    """Yield (region, condition) for all regions, by name."""
    rows = tx.execute(sa.select(regions.c.region_id, regions.c.name).order_by(regions.c.name))
    names = {row.region_id: row.name for row in rows}
    conditions = load_conditions(tx, list(names))
    return ((name, told) for region_id, name in names.items() for told in conditions[region_id])


def _condition(row: Mapping[Any, Any]) -> RegionCondition:
    fields = {name: row[name] for name in RegionCondition.__dataclass_fields__}
    kinds = {"type": RegionConditionType(row["type"]), "status": ConditionStatus(row["status"])}
    return RegionCondition(**{**fields, **kinds})

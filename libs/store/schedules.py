"""When the next run of each cycle of a region is due, on the injected Clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.store.database import Transaction
from libs.store.jobs import enqueue
from libs.store.regions import load_region
from libs.store.tables import schedules

# One statement, so that of two schedulers one advances a schedule. However many periods have passed, it is one run.
_ADVANCE = sa.text("""
    UPDATE schedules SET next_at =
        next_at + (floor(extract(epoch FROM CAST(:now AS timestamptz) - next_at) / interval_s) + 1) * interval_s
                  * interval '1 second'
    FROM regions
    WHERE regions.region_id = schedules.region_id AND next_at <= :now
    RETURNING schedules.kind, regions.name""")


def set_schedule(tx: Transaction, region_name: str, kind: str, interval_s: float, *, now: datetime) -> None:
    """Run a job of this kind for the region now and every so often; or change how often. Raises NotFound."""
    region_id = load_region(tx, region_name).region_id
    statement = insert(schedules).values(region_id=region_id, kind=kind, interval_s=interval_s, next_at=now)
    statement = statement.on_conflict_do_update(
        index_elements=["region_id", "kind"],
        set_={"interval_s": interval_s, "next_at": sa.func.least(schedules.c.next_at, now)},
        where=schedules.c.interval_s != interval_s,
    )
    tx.execute(statement)


def load_schedules(tx: Transaction, region_name: str) -> Mapping[str, float]:
    """Kind -> interval in seconds. Raises NotFound."""
    region_id = load_region(tx, region_name).region_id
    query = sa.select(schedules.c.kind, schedules.c.interval_s).where(schedules.c.region_id == region_id)
    return {row.kind: row.interval_s for row in tx.execute(query)}


def advance_schedules(tx: Transaction, *, now: datetime) -> tuple[int, ...]:
    """Ask for the jobs of every schedule that is due, with the region's name as subject; their ids."""
    due = sorted(tx.execute(_ADVANCE, {"now": now}).all())
    return tuple(enqueue(tx, kind, region) for kind, region in due)

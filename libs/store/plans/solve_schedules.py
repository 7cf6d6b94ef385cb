"""The schedule of a region's solves: an operator's period, and the next due time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from libs.domain.solve_schedule import SolveSchedule
from libs.reconcile.errors import StaleGeneration
from libs.reconcile.jobs import CYCLES, SOLVE
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.tables import regions, schedules


def load_solve_schedule(tx: Transaction, region_name: str) -> SolveSchedule:
    """Return the schedule of a region. Raises NotFound."""
    region = load_region(tx, region_name)
    query = sa.select(schedules.c.interval_s, schedules.c.next_at).where(*_solves_of(region.region_id))
    row = tx.execute(query).one_or_none()
    return SolveSchedule(
        region=region.name,
        solve_every_s=region.solve_every_s,
        period_s=region.solve_every_s or (CYCLES[SOLVE] if row is None else row.interval_s),
        solve_due_at=None if row is None else row.next_at,
        generation=region.generation,
    )


def set_solve_period(
    tx: Transaction,
    region_name: str,
    solve_every_s: float | None,
    *,
    generation: int,
    actor: str,
    now: datetime,
    reason: str | None = None,
) -> SolveSchedule:
    """Set the period between the solves of a region, and write an audit entry. If `solve_every_s` is None, the
    scheduler's own period applies.

    The next solve is due at most one new period from now. Raises NotFound, and StaleGeneration unless the region is at
    `generation`.
    """
    region = load_region(tx, region_name, lock=True)
    if region.generation != generation:
        raise StaleGeneration("region", region_name, expected=generation, found=region.generation)
    if solve_every_s == region.solve_every_s:
        return load_solve_schedule(tx, region_name)
    chosen = sa.update(regions).where(regions.c.region_id == region.region_id).values(solve_every_s=solve_every_s)
    tx.execute(chosen)
    after = load_solve_schedule(tx, region_name)
    if after.solve_due_at is not None:
        due_at = min(after.solve_due_at, now + timedelta(seconds=after.period_s))
        tx.execute(sa.update(schedules).where(*_solves_of(region.region_id)).values(next_at=due_at))
        after = replace(after, solve_due_at=due_at)
    audit.append(
        tx,
        actor=actor,
        action="set_solve_period",
        subject_kind="region",
        subject_id=region.region_id,
        now=now,
        before={"solve_every_s": region.solve_every_s},
        after={"solve_every_s": solve_every_s},
        reason=reason,
    )
    return after


def _solves_of(region_id: int) -> tuple[sa.ColumnElement[bool], ...]:
    return schedules.c.region_id == region_id, schedules.c.kind == SOLVE

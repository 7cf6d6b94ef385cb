"""When the next run of each cycle of a region, and of those that belong to none, is due, on the injected Clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from libs.store.database import Transaction
from libs.store.jobs import put_job

# One statement, so that of two schedulers one advances a schedule. However many periods have passed, it is one run.
# Due more than two periods away: the Clock went back, and the loop must not stand still until it has caught up. Two,
# because schedulers' clocks are never quite the same.
_ADVANCE = sa.text("""
    UPDATE schedules SET next_at =
        next_at + (floor(extract(epoch FROM CAST(:now AS timestamptz) - next_at) / interval_s) + 1) * interval_s
                  * interval '1 second'
    FROM regions
    WHERE regions.region_id = schedules.region_id
      AND (next_at <= :now OR next_at > CAST(:now AS timestamptz) + 2 * interval_s * interval '1 second')
    RETURNING schedules.kind, regions.name""")


WORLD = "world"
"""The subject of jobs that belong to no region."""
_ADVANCE_WORLD = sa.text("""
    UPDATE world_schedules SET next_at =
        next_at + (floor(extract(epoch FROM CAST(:now AS timestamptz) - next_at) / interval_s) + 1) * interval_s
                  * interval '1 second'
    WHERE next_at <= :now OR next_at > CAST(:now AS timestamptz) + 2 * interval_s * interval '1 second'
    RETURNING kind""")


def ensure_schedules(tx: Transaction, cycles: Mapping[str, float], *, now: datetime) -> None:
    """Every region has a schedule of each kind at these intervals in seconds; what is new or shorter is due sooner."""
    if not cycles:
        return
    statement = """
        INSERT INTO schedules (region_id, kind, interval_s, next_at)
        SELECT region_id, kind, interval_s, :now
        FROM regions
        CROSS JOIN unnest(CAST(:kinds AS text[]), CAST(:intervals AS float8[])) AS cycles (kind, interval_s)
        ON CONFLICT (region_id, kind) DO UPDATE
        SET interval_s = EXCLUDED.interval_s,
            next_at = least(schedules.next_at, :now + EXCLUDED.interval_s * interval '1 second')
        WHERE schedules.interval_s <> EXCLUDED.interval_s"""
    values = {"now": now, "kinds": list(cycles), "intervals": list(cycles.values())}
    tx.execute(sa.text(statement), values)


def advance_schedules(tx: Transaction, *, now: datetime) -> tuple[int, ...]:
    """Ask for the jobs of every schedule that is due, with the region's name as subject; their ids."""
    due = sorted(tx.execute(_ADVANCE, {"now": now}).all())
    return tuple(put_job(tx, kind, region) for kind, region in due)


def ensure_world_schedules(tx: Transaction, cycles: Mapping[str, float], *, now: datetime) -> None:
    """A schedule of each kind that belongs to no region, likewise."""
    if not cycles:
        return
    statement = """
        INSERT INTO world_schedules (kind, interval_s, next_at)
        SELECT kind, interval_s, :now
        FROM unnest(CAST(:kinds AS text[]), CAST(:intervals AS float8[])) AS cycles (kind, interval_s)
        ON CONFLICT (kind) DO UPDATE
        SET interval_s = EXCLUDED.interval_s,
            next_at = least(world_schedules.next_at, :now + EXCLUDED.interval_s * interval '1 second')
        WHERE world_schedules.interval_s <> EXCLUDED.interval_s"""
    values = {"now": now, "kinds": list(cycles), "intervals": list(cycles.values())}
    tx.execute(sa.text(statement), values)


def advance_world_schedules(tx: Transaction, *, now: datetime) -> tuple[int, ...]:
    """Ask for the jobs of every such schedule that is due; their ids."""
    return tuple(put_job(tx, kind, WORLD) for kind in sorted(tx.execute(_ADVANCE_WORLD, {"now": now}).scalars()))

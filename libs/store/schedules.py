"""When the next run of each cycle of a region, and of those that belong to none, is due, on the injected Clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import sqlalchemy as sa

from libs.store.database import Locked, Transaction, briefly
from libs.store.jobs import put_job

# Of two schedulers one finds a schedule due: the other skips the row, or sees it advanced.
# Due more than two periods away: the Clock went back, and the loop must not stand still until it has caught up. Two,
# because schedulers' clocks are never quite the same.
_DUE = """(next_at <= :now OR next_at > CAST(:now AS timestamptz) + 2 * interval_s * interval '1 second')
    ORDER BY next_at, kind FOR UPDATE OF due SKIP LOCKED"""
# However many periods have passed, it is one run.
_NEXT = """SET next_at =
    next_at + (floor(extract(epoch FROM CAST(:now AS timestamptz) - next_at) / interval_s) + 1) * interval_s
              * interval '1 second' WHERE kind = :kind"""
_WAIT_S = 0.1
"""A transaction that asks for a job holds its row for milliseconds. One that holds it for longer stands still."""

WORLD = "world"
"""The subject of jobs that belong to no region."""


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
    """Ask for the jobs of every schedule that is due, with the region's name as subject; their ids.

    One whose job's row another transaction holds for long stays due, and holds up no other.
    """
    query = "SELECT kind, region_id, name FROM schedules AS due JOIN regions USING (region_id) WHERE "
    due = tx.execute(sa.text(query + _DUE), {"now": now}).all()
    update = sa.text(f"UPDATE schedules {_NEXT} AND region_id = :region_id")
    return _ask(tx, [(row.kind, row.name, {"region_id": row.region_id}) for row in due], update, now)


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
    """Ask for the jobs of every such schedule that is due, likewise; their ids."""
    due = tx.execute(sa.text("SELECT kind FROM world_schedules AS due WHERE " + _DUE), {"now": now}).scalars().all()
    return _ask(tx, [(kind, WORLD, {}) for kind in due], sa.text(f"UPDATE world_schedules {_NEXT}"), now)


def _ask(
    tx: Transaction, due: Sequence[tuple[str, str, Mapping[str, object]]], update: sa.TextClause, now: datetime
) -> tuple[int, ...]:
    """Of each (kind, subject, key of its schedule) the job's id; a schedule advances only with its job."""
    asked = []
    for kind, subject, key in due:
        with suppress(Locked), briefly(tx, _WAIT_S):
            job_id = put_job(tx, kind, subject)
            tx.execute(update, {"now": now, "kind": kind, **key})
            asked.append(job_id)
    return tuple(asked)

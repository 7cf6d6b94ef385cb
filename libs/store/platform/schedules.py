"""Schedules of cycles, of each region and of the world, on the injected Clock."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from libs.reconcile.jobs import SOLVE, WORLD
from libs.store.platform.database import Locked, Transaction, briefly
from libs.store.platform.jobs import put_job

_WAIT_S = 0.1
"""Seconds to wait for a locked job. A transaction that asks for a job holds its row for milliseconds, unless
it hangs.
"""

# A new cycle is due at once. One with a new period is due at most that period from now.
_ENSURE = """
    INSERT INTO {table} ({key}, interval_s, next_at)
    SELECT {key}, interval_s, :now
    FROM ({subjects}) AS subjects
    CROSS JOIN unnest(CAST(:kinds AS text[]), CAST(:intervals AS float8[])) AS cycles (kind, interval_s)
    ON CONFLICT ({key}) DO UPDATE
    SET interval_s = EXCLUDED.interval_s,
        next_at = least({table}.next_at, :now + EXCLUDED.interval_s * interval '1 second')
    WHERE {table}.interval_s <> EXCLUDED.interval_s"""
# An operator's period for a region overrides the scheduler's own.
_PERIOD_S = "coalesce(CASE kind WHEN :solve THEN solve_every_s END, interval_s)"
# Of two schedulers, one advances a due schedule. The other skips the locked row, or sees it advanced.
# If the next run is more than two periods away, the Clock went back, so run at once. The factor is two, because the
# clocks of schedulers differ slightly.
_DUE = f"""
    SELECT {{key}}, subject, {_PERIOD_S} AS period_s
    FROM {{table}} AS due NATURAL JOIN ({{subjects}}) AS subjects
    WHERE next_at <= :now OR next_at > CAST(:now AS timestamptz) + 2 * {_PERIOD_S} * interval '1 second'
    ORDER BY next_at, kind FOR UPDATE OF due SKIP LOCKED"""
# Run once, however many periods have passed.
_ADVANCE = """
    UPDATE {table} SET next_at = next_at + interval '1 second'
        * (floor(extract(epoch FROM CAST(:now AS timestamptz) - next_at) / :period_s) + 1) * :period_s
    WHERE ({key}) = ({key_values})"""


@dataclass(frozen=True, slots=True)
class _Timetable:
    """One of the two tables of schedules.

    key        its primary key
    subjects   a query of the subjects of its jobs: the rest of the key, `subject` and `solve_every_s`
    """

    table: str
    key: tuple[str, ...]
    subjects: str

    def statement(self, template: str) -> sa.TextClause:
        """Return a statement for this table."""
        key_values = ", ".join(f":{name}" for name in self.key)
        return sa.text(
            template.format(table=self.table, key=", ".join(self.key), key_values=key_values, subjects=self.subjects)
        )


_OF_REGIONS = _Timetable(
    "schedules", ("region_id", "kind"), "SELECT region_id, name AS subject, solve_every_s FROM regions"
)
_OF_WORLD = _Timetable(
    "world_schedules", ("kind",), f"SELECT '{WORLD}' AS subject, CAST(NULL AS float8) AS solve_every_s"
)


def ensure_schedules(
    tx: Transaction, cycles: Mapping[str, float], world_cycles: Mapping[str, float] | None = None, *, now: datetime
) -> None:
    """Give every region a schedule of each kind in `cycles`, and the world one of each kind in `world_cycles`.

    Both map a kind to the scheduler's own period in seconds. A new schedule is due at once. One whose period shrinks
    may become due earlier.
    """
    for timetable, periods in ((_OF_REGIONS, cycles), (_OF_WORLD, world_cycles)):
        if periods:
            values = {"now": now, "kinds": list(periods), "intervals": list(periods.values())}
            tx.execute(timetable.statement(_ENSURE), values)


def advance_schedules(tx: Transaction, *, now: datetime) -> tuple[int, ...]:
    """Ask for the jobs of every due schedule, and return their ids.

    The subject of a job is the name of the region, or WORLD. The new due time and the job are written together. If
    another transaction holds the job's row for long, skip the schedule, so that it stays due.
    """
    asked = []
    for timetable in (_OF_REGIONS, _OF_WORLD):
        advance = timetable.statement(_ADVANCE)
        for row in tx.execute(timetable.statement(_DUE), {"now": now, "solve": SOLVE}).mappings().all():
            with suppress(Locked), briefly(tx, _WAIT_S):
                job_id = put_job(tx, row["kind"], row["subject"])
                tx.execute(advance, {"now": now, **row})
                asked.append(job_id)
    return tuple(asked)

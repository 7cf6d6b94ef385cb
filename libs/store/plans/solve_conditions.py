"""The condition Solved of each region, derived from its solve runs, so that no writer has to maintain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.plan import SolveStatus
from libs.domain.region_condition import ConditionStatus, RegionCondition, RegionConditionType
from libs.reconcile.jobs import SOLVE
from libs.store.platform.database import Transaction

_LOOKED_AT = 10_000
"""Number of latest runs to read, over all regions. Metrics read the runs often, and reading years of hourly runs would
be slow.
"""

# The latest run of a region that has ended, or that has no job any more; and the start of the streak of runs that
# ended in the same way.
_LATEST = """
    WITH told AS (
        SELECT solve_run_id, solve_runs.region_id, error, started_at, finished_at,
               CASE WHEN status = 'running' THEN 'crashed'
                    WHEN status IN ('committed', 'unchanged') AND report ->> 'stopped_by' = 'time' THEN 'out_of_time'
                    WHEN status = 'unchanged' THEN 'committed' ELSE status END AS ended
        FROM solve_runs JOIN regions USING (region_id)
        WHERE solve_run_id > (SELECT max(solve_run_id) - :looked_at FROM solve_runs)
          AND (CAST(:region_ids AS bigint[]) IS NULL OR solve_runs.region_id = ANY(:region_ids))
          AND NOT (status = 'running' AND EXISTS (
              SELECT FROM jobs WHERE kind = :job_kind AND subject = regions.name AND status = 'running'))
    ), latest AS (
        SELECT DISTINCT ON (region_id) * FROM told ORDER BY region_id, solve_run_id DESC
    )
    SELECT latest.*, (
        SELECT min(coalesce(same.finished_at, same.started_at)) FROM told AS same
        WHERE same.region_id = latest.region_id AND same.solve_run_id > coalesce((
            SELECT max(other.solve_run_id) FROM told AS other
            WHERE other.region_id = latest.region_id AND other.ended <> latest.ended), 0)
    ) AS since
    FROM latest"""
_REGIONS = """
    SELECT region_id, created_at FROM regions
    WHERE CAST(:region_ids AS bigint[]) IS NULL OR region_id = ANY(:region_ids)"""

_STANDS = "The last target stands"
_TELL: Mapping[str, tuple[ConditionStatus, str, str]] = {
    SolveStatus.COMMITTED: (ConditionStatus.TRUE, "Solved", "The last solve ended as it should."),
    SolveStatus.STALE: (
        ConditionStatus.FALSE,
        "SolveStale",
        f"{_STANDS}: another plan came first, and the region is solved again at once.",
    ),
    SolveStatus.FAILED: (
        ConditionStatus.FALSE,
        "SolveFailed",
        f"{_STANDS}: solve run {{run}} failed ({{error}}). It is tried again; its replay bundle shows what it read.",
    ),
    "crashed": (
        ConditionStatus.FALSE,
        "SolverCrashed",
        f"{_STANDS}: the worker of solve run {{run}} is gone. Another worker begins again, if one runs.",
    ),
    "out_of_time": (
        ConditionStatus.FALSE,
        "SolveOutOfTime",
        "Solve run {run} reached its time limit and kept the best plan found by then. Give it more time "
        "(PLIMSOLL_SOLVE_S_MAX) or more processor.",
    ),
}


def load_solve_conditions(tx: Transaction, region_ids: Sequence[int] | None = None) -> dict[int, RegionCondition]:
    """Return the condition Solved of the regions `region_ids`, or of all regions if None. The condition states the
    result of the latest solve.
    """
    chosen = None if region_ids is None else list(region_ids)
    rows = tx.execute(sa.text(_LATEST), {"region_ids": chosen, "job_kind": SOLVE, "looked_at": _LOOKED_AT}).mappings()
    ended = {row["region_id"]: _condition(row) for row in rows}
    known = tx.execute(sa.text(_REGIONS), {"region_ids": chosen}).mappings()
    return {row["region_id"]: ended.get(row["region_id"]) or _never(row["created_at"]) for row in known}


def _never(since: datetime) -> RegionCondition:
    return RegionCondition(
        type=RegionConditionType.SOLVED,
        status=ConditionStatus.UNKNOWN,
        reason="AwaitingSolve",
        message="No solve has looked at this region yet.",
        numbers={},
        changed_at=since,
        observed_at=since,
    )


def _condition(row: Mapping[Any, Any]) -> RegionCondition:
    status, reason, message = _TELL[row["ended"]]
    error = str(row["error"] or "").splitlines()[:1]
    said = message.format(run=row["solve_run_id"], error=error[0][:200] if error else "no reason recorded")
    return RegionCondition(
        type=RegionConditionType.SOLVED,
        status=status,
        reason=reason,
        message=said,
        numbers={"solve_run_id": row["solve_run_id"]},
        changed_at=row["since"],
        observed_at=row["finished_at"] or row["started_at"],
    )

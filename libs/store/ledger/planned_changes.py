"""The changes that a plan must take as given, by the step in which they are due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

from libs.store.ledger.achieved import achieved_by
from libs.store.platform.database import Transaction

# A plan replaces the proposals of the plan before it. Other writers' proposals are their own to withdraw.
# Of an event that was at work before and after `since`, the measurements show the first part.
_QUERY = f"""
    WITH counted AS (
        SELECT *, width_bucket(starts_at, CAST(:ends AS timestamptz[])) AS step,
               CASE status WHEN 'active' THEN amount - achieved ELSE amount END AS change
        FROM capacity_events
        WHERE status IN ('active', 'approved') OR (status = 'proposed' AND writer <> 'flux')
        UNION ALL
        SELECT *, 0, achieved - {achieved_by("event", ":since")}
        FROM capacity_events AS event WHERE achieved <> 0 AND changed_at > :since
    )
    SELECT kind, step, service, region, hardware_type, product, from_region, to_region, sum(change) AS change
    FROM counted WHERE step < :steps
    GROUP BY kind, step, service, region, hardware_type, product, from_region, to_region
    HAVING sum(change) <> 0
    ORDER BY kind, step, service, region, hardware_type, product, from_region, to_region"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDelta:
    """A change of capacity. `step` is the index of the step in which it is due."""

    step: int
    service: str
    region: str
    hardware_type: str
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedShift:
    """A shift of a share of a product's traffic. `step` is the index of the step in which it is due."""

    step: int
    product: str
    from_region: str
    to_region: str
    share: float


def load_planned_changes(
    tx: Transaction, *, since: datetime, ends: Sequence[datetime]
) -> tuple[tuple[PlannedDelta, ...], tuple[PlannedShift, ...]]:
    """Return what is left of live events, and what happened after `since`, by step.

    since   the time that the measurements show
    ends    the end of each step, ascending. What is due before the first end belongs to the first step, and what is due
            after the last one is left out.

    Proposals by Flux are left out, because the next plan replaces them.
    """
    if not ends:
        return (), ()
    query = sa.text(_QUERY).bindparams(sa.bindparam("ends", list(ends), ARRAY(TIMESTAMP(timezone=True))))
    rows = tx.execute(query, {"since": since, "steps": len(ends)}).all()
    deltas = tuple(
        PlannedDelta(
            step=row.step, service=row.service, region=row.region, hardware_type=row.hardware_type, delta=row.change
        )
        for row in rows
        if row.kind == "capacity"
    )
    shifts = tuple(
        PlannedShift(
            step=row.step,
            product=row.product,
            from_region=row.from_region,
            to_region=row.to_region,
            share=row.change,
        )
        for row in rows
        if row.kind == "traffic"
    )
    return deltas, shifts

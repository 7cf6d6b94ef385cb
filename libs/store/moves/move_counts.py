"""Running moves of a region counted by the way that they go and the step under way, by one statement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from libs.domain.move import MoveStep
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

_COUNTED = sa.text("""
    SELECT leaves.name AS from_reservation, joins.name AS to_reservation, counts.step, counts.is_spare, counts.moves,
           counts.waiting, counts.urgent, counts.failing, counts.since
    FROM (
        SELECT from_reservation_id, to_reservation_id, steps[step_index + 1] AS step, is_spare, count(*) AS moves,
               count(departure_waits.server_id) AS waiting, count(urgent_reason) AS urgent,
               count(*) FILTER (WHERE attempt > 1 OR calls_failed > 0) AS failing, min(moves.created_at) AS since
        FROM moves LEFT JOIN departure_waits USING (server_id)
        WHERE moves.region_id = :region_id AND status = 'running'
        GROUP BY 1, 2, 3, 4
    ) AS counts
    LEFT JOIN reservations AS leaves ON leaves.reservation_id = counts.from_reservation_id
    LEFT JOIN reservations AS joins ON joins.reservation_id = counts.to_reservation_id
    ORDER BY counts.moves DESC, leaves.name COLLATE "C", joins.name COLLATE "C", counts.step""")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCounts:
    """Running moves from one reservation to another at one step.

    from_reservation, to_reservation   None: the servers had none, or become free
    is_spare   True: the servers are lent
    waiting    moves whose server may not leave its reservation yet
    urgent     moves that an operator marked as urgent
    failing    moves whose step is tried again, or whose system does not answer
    since      begin of the oldest of them
    """

    from_reservation: str | None
    to_reservation: str | None
    step: MoveStep
    is_spare: bool
    moves: int
    waiting: int
    urgent: int
    failing: int
    since: datetime


def count_moves(tx: Transaction, region: str) -> tuple[MoveCounts, ...]:
    """Return the running moves of a region, the largest groups first. Raises NotFound."""
    region_id = load_region(tx, region).region_id
    rows = tx.execute(_COUNTED, {"region_id": region_id}).mappings()
    return tuple(MoveCounts(**{**row, "step": MoveStep(row["step"])}) for row in rows)

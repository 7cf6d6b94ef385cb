"""Find the reservations that need the servers in planned maintenance back: they hold less than their promise."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.maintenance import MaintenanceNeed
from libs.domain.reservation import ROUNDING
from libs.store.capacity.coverage import coverage_query
from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.platform.database import Transaction

# It uses the index of unavailable servers, so it costs nothing while there is no maintenance.
_SHORT = f"""
    WITH back AS (
        SELECT reservation_id, sum(rru) AS back_rru FROM servers
        JOIN reservation_rru ON reservation_id = current_reservation_id
            AND reservation_rru.hardware_type_id = servers.hardware_type_id
        WHERE region_id = :region_id AND unavailability = 'planned' GROUP BY 1
    ), wanted AS (
        SELECT reservation_id, name, capacity_rru, {GRANTED_RRU} AS granted_rru, survives_msb_loss, survives_loss_of
        FROM reservations JOIN back USING (reservation_id)
        WHERE kind = 'guaranteed' AND NOT scheduled AND deleted_at IS NULL
    ), {coverage_query("held")}
    SELECT wanted.name, granted_rru - held_rru AS short_rru FROM wanted JOIN coverage USING (reservation_id)
    WHERE granted_rru - held_rru > {ROUNDING} * granted_rru
    ORDER BY short_rru DESC, wanted.name"""
_EVENTS = """
    SELECT unavailability_event_id FROM unavailability_events
    WHERE region_id = :region_id AND ended_at IS NULL AND kind = 'planned' AND state = 'allowed' AND starts_at <= :now
    ORDER BY 1"""


def load_maintenance_need(tx: Transaction, region_id: int, *, now: datetime) -> MaintenanceNeed:
    """Return the planned events under way, and the reservations that they leave short. The caller must refresh the
    unavailability of servers first.
    """
    short = tx.execute(sa.text(_SHORT), {"region_id": region_id})
    return MaintenanceNeed(
        short_rru={row.name: row.short_rru for row in short},
        underway=tuple(tx.execute(sa.text(_EVENTS), {"region_id": region_id, "now": now}).scalars()),
    )

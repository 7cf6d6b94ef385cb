"""Load what the churn budget of a solve needs: preemptions that count against it, and promises that may exceed it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import sqlalchemy as sa

from libs.domain.fleet import FleetSnapshot
from libs.store.capacity.ungranted import with_promises
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

DAY = timedelta(hours=24)
"""The time over which the churn budget counts preemptions."""

# Asked for or carried out, and still to come by present targets. A server that its reservation stopped using before
# costs nothing.
_CHURNED = """
    SELECT reservation_id, sum(servers) AS servers FROM (
        SELECT from_reservation_id AS reservation_id, count(*) AS servers FROM moves
        WHERE region_id = :region_id AND churned_at > :since GROUP BY 1
        UNION ALL
        SELECT current_reservation_id, count(*) FROM servers
        WHERE region_id = :region_id AND churns AND in_use AND unavailability <> 'unplanned'
              AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id
                              AND moves.status = 'running' AND moves.churned_at IS NOT NULL)
        GROUP BY 1
    ) AS counted
    JOIN reservations USING (reservation_id) WHERE deleted_at IS NULL GROUP BY 1"""

_OLDEST = sa.text("SELECT min(churned_at) FROM moves WHERE region_id = :region_id AND churned_at > :since")


def with_churn(tx: Transaction, snapshot: FleetSnapshot, *, now: datetime) -> FleetSnapshot:
    """Return the snapshot with `churned` and `promised_rru`. So plans for it keep to the churn budget of the 24 hours
    before `now`, and exceed it only for what was granted already.

    `tx` must be the transaction that loaded the snapshot.
    """
    region_id = load_region(tx, snapshot.region).region_id
    values = {"region_id": region_id, "since": now - DAY}
    found = {row.reservation_id: int(row.servers) for row in tx.execute(sa.text(_CHURNED), values)}
    churned = [found.get(int(reservation_id), 0) for reservation_id in snapshot.reservations.id]
    return replace(with_promises(tx, snapshot, region_id), churned=np.array(churned, np.int64))


def load_churn_until(tx: Transaction, region_id: int, *, now: datetime) -> datetime | None:
    """Return when the oldest preemption of the 24 hours before `now` stops counting; None if there is none."""
    oldest: datetime | None = tx.execute(_OLDEST, {"region_id": region_id, "since": now - DAY}).scalar_one()
    return None if oldest is None else oldest + DAY

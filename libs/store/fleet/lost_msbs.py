"""The MSBs of a region that are down, and since when."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

# An event of the whole place has the time of the loss. If servers were reported one by one, the last of them has it.
_LOST = """
    WITH lost AS (
        SELECT msb_id FROM servers JOIN racks USING (rack_id)
        WHERE servers.region_id = :region_id AND decommissioned_at IS NULL
        GROUP BY msb_id HAVING bool_and(unavailability = 'unplanned')
    ), open AS (
        SELECT * FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND starts_at <= :now AND state = 'allowed'
          AND kind = 'unplanned'
    ), begun AS (
        SELECT msb_id, starts_at, true AS whole FROM open WHERE scope = 'msb'
        UNION ALL SELECT msbs.msb_id, starts_at, true FROM open JOIN msbs USING (datacenter_id)
            WHERE scope = 'datacenter'
        UNION ALL SELECT racks.msb_id, starts_at, false FROM open JOIN racks USING (rack_id) WHERE scope = 'rack'
        UNION ALL SELECT racks.msb_id, starts_at, false FROM open JOIN servers USING (server_id)
            JOIN racks ON racks.rack_id = servers.rack_id WHERE scope = 'server'
    )
    SELECT name, coalesce(min(starts_at) FILTER (WHERE whole), max(starts_at)) AS lost_at
    FROM lost JOIN begun USING (msb_id) JOIN msbs USING (msb_id) GROUP BY name"""


def load_lost_msbs(tx: Transaction, region_name: str, *, now: datetime) -> dict[str, datetime]:
    """Return the MSBs of which no server is up, with the time of their loss. Raises NotFound."""
    values = {"region_id": load_region(tx, region_name).region_id, "now": now}
    return {row.name: row.lost_at for row in tx.execute(sa.text(_LOST), values)}

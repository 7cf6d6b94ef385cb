"""The domains of a region that are down, and since when: MSBs, and those of further kinds that reservations survive."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.domain_kind import MSB_KIND
from libs.store.fleet.loss_places import load_loss_places
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers_hit import down_since
from libs.store.platform.database import Transaction

_OPEN = """
    open AS (
        SELECT * FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND starts_at <= :now AND state = 'allowed'
          AND kind = 'unplanned'
    )"""
_DOWN = down_since("open")
# An event of the whole place has the time of the loss. Without one, the last of its servers to go down has it.
_MSBS = f"""
    WITH lost AS (
        SELECT msb_id FROM servers JOIN racks USING (rack_id)
        WHERE servers.region_id = :region_id AND decommissioned_at IS NULL
        GROUP BY msb_id HAVING bool_and(unavailability = 'unplanned')
    ), {_OPEN}, {_DOWN}
    SELECT msbs.name, coalesce(min(whole_at), max(starts_at)) AS lost_at
    FROM down JOIN racks USING (rack_id) JOIN lost USING (msb_id) JOIN msbs USING (msb_id) GROUP BY msbs.name"""
# The loss of such a domain is complete when the last of its servers is down. One in a single rack is no such loss: its
# servers are replaced (libs/ras/domain_losses.py).
_FURTHER = f"""
    WITH lost AS (
        SELECT domain_id FROM server_domains JOIN servers USING (server_id)
        WHERE server_domains.region_id = :region_id AND kind = ANY(:kinds) AND decommissioned_at IS NULL
        GROUP BY domain_id HAVING bool_and(unavailability = 'unplanned') AND count(DISTINCT rack_id) > 1
    ), {_OPEN}, {_DOWN}
    SELECT domains.kind, domains.name, max(starts_at) AS lost_at
    FROM down JOIN server_domains USING (server_id) JOIN lost USING (domain_id) JOIN domains USING (domain_id)
    GROUP BY domains.kind, domains.name"""


def load_lost_domains(tx: Transaction, region_name: str, *, now: datetime) -> dict[str, dict[str, datetime]]:
    """Return the domains of which no server is up, with the time of their loss: kind -> domain -> time. Kinds are MSBs
    and those whose loss a reservation survives. Raises NotFound.
    """
    region_id = load_region(tx, region_name).region_id
    values = {"region_id": region_id, "now": now}
    found = {MSB_KIND: {row.name: row.lost_at for row in tx.execute(sa.text(_MSBS), values)}}
    if kinds := load_loss_places(tx, region_id).kinds:
        for row in tx.execute(sa.text(_FURTHER), {**values, "kinds": [*kinds]}):
            found.setdefault(row.kind, {})[row.name] = row.lost_at
    return found

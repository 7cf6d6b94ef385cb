"""Read the failures that a region has seen: losses of MSBs, and failures of servers by hardware type."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import sqlalchemy as sa

from libs.domain.failure_record import RECORD_S_MAX, MsbLossRecord, SpareRecord
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers_hit import servers_hit
from libs.store.platform.database import Transaction

_MSB_LOSSES = """
    SELECT (SELECT count(DISTINCT msb_id) FROM racks JOIN servers USING (rack_id)
            WHERE servers.region_id = :region_id AND decommissioned_at IS NULL) AS msbs,
           count(*) AS losses,
           coalesce(sum(extract(epoch FROM least(coalesce(ended_at, :now), :now) - starts_at)), 0) AS down_s
    FROM unavailability_events
    WHERE region_id = :region_id AND kind = 'unplanned' AND scope = 'msb'
      AND starts_at >= :since AND starts_at <= :now"""
# The failure of a domain in a single rack is one of the rack's: spare servers replace it (libs/ras/domain_losses.py).
# Servers that were down when the region came failed before the time that is watched: as failures of its first minutes,
# they would be many a day.
_SPARES = f"""
    WITH failures AS (
        SELECT unavailability_event_id, scope, server_id, rack_id, msb_id, datacenter_id, domain_id, starts_at, ended_at
        FROM unavailability_events WHERE region_id = :region_id AND kind = 'unplanned'
    ), wide AS (
        SELECT domain_id FROM server_domains JOIN servers USING (server_id)
        WHERE domain_id IN (SELECT domain_id FROM failures) AND decommissioned_at IS NULL
        GROUP BY domain_id HAVING count(DISTINCT rack_id) > 1
    ), single AS (
        SELECT * FROM failures
        WHERE scope IN ('server', 'rack', 'domain') AND NOT coalesce(domain_id IN (SELECT domain_id FROM wide), false)
          AND starts_at >= :since AND starts_at > :created_at AND starts_at <= :now
    ), {servers_hit("single", "scope", "starts_at", "ended_at")}, failed AS (
        SELECT hardware_type_id, count(*) AS failures, count(ended_at) AS ended,
               sum(extract(epoch FROM least(coalesce(ended_at, :now), :now) - starts_at)) AS down_s
        FROM hit JOIN servers USING (server_id) WHERE scope = 'server' OR decommissioned_at IS NULL GROUP BY 1
    ), open AS (
        SELECT * FROM failures WHERE ended_at IS NULL AND starts_at <= :now
    ), lost AS (
        SELECT msb_id FROM open WHERE scope = 'msb'
        UNION SELECT msbs.msb_id FROM open JOIN msbs USING (datacenter_id)
    ), down AS (
        SELECT hardware_type_id, count(*) AS down FROM servers JOIN racks USING (rack_id)
        WHERE servers.region_id = :region_id AND decommissioned_at IS NULL AND unavailability = 'unplanned'
          AND msb_id NOT IN (SELECT msb_id FROM lost)
          AND server_id NOT IN (SELECT server_id FROM server_domains
                                WHERE domain_id IN (SELECT domain_id FROM open JOIN wide USING (domain_id)))
        GROUP BY 1
    ), buffers AS (
        SELECT hardware_type_id, sum(capacity_rru) AS wanted, sum(usable) AS usable FROM (
            SELECT hardware_type_id, capacity_rru, (
                SELECT count(*) FROM servers WHERE target_reservation_id = reservations.reservation_id
                  AND unavailability = 'none' AND decommissioned_at IS NULL
            ) AS usable
            FROM reservations JOIN reservation_rru USING (reservation_id)
            WHERE region_id = :region_id AND kind = 'shared_buffer' AND deleted_at IS NULL
        ) AS each GROUP BY 1
    )
    SELECT hardware_types.name, wanted, usable, coalesce(down, 0) AS down, coalesce(failures, 0) AS failures,
           coalesce(down_s, 0) AS down_s, coalesce(ended, 0) AS ended
    FROM buffers JOIN hardware_types USING (hardware_type_id)
    LEFT JOIN failed USING (hardware_type_id) LEFT JOIN down USING (hardware_type_id)
    ORDER BY hardware_types.name COLLATE "C" """


def load_msb_losses(tx: Transaction, region_name: str, *, now: datetime) -> MsbLossRecord:
    """Return the losses of MSBs of the last RECORD_S_MAX, or since the region exists. Raises NotFound."""
    region_id, _, since = _history(tx, region_name, now)
    row = tx.execute(sa.text(_MSB_LOSSES), {"region_id": region_id, "since": since, "now": now}).one()
    watched_s = (now - since).total_seconds()
    return MsbLossRecord(msbs=row.msbs, watched_s=watched_s, losses=row.losses, down_s=float(row.down_s))


def load_spare_record(tx: Transaction, region_name: str, *, now: datetime) -> SpareRecord:
    """Return the shared buffers and the failures of their types in the same time. Raises NotFound."""
    region_id, created_at, since = _history(tx, region_name, now)
    values = {"region_id": region_id, "created_at": created_at, "since": since, "now": now}
    rows = tx.execute(sa.text(_SPARES), values).all()

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([getattr(row, name) for row in rows], dtype)

    return SpareRecord(
        watched_s=(now - since).total_seconds(),
        hardware_type=column("name", object),
        wanted=column("wanted", float),
        usable=column("usable", int),
        down=column("down", int),
        failures=column("failures", int),
        down_s=column("down_s", float),
        ended=column("ended", int),
    )


def _history(tx: Transaction, region_name: str, now: datetime) -> tuple[int, datetime, datetime]:
    """Return the id of a region, when it came, and the beginning of the history that counts."""
    region = load_region(tx, region_name)
    return region.region_id, region.created_at, max(region.created_at, now - timedelta(seconds=RECORD_S_MAX))

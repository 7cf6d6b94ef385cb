"""Count the supply of a region by hardware type. The statement reads the region's servers twice."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.region_supply import TypeSupply
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Transaction

# The servers of the worst domain are what a reservation lacks when that domain fails.
_SUPPLY = sa.text("""
    WITH fleet AS (
        SELECT server_id, rack_id, msb_id, hardware_type_id, target_reservation_id
        FROM servers JOIN racks USING (region_id, rack_id)
        WHERE region_id = :region_id AND decommissioned_at IS NULL
    ), per_domain AS (
        SELECT reservation_id, '' AS lost, msb_id AS domain_id, hardware_type_id, count(*) AS servers, sum(rru) AS rru
        FROM fleet JOIN reservations ON reservation_id = target_reservation_id
        JOIN reservation_rru USING (reservation_id, hardware_type_id)
        WHERE survives_msb_loss AND kind = 'guaranteed' AND deleted_at IS NULL
        GROUP BY 1, 2, 3, 4
        UNION ALL
        SELECT reservation_id, lost, coalesce(domain_id, 0), hardware_type_id, count(*), sum(rru)
        FROM (SELECT reservation_id, unnest(survives_loss_of) AS lost FROM reservations
              WHERE region_id = :region_id AND kind = 'guaranteed' AND deleted_at IS NULL
                AND survives_loss_of <> '{}') AS named
        JOIN fleet ON target_reservation_id = reservation_id
        JOIN reservation_rru USING (reservation_id, hardware_type_id)
        LEFT JOIN server_domains ON server_domains.server_id = fleet.server_id AND kind = lost
        GROUP BY 1, 2, 3, 4
    ), worst AS (
        SELECT DISTINCT ON (reservation_id) reservation_id, lost, domain_id
        FROM (SELECT reservation_id, lost, domain_id, sum(rru) AS rru FROM per_domain GROUP BY 1, 2, 3) AS sums
        ORDER BY reservation_id, rru DESC, lost, domain_id
    ), embedded AS (
        SELECT hardware_type_id, sum(servers)::bigint AS servers
        FROM per_domain JOIN worst USING (reservation_id, lost, domain_id) GROUP BY 1
    ), bound AS (
        SELECT target_reservation_id AS reservation_id, count(*) AS servers FROM fleet
        WHERE target_reservation_id IS NOT NULL GROUP BY 1
    ), shared AS (
        SELECT hardware_type_id, sum(greatest(coalesce(servers, 0), ceil(capacity_rru)))::bigint AS servers
        FROM reservations JOIN reservation_rru USING (reservation_id) LEFT JOIN bound USING (reservation_id)
        WHERE region_id = :region_id AND kind = 'shared_buffer' AND deleted_at IS NULL
        GROUP BY 1
    ), due AS (
        SELECT * FROM retirements
        WHERE region_id = :region_id AND status = 'announced' AND due_at <= :retired_until
    ), scoped AS (
        SELECT fleet.server_id, kind, to_hardware_type_id, back_at FROM due JOIN fleet USING (server_id)
        UNION ALL
        SELECT fleet.server_id, kind, to_hardware_type_id, back_at FROM due JOIN fleet USING (rack_id)
        UNION ALL
        SELECT fleet.server_id, kind, to_hardware_type_id, back_at FROM due JOIN fleet USING (msb_id)
        UNION ALL
        SELECT fleet.server_id, kind, to_hardware_type_id, back_at
        FROM due JOIN msbs USING (datacenter_id) JOIN fleet ON fleet.msb_id = msbs.msb_id
    ), announced AS (  -- a decommission wins over a refresh
        SELECT DISTINCT ON (server_id) server_id, hardware_type_id, kind, to_hardware_type_id, back_at
        FROM scoped JOIN fleet USING (server_id) ORDER BY server_id, kind
    ), retired AS (
        SELECT hardware_type_id, count(*) AS servers FROM announced GROUP BY 1
    ), returned AS (
        SELECT to_hardware_type_id AS hardware_type_id, count(*) AS servers FROM announced
        WHERE kind = 'refresh' AND coalesce(back_at, :at) <= :at GROUP BY 1
    ), counted AS (
        SELECT hardware_type_id, count(*) AS servers FROM fleet GROUP BY 1
    )
    SELECT name AS hardware_type, coalesce(counted.servers, 0) AS servers,
           coalesce(embedded.servers, 0) AS embedded_buffer, coalesce(shared.servers, 0) AS shared_buffer,
           coalesce(retired.servers, 0) AS retired, coalesce(returned.servers, 0) AS returned
    FROM hardware_types LEFT JOIN counted USING (hardware_type_id) LEFT JOIN embedded USING (hardware_type_id)
    LEFT JOIN shared USING (hardware_type_id) LEFT JOIN retired USING (hardware_type_id)
    LEFT JOIN returned USING (hardware_type_id)
    WHERE counted.servers > 0 OR returned.servers > 0 OR shared.servers > 0
    ORDER BY name COLLATE "C" """)


def load_region_supply(
    tx: Transaction, region_name: str, *, at: datetime, retired_until: datetime | None = None
) -> tuple[TypeSupply, ...]:
    """Return the supply of a region at a date by hardware type, without expected deliveries. Raises NotFound.

    retired_until   also leave out servers whose retirement is due between `at` and then
    """
    values = {"region_id": load_region(tx, region_name).region_id, "at": at, "retired_until": retired_until or at}
    return tuple(TypeSupply(**row) for row in tx.execute(_SUPPLY, values).mappings())

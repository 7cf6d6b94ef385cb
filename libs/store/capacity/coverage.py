"""The coverage of reservations by their bindings, computed in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import sqlalchemy as sa

from libs.domain.reservation import ROUNDING, Coverage
from libs.store.fleet.snapshot import LEAVING
from libs.store.platform.database import Transaction

Which = Literal["current", "target", "held"]
_UP = "servers.unavailability <> 'unplanned'"
BY_TARGET = f"{_UP} AND NOT {LEAVING}"
"""SQL condition on a server. It is true if the server counts as capacity of its target reservation."""
HELD = "servers.unavailability = 'none'"
"""SQL condition on a server. It is true if the server counts as held by its current reservation."""
_COUNTS = {
    "current": ("current", _UP),
    "target": ("target", BY_TARGET),
    "held": ("current", HELD),
}
"""For each way to count (current, target, held): the column with the server's binding, and the SQL condition under
which the server counts.

By target, a server that is leaving counts for nothing, as in a solve. Held capacity is the capacity that the owner can
use now, so a server in planned maintenance counts for nothing.
"""

# Sum per reservation and MSB first, because the worst MSB is a maximum of sums. It takes one index scan.
_COVERAGE = """
    per_msb AS (
        SELECT wanted.reservation_id, racks.msb_id, count(*) AS servers,
               count(*) FILTER (WHERE servers.unavailability = 'unplanned') AS unavailable_servers,
               coalesce(sum(rru) FILTER (WHERE {counts}), 0) AS rru,
               coalesce(bool_or(rru > 0 AND NOT ({counts})), false) AS lacks
        FROM wanted JOIN servers ON servers.{which}_reservation_id = wanted.reservation_id
        JOIN racks USING (rack_id)
        LEFT JOIN reservation_rru USING (reservation_id, hardware_type_id)
        GROUP BY 1, 2
    ), totals AS (
        SELECT reservation_id, sum(servers)::bigint AS servers, sum(unavailable_servers)::bigint AS unavailable_servers,
               sum(rru) AS total_rru, max(rru) AS worst_msb_rru, count(*) FILTER (WHERE lacks) AS lacking_msbs,
               count(*) FILTER (WHERE lacks AND rru = 0) AS lost_msbs,
               (array_agg(msb_id ORDER BY rru DESC, msb_id) FILTER (WHERE rru > 0))[1] AS worst_msb_id
        FROM per_msb GROUP BY 1
    ), coverage AS (
        SELECT reservation_id, coalesce(totals.servers, 0) AS servers,
               coalesce(unavailable_servers, 0) AS unavailable_servers, coalesce(total_rru, 0) AS total_rru,
               coalesce(worst_msb_rru, 0) AS worst_msb_rru, msbs.name AS worst_msb,
               coalesce(lacking_msbs, 0) AS lacking_msbs, coalesce(lost_msbs, 0) AS lost_msbs,
               capacity_rru - coalesce(total_rru - CASE WHEN survives_msb_loss THEN worst_msb_rru ELSE 0 END, 0)
                   AS missing_rru, capacity_rru
        FROM wanted LEFT JOIN totals USING (reservation_id) LEFT JOIN msbs ON msb_id = worst_msb_id
    )"""
SHORT = f"missing_rru > {ROUNDING} * coverage.capacity_rru"
"""SQL condition on a row of `coverage`. It is true if the reservation is short of capacity. No other code defines this.
"""


def coverage_query(which: Which) -> str:
    """Return SQL common table expressions. The last expression is called `coverage`, and has one row for each row of
    `wanted`.

    wanted     an expression that the caller must put before, with reservation_id, capacity_rru and survives_msb_loss
    coverage   the fields of load_coverage, with missing_rru and capacity_rru
    """
    binding, counts = _COUNTS[which]
    return _COVERAGE.format(which=binding, counts=counts)


def load_coverage(tx: Transaction, reservation_ids: Sequence[int], which: Which) -> dict[int, Coverage]:
    """Return the coverage of the reservations `reservation_ids` by the bindings that `which` names. Leave out unknown
    ids.

    - A server that is down for an unplanned reason counts for nothing. A server in planned maintenance counts.
    - By target, a server that is leaving counts for nothing, because a solve replaces it first.
    - A server of an ineligible type counts as 0 RRU.
    - A scheduled reservation has a capacity of 0, so it has no shortfall.
    """
    query = f"""
        WITH wanted AS (
            SELECT reservation_id, CASE WHEN scheduled THEN 0 ELSE capacity_rru END AS capacity_rru, survives_msb_loss
            FROM reservations WHERE reservation_id = ANY(:ids)
        ), {coverage_query(which)}
        SELECT * FROM coverage"""
    rows = tx.execute(sa.text(query), {"ids": [int(i) for i in reservation_ids]})
    return {
        row.reservation_id: Coverage(
            servers=row.servers,
            unavailable_servers=row.unavailable_servers,
            total_rru=row.total_rru,
            worst_msb_rru=row.worst_msb_rru,
            worst_msb=row.worst_msb,
            lacking_msbs=row.lacking_msbs,
            lost_msbs=row.lost_msbs,
            shortfall_rru=row.missing_rru if row.missing_rru > ROUNDING * row.capacity_rru else 0.0,
        )
        for row in rows
    }

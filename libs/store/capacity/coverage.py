"""The coverage of reservations by their bindings, computed in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa

from libs.domain.reservation import ROUNDING, Coverage
from libs.store.fleet.snapshot import LEAVING
from libs.store.platform.database import Transaction

Which = Literal["current", "target", "held"]
Coverages = Mapping[Which, Mapping[int, Coverage]]
"""For ways to count: id of a reservation -> its coverage."""
NONE_KNOWN: Coverages = {}
WAYS_BY_BINDING: tuple[tuple[Which, ...], ...] = (("current", "held"), ("target",))
"""The ways to count that follow the same binding, so that one scan of the servers serves them."""
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

# Sum per reservation and MSB first, because the worst MSB is a maximum of sums. One scan of the servers serves all ways
# to count that follow the same binding.
_COVERAGE = """
    per_msb AS (
        SELECT reservation_id, msb_id, servers, unavailable_servers, counted.*
        FROM (
            SELECT wanted.reservation_id, racks.msb_id, count(*) AS servers,
                   count(*) FILTER (WHERE servers.unavailability = 'unplanned') AS unavailable_servers, {sums}
            FROM wanted JOIN servers ON servers.{binding}_reservation_id = wanted.reservation_id
            JOIN racks USING (rack_id)
            LEFT JOIN reservation_rru USING (reservation_id, hardware_type_id)
            GROUP BY 1, 2
        ) AS summed CROSS JOIN LATERAL (VALUES {columns}) AS counted (way, rru, lacks)
    ), totals AS (
        SELECT way, reservation_id, sum(servers)::bigint AS servers,
               sum(unavailable_servers)::bigint AS unavailable_servers,
               sum(rru) AS total_rru, max(rru) AS worst_msb_rru, count(*) FILTER (WHERE lacks) AS lacking_msbs,
               count(*) FILTER (WHERE lacks AND rru = 0) AS lost_msbs,
               (array_agg(msb_id ORDER BY rru DESC, msb_id) FILTER (WHERE rru > 0))[1] AS worst_msb_id
        FROM per_msb GROUP BY 1, 2
    ), coverage AS (
        SELECT which, reservation_id, coalesce(totals.servers, 0) AS servers,
               coalesce(unavailable_servers, 0) AS unavailable_servers, coalesce(total_rru, 0) AS total_rru,
               coalesce(worst_msb_rru, 0) AS worst_msb_rru, msbs.name AS worst_msb,
               coalesce(lacking_msbs, 0) AS lacking_msbs, coalesce(lost_msbs, 0) AS lost_msbs,
               capacity_rru - coalesce(total_rru - CASE WHEN survives_msb_loss THEN worst_msb_rru ELSE 0 END, 0)
                   AS missing_rru, capacity_rru
        FROM wanted CROSS JOIN (VALUES {names}) AS asked (way, which)
        LEFT JOIN totals USING (way, reservation_id) LEFT JOIN msbs ON msb_id = worst_msb_id
    )"""
_SUMS = """coalesce(sum(rru) FILTER (WHERE {counts}), 0) AS {which}_rru,
                   coalesce(bool_or(rru > 0 AND NOT ({counts})), false) AS {which}_lacks"""
SHORT = f"missing_rru > {ROUNDING} * coverage.capacity_rru"
"""SQL condition on a row of `coverage`. It is true if the reservation is short of capacity. No other code defines this.
"""


KEPT = f"""(NOT {SHORT} OR lacking_msbs = 1 AND lost_msbs = 1
        AND total_rru >= coverage.capacity_rru * (1 - {ROUNDING}))"""
"""SQL condition on a row of `coverage`. It is true if Coverage.keeps is true for the capacity."""
WANTED = """wanted AS (
        SELECT reservation_id, CASE WHEN scheduled THEN 0 ELSE capacity_rru END AS capacity_rru, survives_msb_loss,
               NOT scheduled AND deleted_at IS NULL AS is_promised
        FROM reservations WHERE reservation_id = ANY(:ids)
    )"""
"""SQL of an expression `wanted` for coverage_query: the reservations `ids`. A scheduled one has a capacity of 0, so it
has no shortfall.
"""


def coverage_query(*ways: Which) -> str:
    """Return SQL common table expressions. The last expression is called `coverage`, and has one row for each row of
    `wanted` and each of `ways`, which must follow the same binding.

    wanted     an expression that the caller must put before, with reservation_id, capacity_rru and survives_msb_loss
    coverage   the fields of load_coverage, with missing_rru, capacity_rru, and one of `ways` as `which`
    """
    [binding] = {_COUNTS[which][0] for which in ways}
    return _COVERAGE.format(
        binding=binding,
        sums=", ".join(_SUMS.format(which=which, counts=_COUNTS[which][1]) for which in ways),
        columns=", ".join(f"({way}, {which}_rru, {which}_lacks)" for way, which in enumerate(ways)),
        names=", ".join(f"({way}, '{which}')" for way, which in enumerate(ways)),
    )


def load_coverage(tx: Transaction, reservation_ids: Sequence[int], which: Which) -> Mapping[int, Coverage]:
    """Return the coverage of the reservations `reservation_ids` by the bindings that `which` names. Leave out unknown
    ids.

    - A server that is down for an unplanned reason counts for nothing. A server in planned maintenance counts.
    - By target, a server that is leaving counts for nothing, because a solve replaces it first.
    - A server of an ineligible type counts as 0 RRU.
    - A scheduled reservation has a capacity of 0, so it has no shortfall.
    """
    return _load(tx, reservation_ids, which)[which]


def load_coverages(tx: Transaction, reservation_ids: Sequence[int], known: Coverages = NONE_KNOWN) -> Coverages:
    """Return what load_coverage returns for each way to count, by one query for each kind of binding. Take those of
    `known` as they are.
    """
    missing = [ways for ways in WAYS_BY_BINDING if not known.keys() & {*ways}]
    return {**known, **{which: found for ways in missing for which, found in _load(tx, reservation_ids, *ways).items()}}


def _load(tx: Transaction, reservation_ids: Sequence[int], *ways: Which) -> Coverages:
    query = sa.text(f"WITH {WANTED}, {coverage_query(*ways)} SELECT * FROM coverage")
    return coverages_of(tx.execute(query, {"ids": [int(i) for i in reservation_ids]}), ways)


def coverages_of(rows: Iterable[sa.Row[Any]], ways: Sequence[Which]) -> Coverages:
    """Return the coverages in rows of `coverage`, which coverage_query made for `ways`."""
    found: dict[Which, dict[int, Coverage]] = {which: {} for which in ways}
    for row in rows:
        found[row.which][row.reservation_id] = Coverage(
            servers=row.servers,
            unavailable_servers=row.unavailable_servers,
            total_rru=row.total_rru,
            worst_msb_rru=row.worst_msb_rru,
            worst_msb=row.worst_msb,
            lacking_msbs=row.lacking_msbs,
            lost_msbs=row.lost_msbs,
            shortfall_rru=row.missing_rru if row.missing_rru > ROUNDING * row.capacity_rru else 0.0,
        )
    return found

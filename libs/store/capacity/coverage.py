"""The coverage of reservations by their bindings, computed in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa

from libs.domain.domain_kind import WorstDomain, unplaced_name
from libs.domain.reservation import ROUNDING, Coverage, HeldResource
from libs.store.capacity.resource_coverage import resources_query
from libs.store.fleet.snapshot import LEAVING
from libs.store.platform.database import Transaction

Which = Literal["current", "target", "held"]
Coverages = Mapping[Which, Mapping[int, Coverage]]
"""For ways to count: id of a reservation -> its coverage."""
WAYS: tuple[Which, ...] = ("current", "held", "target")
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

# A guest has servers of its host, which may be among the reservations too. So servers are joined by the one that holds
# them.
_HOLDERS = """
    holders AS (
        SELECT reservation_id, CASE WHEN deleted_at IS NULL THEN coalesce(host_reservation_id, reservation_id)
                                    ELSE reservation_id END AS holder_id
        FROM (SELECT reservation_id FROM wanted) AS each JOIN reservations USING (reservation_id)
    )"""
# Count servers that are alike before anything is joined or summed: there are far fewer kinds of them than servers. One
# scan serves the ways of both bindings, because nearly all servers are bound to their target.
_PLACED = """
    placed AS (
        SELECT {bindings}, racks.msb_id, hardware_type_id, CAST(count(*) AS integer) AS servers,
               CAST(count(*) FILTER (WHERE servers.unavailability = 'unplanned') AS integer) AS unavailable_servers,
               {counts}
        FROM {bound} JOIN racks USING (rack_id) GROUP BY {bindings}, racks.msb_id, hardware_type_id
    )"""
_COUNT = "CAST(count(*) FILTER (WHERE {counts}) AS integer) AS {which}"
_BY_ONE = "(SELECT DISTINCT holder_id FROM holders) AS holder JOIN servers ON {binding}_reservation_id = holder_id"
_HOSTS = "ARRAY(SELECT holder_id FROM holders WHERE holder_id <> reservation_id)"
_BY_BOTH = f"""(SELECT * FROM servers WHERE current_reservation_id = ANY(CAST(:ids AS bigint[]))
                                       OR target_reservation_id = ANY(CAST(:ids AS bigint[]))
                                       OR current_reservation_id = ANY({_HOSTS})
                                       OR target_reservation_id = ANY({_HOSTS})) AS servers"""
# Sum per reservation and MSB first, because the worst MSB is a maximum of sums. The greatest pair of RRU and -id names
# it without a sort. In the pair, RRU is a real: of MSBs that differ by rounding alone, the first is named each time.
_TOTALS = """
    {binding}_msbs AS (
        SELECT reservation_id, msb_id, sum(servers) AS servers,
               sum(unavailable_servers) AS unavailable_servers, {sums}
        FROM placed JOIN holders ON holder_id = {binding}_reservation_id
        LEFT JOIN reservation_rru USING (reservation_id, hardware_type_id)
        GROUP BY reservation_id, msb_id
    ), {binding}_totals AS (
        SELECT reservation_id, CAST(sum(servers) AS bigint) AS servers,
               CAST(sum(unavailable_servers) AS bigint) AS unavailable_servers, {totals}
        FROM {binding}_msbs GROUP BY reservation_id
    )"""
_SUM = """coalesce(sum({which} * rru), 0) AS {which}_rru,
               coalesce(bool_or(rru > 0 AND {which} < servers), false) AS {which}_lacks"""
_TOTAL = """sum({which}_rru) AS {which}_rru,
               max({which}_rru) AS {which}_worst_rru,
               max(ARRAY[CAST(CAST({which}_rru AS real) AS float8), CAST(-msb_id AS float8)])
                   FILTER (WHERE {which}_rru > 0) AS {which}_worst,
               count(*) FILTER (WHERE {which}_lacks) AS {which}_lacking,
               count(*) FILTER (WHERE {which}_lacks AND {which}_rru = 0) AS {which}_lost"""
_OF_WAY = """SELECT '{which}' AS which, reservation_id, servers, unavailable_servers, {which}_rru AS total_rru,
               {which}_worst_rru AS worst_msb_rru, CAST(-{which}_worst[2] AS bigint) AS worst_msb_id,
               {which}_lacking AS lacking_msbs, {which}_lost AS lost_msbs FROM {binding}_totals"""
# Further kinds of domain are read only if a reservation names one.
_DOMAINS = """
    {binding}_domains AS (
        SELECT named.reservation_id, named.kind, domain_id, {sums}
        FROM (SELECT reservation_id, unnest(survives_loss_of) AS kind FROM wanted) AS named
        JOIN holders USING (reservation_id) JOIN servers ON servers.{binding}_reservation_id = holder_id
        LEFT JOIN (SELECT server_id AS placed_id, kind AS placed_kind, domain_id FROM server_domains) AS place
            ON placed_id = servers.server_id AND placed_kind = named.kind
        LEFT JOIN reservation_rru USING (reservation_id, hardware_type_id)
        WHERE (SELECT EXISTS (SELECT FROM wanted WHERE survives_loss_of <> '{{}}'))
        GROUP BY named.reservation_id, named.kind, domain_id
    )"""
_DOMAIN_SUM = """coalesce(sum(rru) FILTER (WHERE {counts}), 0) AS {which}_rru,
               coalesce(bool_or(rru > 0 AND NOT ({counts})), false) AS {which}_lacks"""
_DOMAINS_OF_WAY = """SELECT '{which}' AS which, reservation_id, kind, domain_id, {which}_rru AS rru,
               {which}_lacks AS lacks FROM {binding}_domains"""
_FURTHER = """{of_bindings}, per_domain AS (
        {of_ways}
    ), per_kind AS (
        SELECT which, reservation_id, kind, max(rru) AS rru, count(*) FILTER (WHERE lacks) AS lacking,
               count(*) FILTER (WHERE lacks AND rru = 0) AS lost,
               (array_agg(domain_id ORDER BY rru DESC, domain_id))[1] AS domain_id
        FROM per_domain GROUP BY which, reservation_id, kind
    ), further AS (
        SELECT which, reservation_id, max(rru) AS worst_rru, bool_or(lacking = 1 AND lost = 1) AS is_loss,
               json_agg(json_build_object('kind', per_kind.kind, 'domain', domains.name, 'rru', rru,
                                          'lacking', lacking, 'lost', lost) ORDER BY per_kind.kind) AS kinds
        FROM per_kind LEFT JOIN domains USING (domain_id) GROUP BY which, reservation_id
    )"""
_WORST = "coalesce(greatest(CASE WHEN survives_msb_loss THEN worst_msb_rru END, further.worst_rru), 0)"
"""The RRU in the domain whose loss takes most, of the kinds whose loss the reservation must survive."""
_COVERAGE = """{holders}, {placed}, {of_bindings}, totals AS (
        {of_ways}
    ), {further}, {resources}, coverage AS (
        SELECT which, reservation_id, coalesce(totals.servers, 0) AS servers,
               coalesce(unavailable_servers, 0) AS unavailable_servers, coalesce(total_rru, 0) AS total_rru,
               coalesce(worst_msb_rru, 0) AS worst_msb_rru, msbs.name AS worst_msb,
               coalesce(lacking_msbs, 0) AS lacking_msbs, coalesce(lost_msbs, 0) AS lost_msbs, survives_msb_loss,
               kinds, survives_msb_loss AND lacking_msbs = 1 AND lost_msbs = 1 OR coalesce(is_loss, false) AS is_loss,
               {worst} AS worst_rru, greatest(capacity_rru - coalesce(total_rru, 0) + {worst},
                                              capacity_rru * (1 - left_share)) AS missing_rru,
               least(coalesce(total_rru, 0), capacity_rru * total_share) AS held_rru, capacity_rru, resources
        FROM wanted CROSS JOIN (VALUES {names}) AS asked (which)
        LEFT JOIN totals USING (which, reservation_id) LEFT JOIN further USING (which, reservation_id)
        LEFT JOIN resources USING (which, reservation_id) LEFT JOIN msbs ON msb_id = worst_msb_id
    )"""
_TOTAL_ONLY = """{holders},
    placed AS (
        SELECT reservation_id, hardware_type_id, count(*) AS servers
        FROM holders JOIN servers ON {binding}_reservation_id = holder_id WHERE {counts}
        GROUP BY reservation_id, hardware_type_id
    ), total AS (
        SELECT reservation_id, coalesce(sum(servers * rru), 0) AS total_rru
        FROM wanted LEFT JOIN placed USING (reservation_id)
        LEFT JOIN reservation_rru USING (reservation_id, hardware_type_id) GROUP BY reservation_id
    )"""
SHORT = f"missing_rru > {ROUNDING} * coverage.capacity_rru"
"""SQL condition on a row of `coverage`. It is true if the reservation is short of capacity. No other code defines this.
"""


KEPT = f"(NOT {SHORT} OR is_loss AND held_rru >= coverage.capacity_rru * (1 - {ROUNDING}))"
"""SQL condition on a row of `coverage`. It is true if Coverage.keeps is true for the capacity."""
WANTED = """wanted AS (
        SELECT reservation_id, CASE WHEN is_promised THEN capacity_rru ELSE 0 END AS capacity_rru, survives_msb_loss,
               survives_loss_of, is_promised
        FROM reservations CROSS JOIN LATERAL (SELECT NOT scheduled AND deleted_at IS NULL AS is_promised) AS its
        WHERE reservation_id = ANY(:ids)
    )"""
"""SQL of an expression `wanted` for coverage_query: the reservations `ids`. A scheduled or deleted one has a capacity
of 0, so it has no shortfall.
"""


def coverage_query(*ways: Which) -> str:
    """Return SQL common table expressions. The last expression is called `coverage`, and has one row for each row of
    `wanted` and each of `ways`.

    wanted     an expression that the caller must put before, with reservation_id, capacity_rru, survives_msb_loss and
               survives_loss_of. If the ways follow both bindings, it must be WANTED
    coverage   the fields of load_coverage, with missing_rru, capacity_rru, and one of `ways` as `which`. `worst_rru` is
               the RRU in the domain whose loss takes most, of the kinds whose loss the reservation must survive.
               `held_rru` is total_rru, or less if the share that is there of a resource is smaller
    """
    of_binding: dict[str, list[Which]] = {}
    for which in ways:
        of_binding.setdefault(_COUNTS[which][0], []).append(which)
    bindings = list(of_binding)
    placed = _PLACED.format(
        bindings=", ".join(f"{binding}_reservation_id" for binding in bindings),
        counts=", ".join(_COUNT.format(which=which, counts=_COUNTS[which][1]) for which in ways),
        bound=_BY_BOTH if len(bindings) > 1 else _BY_ONE.format(binding=bindings[0]),
    )
    of_bindings = [
        _TOTALS.format(
            binding=binding,
            sums=", ".join(_SUM.format(which=which) for which in some),
            totals=", ".join(_TOTAL.format(which=which) for which in some),
        )
        for binding, some in of_binding.items()
    ]
    return _COVERAGE.format(
        holders=_HOLDERS,
        placed=placed,
        of_bindings=", ".join(of_bindings),
        of_ways=" UNION ALL ".join(_OF_WAY.format(which=which, binding=_COUNTS[which][0]) for which in ways),
        further=_further(of_binding),
        resources=resources_query(of_binding, {which: counts for which, (_, counts) in _COUNTS.items()}),
        worst=_WORST,
        names=", ".join(f"('{which}')" for which in ways),
    )


def _further(of_binding: Mapping[str, Sequence[Which]]) -> str:
    """Return SQL common table expressions of the further kinds of domain, for the ways of each binding."""
    domains = []
    for binding, ways in of_binding.items():
        sums = ", ".join(_DOMAIN_SUM.format(which=which, counts=_COUNTS[which][1]) for which in ways)
        domains.append(_DOMAINS.format(binding=binding, sums=sums))
    parts = [(which, binding) for binding, ways in of_binding.items() for which in ways]
    return _FURTHER.format(
        of_bindings=", ".join(domains),
        of_ways=" UNION ALL ".join(_DOMAINS_OF_WAY.format(which=which, binding=binding) for which, binding in parts),
    )


def total_query(which: Which) -> str:
    """Return SQL common table expressions. The last expression is called `total`, and has the `total_rru` of coverage
    for each row of `wanted`, which the caller must put before. It is quicker, because it asks for no MSB.
    """
    binding, counts = _COUNTS[which]
    return _TOTAL_ONLY.format(holders=_HOLDERS, binding=binding, counts=counts)


def load_coverage(tx: Transaction, reservation_ids: Sequence[int], which: Which) -> Mapping[int, Coverage]:
    """Return the coverage of the reservations `reservation_ids` by the bindings that `which` names. Leave out unknown
    ids.

    - A server that is down for an unplanned reason counts for nothing. A server in planned maintenance counts.
    - By target, a server that is leaving counts for nothing, because a solve replaces it first.
    - A server of an ineligible type counts as 0 RRU.
    - A scheduled or deleted reservation has a capacity of 0, so it has no shortfall.
    """
    return _load(tx, reservation_ids, which)[which]


def load_coverages(tx: Transaction, reservation_ids: Sequence[int]) -> Coverages:
    """Return what load_coverage returns for each way to count, by one query."""
    return _load(tx, reservation_ids, *WAYS)


def _load(tx: Transaction, reservation_ids: Sequence[int], *ways: Which) -> Coverages:
    query = sa.text(f"WITH {WANTED}, {coverage_query(*ways)} SELECT * FROM coverage")
    return coverages_of(tx.execute(query, {"ids": [int(i) for i in reservation_ids]}), ways)


def coverages_of(rows: Iterable[sa.Row[Any]], ways: Sequence[Which] = WAYS) -> Coverages:
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
            survives_msb_loss=row.survives_msb_loss,
            further=tuple(_worst_domain(one) for one in row.kinds or ()),
            resources=tuple(HeldResource(**one) for one in row.resources or ()),
            shortfall_rru=row.missing_rru if row.missing_rru > ROUNDING * row.capacity_rru else 0.0,
        )
    return found


def _worst_domain(row: Mapping[str, Any]) -> WorstDomain:
    is_unplaced = row["rru"] > 0 and row["domain"] is None
    domain = unplaced_name(row["kind"]) if is_unplaced else row["domain"] if row["rru"] > 0 else None
    return WorstDomain(**{**row, "domain": domain})

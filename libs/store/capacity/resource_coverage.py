"""SQL of what reservations hold of the resources that they ask for beside RRU. A part of `coverage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from libs.store.fleet.guests import ASKED
from libs.store.fleet.resources import AMOUNT

_GIVES = f"""
    gives AS (
        SELECT reservation_id, resource, hardware_type_id, {AMOUNT} AS each
        FROM wanted JOIN {ASKED} AS more USING (reservation_id) JOIN reservation_rru USING (reservation_id)
        JOIN hardware_types USING (hardware_type_id)
    )"""
# Nothing is joined if no reservation asks for resources.
_MSBS = """
    {binding}_gives AS (
        SELECT {binding}_reservation_id AS reservation_id, resource, msb_id, {sums}
        FROM placed JOIN gives ON gives.reservation_id = {binding}_reservation_id
                              AND gives.hardware_type_id = placed.hardware_type_id
        WHERE (SELECT EXISTS (SELECT FROM gives))
        GROUP BY {binding}_reservation_id, resource, msb_id
    )"""
_SUM = "sum({which} * each) AS {which}"
_DOMAINS = """
    {binding}_gives_domains AS (
        SELECT named.reservation_id, resource, named.kind, domain_id, {sums}
        FROM (SELECT reservation_id, unnest(survives_loss_of) AS kind FROM wanted) AS named
        JOIN gives USING (reservation_id)
        JOIN servers ON servers.{binding}_reservation_id = named.reservation_id
                    AND servers.hardware_type_id = gives.hardware_type_id
        LEFT JOIN (SELECT server_id AS placed_id, kind AS placed_kind, domain_id FROM server_domains) AS place
            ON placed_id = servers.server_id AND placed_kind = named.kind
        WHERE (SELECT EXISTS (SELECT FROM gives))
          AND (SELECT EXISTS (SELECT FROM wanted WHERE survives_loss_of <> '{{}}'))
        GROUP BY named.reservation_id, resource, named.kind, domain_id
    )"""
_DOMAIN_SUM = "coalesce(sum(each) FILTER (WHERE {counts}), 0) AS {which}"
_OF_WAY = """SELECT '{which}' AS which, reservation_id, resource, sum({which}) AS total, max({which}) AS worst
        FROM {binding}_gives GROUP BY reservation_id, resource"""
_WORST_OF_WAY = """SELECT '{which}' AS which, reservation_id, resource, max({which}) AS worst
        FROM {binding}_gives_domains GROUP BY reservation_id, resource"""
_RESOURCES = """{gives}, {of_bindings}, given AS (
        {of_ways}
    ), given_worst AS (
        {worst_of_ways}
    ), left_each AS (
        SELECT which, reservation_id, resource, amount AS asked, coalesce(total, 0) AS total,
               coalesce(total, 0) - coalesce(greatest(CASE WHEN survives_msb_loss THEN given.worst END,
                                                      given_worst.worst), 0) AS rest
        FROM wanted JOIN {more} AS more USING (reservation_id) CROSS JOIN (VALUES {names}) AS asked_ways (which)
        LEFT JOIN given USING (which, reservation_id, resource)
        LEFT JOIN given_worst USING (which, reservation_id, resource)
    ), resources AS (
        SELECT which, reservation_id, min(total / asked) AS total_share, min(rest / asked) AS left_share,
               json_agg(json_build_object('resource', resource, 'asked', asked, 'total', total, 'left', rest)
                        ORDER BY resource COLLATE "C") AS resources
        FROM left_each GROUP BY which, reservation_id
    )"""


def resources_query(of_binding: Mapping[str, Sequence[str]], counts: Mapping[str, str]) -> str:
    """Return SQL common table expressions. The last one is called `resources`, and has a row for each way and each row
    of `wanted` that asks for resources. It reads `wanted` and `placed` of coverage_query.

    of_binding   column with a binding -> the ways to count by it
    counts       way -> SQL condition under which a server counts
    """
    parts, ways = [], [(which, binding) for binding, some in of_binding.items() for which in some]
    for binding, some in of_binding.items():
        parts.append(_MSBS.format(binding=binding, sums=", ".join(_SUM.format(which=which) for which in some)))
        sums = ", ".join(_DOMAIN_SUM.format(which=which, counts=counts[which]) for which in some)
        parts.append(_DOMAINS.format(binding=binding, sums=sums))
    return _RESOURCES.format(
        more=ASKED,
        gives=_GIVES,
        of_bindings=", ".join(parts),
        of_ways=" UNION ALL ".join(_OF_WAY.format(which=which, binding=binding) for which, binding in ways),
        worst_of_ways=" UNION ALL ".join(_WORST_OF_WAY.format(which=which, binding=binding) for which, binding in ways),
        names=", ".join(f"('{which}')" for which, _ in ways),
    )

"""The servers that events of any scope take, and those that are down by them, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

COVERED = "revision <= covers_revision"
"""SQL condition on a row of `hit` of a planned event that carries `covers_revision`: the event was allowed for the
server. A server that has got its place since is a newcomer, and the event does not take it.
"""
NEXT_REVISION = "nextval('place_revisions')"
"""SQL expression of a revision above all others. The lock of a region's events puts those of the region in order."""


def servers_hit(events: str, *columns: str, among: str = "") -> str:
    """Return CTEs. The last one, `hit`, has a row for each event and each server in its scope, in the fleet or not.

    Its columns are `server_id` and those of the event. `with_place` marks events of a whole MSB or datacenter.
    `event_domain_id` is the domain of an event of a further kind, and null otherwise. `revision` is that since which
    the server is in the scope, and 0 for an event of the server itself.

    events    name of a CTE of events; it has the ids of their scopes and `columns`
    columns   columns of `events` to carry
    among     a query of one column, the ids of servers: those of places and domains are only these

    The cost grows with the servers in the scopes, and not with the fleet. A join for each scope finds the servers by
    their ids. One join with a condition for all scopes would compare each event with each server.
    """
    kept = f" WHERE servers.server_id IN ({among})" if among else ""
    in_domains = f" WHERE server_domains.server_id IN ({among})" if among else ""
    carried, of_rack = _listed(events, columns), _listed("hit_racks", columns)
    return f"""
    hit_racks AS (
        SELECT rack_id{carried}, false AS with_place, 'rack' AS place FROM {events} WHERE rack_id IS NOT NULL
        UNION ALL SELECT racks.rack_id{carried}, true, 'msb' FROM {events} JOIN racks USING (msb_id)
        UNION ALL SELECT racks.rack_id{carried}, true, 'datacenter' FROM {events} JOIN msbs USING (datacenter_id)
            JOIN racks ON racks.msb_id = msbs.msb_id
    ), hit AS (
        SELECT server_id{carried}, false AS with_place, NULL::bigint AS event_domain_id, 0 AS revision
            FROM {events} WHERE server_id IS NOT NULL
        UNION ALL SELECT servers.server_id{of_rack}, with_place, NULL,
                CASE place WHEN 'rack' THEN rack_revision WHEN 'msb' THEN msb_revision ELSE datacenter_revision END
            FROM hit_racks JOIN servers USING (rack_id){kept}
        UNION ALL SELECT server_domains.server_id{carried}, false, domain_id, domain_revision
            FROM {events} JOIN server_domains USING (domain_id){in_domains}
    )"""


def down_since(events: str) -> str:
    """Return CTEs. The last one, `down`, has a row for each server in the fleet that is down by these events.

    Its columns are `server_id` and `rack_id`, the earliest `starts_at` of its events, and that of a whole MSB or
    datacenter, `whole_at`. `with_place` says whether there is such an event, and `event_domain_id` names
    the domain of one of a further kind.

    events   name of a CTE of unplanned events that have begun; it has the ids of their scopes and `starts_at`
    """
    # Right after a failure the statistics know of no server that is down. A join that may read the index of those then
    # compares each of them with each server that was hit. OFFSET 0 keeps the condition out of the search by id.
    return f"""{servers_hit(events, "starts_at")}, hit_first AS MATERIALIZED (
        SELECT server_id, min(starts_at) AS starts_at, min(starts_at) FILTER (WHERE with_place) AS whole_at,
               bool_or(with_place) AS with_place, min(event_domain_id) AS event_domain_id
        FROM hit GROUP BY server_id
    ), down AS MATERIALIZED (
        SELECT hit_first.*, rack_id FROM hit_first CROSS JOIN LATERAL (
            SELECT rack_id, unavailability = 'unplanned' AND decommissioned_at IS NULL AS is_down
            FROM servers WHERE servers.server_id = hit_first.server_id OFFSET 0) AS server
        WHERE is_down
    )"""


def _listed(table: str, columns: Sequence[str]) -> str:
    """Return columns of a table, to follow another column."""
    return "".join(f", {table}.{column}" for column in columns)

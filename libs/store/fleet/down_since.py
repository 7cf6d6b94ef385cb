"""The servers that open events of any scope say are down, as SQL."""

from __future__ import annotations

# It reads `open`: events with the id of a server, rack, MSB or datacenter each, and `starts_at`. A join for each scope
# finds the servers by their ids. One join with a condition for all scopes would compare each event with each server.
HIT = """
    open_racks AS (
        SELECT rack_id, starts_at, false AS with_place FROM open WHERE rack_id IS NOT NULL
        UNION ALL SELECT racks.rack_id, starts_at, true FROM open JOIN racks USING (msb_id)
        UNION ALL SELECT racks.rack_id, starts_at, true FROM open JOIN msbs USING (datacenter_id)
            JOIN racks ON racks.msb_id = msbs.msb_id
    ), hit AS (
        SELECT server_id, starts_at, false AS with_place FROM open WHERE server_id IS NOT NULL
        UNION ALL SELECT servers.server_id, starts_at, with_place FROM open_racks JOIN servers USING (rack_id)
    )"""
"""CTEs. The last one, `hit`, has a server per row, with the start of an event. `with_place` says whether the event is
one of its whole MSB or datacenter.
"""

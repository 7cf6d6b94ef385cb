"""Read the data that the answer to a request for planned maintenance depends on: the maintenance ground. See
docs/designs/0023.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats, Ints, Names
from libs.domain.maintenance import MaintenanceGround, SpareServers, Underway
from libs.domain.unavailability import UnavailabilityScope
from libs.store.capacity.coverage import coverage_query
from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.fleet.servers_hit import COVERED, servers_hit
from libs.store.fleet.snapshot import LEAVING
from libs.store.platform.database import Transaction

_WITHIN: dict[str, str] = {
    UnavailabilityScope.SERVER: "servers.server_id = :scope_id",
    UnavailabilityScope.RACK: "servers.rack_id = :scope_id",
    UnavailabilityScope.MSB: "racks.msb_id = :scope_id",
    UnavailabilityScope.DATACENTER: "racks.msb_id IN (SELECT msb_id FROM msbs WHERE datacenter_id = :scope_id)",
}
_WITHIN_DOMAIN = "servers.server_id IN (SELECT server_id FROM server_domains WHERE domain_id = :scope_id)"
"""SQL condition on a joined row of `servers` and `racks`. It is true if the request's scope contains the server."""

_BEGUN = f"""
    begun AS (
        SELECT unavailability_event_id, server_id, rack_id, msb_id, datacenter_id, domain_id, ends_at, covers_revision
        FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND kind = 'planned' AND state = 'allowed'
          AND starts_at <= :now
    ), {servers_hit("begun", "unavailability_event_id", "ends_at", "covers_revision")}"""
_PER_MSB = """
    WITH {begun}, maintained AS (SELECT DISTINCT server_id FROM hit WHERE {covered})
    SELECT msbs.msb_id, msbs.name, count(*) AS servers, count(maintained.server_id) AS in_maintenance,
           count(*) FILTER (WHERE unavailability = 'unplanned') AS down,
           count(*) FILTER (WHERE {within} AND maintained.server_id IS NULL) AS asked
    FROM servers JOIN racks USING (rack_id) JOIN msbs ON msbs.msb_id = racks.msb_id
    LEFT JOIN maintained ON maintained.server_id = servers.server_id
    WHERE servers.region_id = :region_id AND decommissioned_at IS NULL
    GROUP BY 1, 2 ORDER BY 1"""
_UNDERWAY = f"""
    WITH {_BEGUN}
    SELECT DISTINCT unavailability_event_id, ends_at, msb_id
    FROM hit JOIN servers USING (server_id) JOIN racks USING (rack_id)
    WHERE {COVERED} AND decommissioned_at IS NULL ORDER BY 1, 3"""
# The newcomers of each event: servers that it does not take, because it was allowed before they got their place. Those
# that are in other maintenance do not count.
_NEWCOMERS = f"""
    WITH {_BEGUN}, maintained AS (SELECT DISTINCT server_id FROM hit WHERE {COVERED})
    SELECT unavailability_event_id, count(*) FILTER (WHERE maintained.server_id IS NULL) AS servers
    FROM hit JOIN servers USING (server_id) LEFT JOIN maintained USING (server_id)
    WHERE NOT ({COVERED}) AND decommissioned_at IS NULL GROUP BY 1"""
# `held` is that of a reservation's status. A server that a running move takes away is as good as gone. Of RRU and of
# resources, which count as shares of the capacity, the measure counts of which least would be left.
_RESERVATIONS = """
    WITH wanted AS (
        SELECT reservation_id, name, capacity_rru, {granted} AS granted_rru, survives_msb_loss, survives_loss_of
        FROM reservations
        WHERE kind = 'guaranteed' AND NOT scheduled AND deleted_at IS NULL AND reservation_id IN (
            SELECT current_reservation_id FROM servers JOIN racks USING (rack_id)
            WHERE servers.region_id = :region_id AND unavailability = 'none' AND {within})
    ), {coverage}, leave AS (
        SELECT wanted.reservation_id, hardware_type_id, count(*) AS servers
        FROM wanted JOIN servers ON current_reservation_id = wanted.reservation_id JOIN racks USING (rack_id)
        WHERE unavailability = 'none' AND ({within} OR EXISTS (
            SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running'
                AND from_reservation_id = wanted.reservation_id))
        GROUP BY 1, 2
    ), gone AS (
        SELECT reservation_id, coalesce(sum(servers * rru), 0) AS gone_rru
        FROM leave LEFT JOIN reservation_rru USING (reservation_id, hardware_type_id) GROUP BY 1
    ), of_resources AS (
        SELECT reservation_id, resource, sum(servers * each) AS gone
        FROM leave JOIN gives USING (reservation_id, hardware_type_id) GROUP BY 1, 2
    ), measured AS (
        SELECT reservation_id, total_rru, gone_rru
        FROM wanted JOIN coverage USING (reservation_id) JOIN gone USING (reservation_id)
        UNION ALL
        SELECT reservation_id, capacity_rru * total / asked, capacity_rru * gone / asked
        FROM wanted JOIN left_each USING (reservation_id) JOIN of_resources USING (reservation_id, resource)
    )
    SELECT DISTINCT ON (reservation_id) name, granted_rru, total_rru, gone_rru
    FROM measured JOIN wanted USING (reservation_id) ORDER BY reservation_id, total_rru - gone_rru"""


# A spare server that replaces a lost one, is lent or retires is on its way out.
SPARE_SERVERS = f"""
    reservations JOIN servers ON current_reservation_id = reservation_id JOIN racks USING (rack_id)
    JOIN hardware_types USING (hardware_type_id)
    WHERE reservations.region_id = :region_id AND reservations.kind = 'shared_buffer' AND deleted_at IS NULL
      AND target_reservation_id = reservation_id AND spare_for_reservation_id IS NULL AND unavailability <> 'unplanned'
      AND NOT {LEAVING}"""
"""SQL after FROM: the spare servers that are there, with their racks and hardware types."""
_SPARES = f"""
    SELECT hardware_types.name AS hardware_type, count(*) AS servers,
           count(*) FILTER (WHERE unavailability = 'planned') AS in_maintenance,
           count(*) FILTER (WHERE unavailability = 'none' AND {{within}}) AS asked
    FROM {SPARE_SERVERS}
    GROUP BY 1 HAVING count(*) FILTER (WHERE unavailability = 'none' AND {{within}}) > 0 ORDER BY 1"""


def load_ground(
    tx: Transaction, region_id: int, scope: str, scope_id: int, *, now: datetime, of_event: int | None = None
) -> MaintenanceGround:
    """Return the data that decide whether planned maintenance of the scope `scope_id` may begin at `now`: the state of
    each MSB, maintenance under way, and the reservations that would lose servers.

    scope      a value of UnavailabilityScope, or a further kind of domain
    of_event   the event of this scope that asks for its newcomers; None: a request of its own asks

    The caller must refresh the unavailability of servers first. One scan reads all servers of the region.
    """
    values = {"region_id": region_id, "scope_id": scope_id, "now": now}
    within = _WITHIN.get(scope, _WITHIN_DOMAIN)
    msbs = tx.execute(sa.text(_PER_MSB.format(begun=_BEGUN, covered=COVERED, within=within)), values).all()
    query = _RESERVATIONS.format(within=within, coverage=coverage_query("held"), granted=GRANTED_RRU)
    of_scope = {"region_id": region_id, "scope_id": scope_id}
    held = tx.execute(sa.text(query), of_scope).all()
    spares = sa.text(_SPARES.format(within=within))
    return MaintenanceGround(
        msb=_names(msbs, "name"),
        servers=_ints(msbs, "servers"),
        in_maintenance=_ints(msbs, "in_maintenance"),
        down=_ints(msbs, "down"),
        asked=_ints(msbs, "asked"),
        underway=_underway(tx, region_id, {row.msb_id: m for m, row in enumerate(msbs)}, now),
        of_event=of_event,
        is_domain=scope not in _WITHIN,
        reservation=_names(held, "name"),
        granted_rru=_floats(held, "granted_rru"),
        held_rru=_floats(held, "total_rru"),
        gone_rru=_floats(held, "gone_rru"),
        spares=tuple(SpareServers(**row) for row in tx.execute(spares, of_scope).mappings()),
    )


def count_newcomers(tx: Transaction, region_id: int, *, now: datetime) -> dict[int, int]:
    """Return the planned events under way that have newcomers, and how many of these are in no maintenance.

    The cost grows with the servers in the scopes of these events.
    """
    found = tx.execute(sa.text(_NEWCOMERS), {"region_id": region_id, "now": now})
    return {row.unavailability_event_id: row.servers for row in found}


def _underway(tx: Transaction, region_id: int, rows: dict[int, int], now: datetime) -> tuple[Underway, ...]:
    found = tx.execute(sa.text(_UNDERWAY), {"region_id": region_id, "now": now})
    of_events = [(key, list(group)) for key, group in groupby(found, key=lambda row: row.unavailability_event_id)]
    return tuple(
        Underway(
            unavailability_event_id=event_id,
            msbs=frozenset(rows[row.msb_id] for row in group if row.msb_id in rows),
            ends_at=group[0].ends_at,
        )
        for event_id, group in of_events
    )


def _names(rows: Sequence[sa.Row[Any]], name: str) -> Names:
    return np.array([getattr(row, name) for row in rows], object)


def _ints(rows: Sequence[sa.Row[Any]], name: str) -> Ints:
    return np.array([getattr(row, name) for row in rows], np.int64)


def _floats(rows: Sequence[sa.Row[Any]], name: str) -> Floats:
    return np.array([getattr(row, name) for row in rows], np.float64)

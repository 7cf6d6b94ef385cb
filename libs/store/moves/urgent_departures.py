"""Urgent departures: operators mark servers, and the mover lets these leave at the level *hold*."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.urgent_departure import UrgentDeparture
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.tables import regions, reservations, servers, urgent_departures

_OF_RETIREMENT = sa.text("""
    SELECT servers.server_id FROM retirements AS announced
    JOIN servers ON servers.region_id = announced.region_id
    JOIN racks ON racks.rack_id = servers.rack_id JOIN msbs ON msbs.msb_id = racks.msb_id
    WHERE retirement_id = :retirement_id AND announced.region_id = :region_id AND status = 'announced'
      AND decommissioned_at IS NULL
      AND (servers.server_id = announced.server_id OR racks.rack_id = announced.rack_id
           OR msbs.msb_id = announced.msb_id OR msbs.datacenter_id = announced.datacenter_id)
    ORDER BY servers.server_id""")
_NAMED = sa.text("""
    SELECT server_id, name FROM servers
    WHERE region_id = :region_id AND name = ANY(:names) AND decommissioned_at IS NULL ORDER BY server_id""")
# A server that is free, or where it should be, has nothing urgent to do.
_MARK = sa.text("""
    INSERT INTO urgent_departures (server_id, region_id, reason, marked_by, marked_at)
    SELECT server_id, region_id, :reason, :actor, :now FROM servers
    WHERE server_id = ANY(:ids) AND coalesce(current_reservation_id, in_doubt_reservation_id) IS NOT NULL
    ORDER BY server_id
    ON CONFLICT (server_id) DO UPDATE
        SET reason = EXCLUDED.reason, marked_by = EXCLUDED.marked_by, marked_at = EXCLUDED.marked_at
    RETURNING server_id""")
# In order of id, as every writer of moves locks them.
_SAY_SO = sa.text("""
    WITH chosen AS (
        SELECT move_id FROM moves
        WHERE server_id = ANY(:ids) AND status = 'running' AND from_reservation_id IS NOT NULL
        ORDER BY move_id FOR NO KEY UPDATE
    )
    UPDATE moves SET urgent_reason = :reason FROM chosen WHERE moves.move_id = chosen.move_id""")
_LEFT = sa.text("""
    DELETE FROM urgent_departures USING servers
    WHERE urgent_departures.server_id = servers.server_id AND urgent_departures.region_id = :region_id
      AND current_reservation_id IS NULL AND in_doubt_reservation_id IS NULL""")
_SELECT = (
    sa.select(
        regions.c.name.label("region"),
        urgent_departures.c.server_id,
        servers.c.name.label("server"),
        reservations.c.name.label("reservation"),
        urgent_departures.c.reason,
        urgent_departures.c.marked_by,
        urgent_departures.c.marked_at,
    )
    .join(servers, servers.c.server_id == urgent_departures.c.server_id)
    .join(regions, regions.c.region_id == urgent_departures.c.region_id)
    .outerjoin(reservations, reservations.c.reservation_id == servers.c.current_reservation_id)
)


def find_named(tx: Transaction, region_id: int, names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the ids of the servers with these names, and the names that no server of the region has."""
    rows = tx.execute(_NAMED, {"region_id": region_id, "names": list(names)}).all()
    known = {row.name for row in rows}
    return [row.server_id for row in rows], [name for name in names if name not in known]


def find_retiring(tx: Transaction, region_id: int, retirement_id: int) -> list[int]:
    """Return the ids of the servers of a retirement that has not ended. Raises NotFound."""
    ids = list(tx.execute(_OF_RETIREMENT, {"region_id": region_id, "retirement_id": retirement_id}).scalars())
    if not ids:
        raise NotFound("announced retirement with servers", retirement_id)
    return ids


def mark_urgent(
    tx: Transaction, region_id: int, server_ids: Sequence[int], *, reason: str, actor: str, now: datetime
) -> int:
    """Mark servers, with an audit entry. Return how many were marked: those that are in a reservation.

    Raises NotPossible if there is none.
    """
    marked = list(tx.execute(_MARK, {"ids": list(server_ids), "reason": reason, "actor": actor, "now": now}).scalars())
    if not marked:
        raise NotPossible("urgent departures", "none of these servers is in a reservation")
    tx.execute(_SAY_SO, {"ids": marked, "reason": reason})
    audit.append(
        tx,
        actor=actor,
        action="mark_urgent",
        subject_kind="region",
        subject_id=region_id,
        now=now,
        after={"server_ids": marked},
        reason=reason,
    )
    return len(marked)


def unmark_urgent(tx: Transaction, server_id: int, *, reason: str, actor: str, now: datetime) -> None:
    """Remove a mark, with an audit entry. Raises NotFound."""
    row = tx.execute(
        sa.delete(urgent_departures)
        .where(urgent_departures.c.server_id == server_id)
        .returning(urgent_departures.c.region_id)
    ).one_or_none()
    if row is None:
        raise NotFound("urgent departure of server", server_id)
    audit.append(
        tx,
        actor=actor,
        action="unmark_urgent",
        subject_kind="region",
        subject_id=row.region_id,
        now=now,
        after={"server_ids": [server_id]},
        reason=reason,
    )


def forget_departed(tx: Transaction, region_id: int) -> int:
    """Remove the marks of servers that have left their reservation. Return their number."""
    return tx.execute(_LEFT, {"region_id": region_id}).rowcount


def list_urgent(
    tx: Transaction, *, region: str | None = None, after: int | None = None, limit: int = 100
) -> Page[UrgentDeparture]:
    """Return a page of marks by server id. Raises NotFound for the region."""
    query = _SELECT.where(urgent_departures.c.server_id > (after or 0))
    if region is not None:
        query = query.where(urgent_departures.c.region_id == load_region(tx, region).region_id)
    rows = tx.execute(query.order_by(urgent_departures.c.server_id).limit(limit + 1)).mappings()
    return Page.of([UrgentDeparture(**row) for row in rows], limit, lambda one: one.server_id)


def load_urgent_ids(tx: Transaction, region_id: int) -> list[int]:
    """Return the ids of the marked servers of a region, in ascending order."""
    of_region = urgent_departures.c.region_id == region_id
    query = sa.select(urgent_departures.c.server_id).where(of_region).order_by(urgent_departures.c.server_id)
    return list(tx.execute(query).scalars())

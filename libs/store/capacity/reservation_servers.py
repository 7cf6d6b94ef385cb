"""Counts of the servers of one reservation."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from libs.store.fleet.guests import holder_id
from libs.store.platform.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCount:
    """Servers of one hardware type in one MSB, by current binding and by target."""

    hardware_type: str
    msb: str
    current: int
    target: int


def count_in_use(tx: Transaction, reservation_id: int) -> int:
    """Return the number of servers bound to the reservation that run containers."""
    query = "SELECT count(*) FROM servers WHERE current_reservation_id = :id AND in_use"
    return int(tx.execute(sa.text(query), {"id": reservation_id}).scalar_one())


def count_servers(tx: Transaction, reservation_id: int) -> tuple[ServerCount, ...]:
    """Return the number of servers per hardware type and MSB, ordered by the names of type and MSB. Servers that are
    down count too. A guest has those of its host.
    """
    reservation_id = holder_id(tx, reservation_id)
    query = """
        SELECT hardware_types.name AS hardware_type, msbs.name AS msb,
               count(*) FILTER (WHERE current_reservation_id = :id) AS current,
               count(*) FILTER (WHERE target_reservation_id = :id) AS target
        FROM servers JOIN racks USING (rack_id) JOIN msbs USING (msb_id) JOIN hardware_types USING (hardware_type_id)
        WHERE current_reservation_id = :id OR target_reservation_id = :id
        GROUP BY 1, 2 ORDER BY hardware_types.name COLLATE "C", msbs.name COLLATE "C" """
    return tuple(ServerCount(**row) for row in tx.execute(sa.text(query), {"id": reservation_id}).mappings())

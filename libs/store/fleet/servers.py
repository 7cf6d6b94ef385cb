"""Servers: read one server or a page of servers, and set which servers run containers. Code that needs all servers
reads a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from libs.domain.arrays import Ints
from libs.domain.page import Page
from libs.domain.server import Server
from libs.domain.unavailability import Unavailability
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.departure_waits import WAIT_COLUMNS, wait_of
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import BOOKED, LEAVING
from libs.store.platform import audit
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound, NotPossible
from libs.store.tables import (
    datacenters,
    departure_waits,
    domains,
    hardware_types,
    msbs,
    racks,
    regions,
    reservation_waits,
    reservations,
    server_domains,
    servers,
)

_current, _target = reservations.alias("current_reservations"), reservations.alias("target_reservations")
_in_doubt = reservations.alias("in_doubt_reservations")
_spare_for = reservations.alias("spare_for_reservations")
_DOMAINS = (
    sa.select(
        sa.func.coalesce(sa.func.jsonb_object_agg(domains.c.kind, domains.c.name), sa.literal({}, JSONB), type_=JSONB)
    )
    .join(server_domains, server_domains.c.domain_id == domains.c.domain_id)
    .where(server_domains.c.server_id == servers.c.server_id)
    .correlate(servers)
    .scalar_subquery()
)
_SELECT = (
    sa.select(
        servers.c.server_id,
        regions.c.name.label("region"),
        servers.c.name,
        datacenters.c.name.label("datacenter"),
        msbs.c.name.label("msb"),
        racks.c.name.label("rack"),
        _DOMAINS.label("domains"),
        hardware_types.c.name.label("hardware_type"),
        _current.c.name.label("current_reservation"),
        _target.c.name.label("target_reservation"),
        _in_doubt.c.name.label("in_doubt_reservation"),
        _spare_for.c.name.label("spare_for_reservation"),
        servers.c.unclean,
        servers.c.in_use,
        servers.c.host_profile,
        servers.c.unavailability,
        servers.c.generation,
        servers.c.decommissioned_at,
        *WAIT_COLUMNS,
    )
    .join(regions, regions.c.region_id == servers.c.region_id)
    .join(racks, racks.c.rack_id == servers.c.rack_id)
    .join(msbs, msbs.c.msb_id == racks.c.msb_id)
    .join(datacenters, datacenters.c.datacenter_id == msbs.c.datacenter_id)
    .join(hardware_types, hardware_types.c.hardware_type_id == servers.c.hardware_type_id)
    .outerjoin(_current, _current.c.reservation_id == servers.c.current_reservation_id)
    .outerjoin(_target, _target.c.reservation_id == servers.c.target_reservation_id)
    .outerjoin(_in_doubt, _in_doubt.c.reservation_id == servers.c.in_doubt_reservation_id)
    .outerjoin(_spare_for, _spare_for.c.reservation_id == servers.c.spare_for_reservation_id)
    .outerjoin(departure_waits, departure_waits.c.server_id == servers.c.server_id)
    .outerjoin(reservation_waits, reservation_waits.c.reservation_id == departure_waits.c.reservation_id)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFilter:
    """A filter of servers. A field of None lets every server pass.

    current_id, target_id  the reservation that holds them now, or that the target gives them to; of a guest its host
    current_reservation    the same by name, in all regions. A deleted reservation counts while it holds servers
    target_reservation     the name of a live one
    decommissioned         True: list only decommissioned servers; False: list only the others
    """

    current_id: int | None = None
    target_id: int | None = None
    name: str | None = None
    current_reservation: str | None = None
    target_reservation: str | None = None
    msb: str | None = None
    rack: str | None = None
    hardware_type: str | None = None
    unavailability: Unavailability | None = None
    decommissioned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InUse:
    """A change of a server's in_use, with the generation at which the server was read."""

    server_id: int
    in_use: bool
    generation: int


def load_server(tx: Transaction, server_id: int) -> Server:
    """Return one server. Raises NotFound."""
    row = tx.execute(_SELECT.where(servers.c.server_id == server_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("server", server_id)
    return _server(row)


def list_servers(
    tx: Transaction,
    region_name: str | None,
    chosen: ServerFilter = ServerFilter(),
    *,
    after: int | None = None,
    limit: int = 100,
) -> Page[Server]:
    """Return a page of servers in order of id, of one region, or of all regions if `region_name` is None. `after` is
    the last id of the page before.

    The ids of names are looked up in a query before. With ids, PostgreSQL can estimate whether an index helps. Raises
    NotFound if the region does not exist.
    """
    query = _SELECT.where(servers.c.server_id > (after or 0))
    gone = servers.c.decommissioned_at.is_not(None)
    query = query.where(gone if chosen.decommissioned else ~gone)
    if region_name is not None:
        query = query.where(servers.c.region_id == load_region(tx, region_name).region_id)
    is_live = reservations.c.deleted_at.is_(None)
    holds = sa.or_(is_live, reservations.c.host_reservation_id.is_(None))  # a deleted guest holds nothing
    current = sa.and_(reservations.c.name == chosen.current_reservation, holds)
    wanted = sa.and_(reservations.c.name == chosen.target_reservation, is_live)
    holder = sa.func.coalesce(reservations.c.host_reservation_id, reservations.c.reservation_id)
    of_msb = racks.c.msb_id.in_(sa.select(msbs.c.msb_id).where(msbs.c.name == chosen.msb))
    for given, column, key, condition in (
        (chosen.current_reservation, servers.c.current_reservation_id, holder, current),
        (chosen.target_reservation, servers.c.target_reservation_id, holder, wanted),
        (chosen.rack, servers.c.rack_id, racks.c.rack_id, racks.c.name == chosen.rack),
        (chosen.msb, servers.c.rack_id, racks.c.rack_id, of_msb),
        (
            chosen.hardware_type,
            servers.c.hardware_type_id,
            hardware_types.c.hardware_type_id,
            hardware_types.c.name == chosen.hardware_type,
        ),
    ):
        if given is not None:
            query = query.where(column.in_(tx.execute(sa.select(key).where(condition)).scalars().all()))
    if chosen.current_id is not None:
        query = query.where(servers.c.current_reservation_id == chosen.current_id)
    if chosen.target_id is not None:
        query = query.where(servers.c.target_reservation_id == chosen.target_id)
    if chosen.name is not None:
        query = query.where(servers.c.name == chosen.name)
    if chosen.unavailability is not None:
        query = query.where(servers.c.unavailability == chosen.unavailability.value)
    rows = tx.execute(query.order_by(servers.c.server_id).limit(limit + 1)).mappings()
    return Page.of([_server(row) for row in rows], limit, lambda server: server.server_id)


def load_free_servers(tx: Transaction, region_id: int) -> Ints:
    """Return the (N,) ids of servers without a target that plans may count on: up, not leaving and not booked."""
    query = f"""
        SELECT server_id FROM servers
        WHERE region_id = %(region)s AND target_reservation_id IS NULL AND decommissioned_at IS NULL
          AND unavailability = 'none' AND NOT {LEAVING} AND NOT {BOOKED}"""
    return copy_out(tx, query, {"region": region_id}, {"id": ">i8"})["id"].astype(np.int64)


def set_in_use(tx: Transaction, changes: Sequence[InUse], *, actor: str, now: datetime) -> tuple[Server, ...]:
    """Set which servers run containers, all or nothing. Return the servers in the order of `changes`.

    Raises NotFound, and StaleGeneration for the first server that has changed since it was read. Raises NotPossible for
    a server named twice, and for a server in use that is bound to no reservation.
    """
    wanted = {change.server_id: change for change in changes}
    if len(wanted) < len(changes):
        raise NotPossible("server_id", "a server is named twice")
    columns = (servers.c.server_id, servers.c.generation, servers.c.current_reservation_id, servers.c.in_use)
    query = sa.select(*columns).where(servers.c.server_id.in_(wanted)).order_by(servers.c.server_id)
    rows = tx.execute(query.with_for_update(key_share=True)).all()
    missing = wanted.keys() - {row.server_id for row in rows}
    if missing:
        raise NotFound("server", min(missing))
    for row in rows:
        change = wanted[row.server_id]
        if row.generation != change.generation:
            raise StaleGeneration("server", row.server_id, expected=change.generation, found=row.generation)
        if change.in_use and row.current_reservation_id is None:
            raise NotPossible("in_use", f"server {row.server_id} is bound to no reservation")
    for value in (True, False):
        ids = [row.server_id for row in rows if wanted[row.server_id].in_use is value and row.in_use is not value]
        tx.execute(sa.update(servers).where(servers.c.server_id.in_(ids)).values(in_use=value))
        audit.append_each(
            tx,
            ids,
            actor=actor,
            action="set_in_use",
            subject_kind="server",
            now=now,
            before={"in_use": not value},
            after={"in_use": value},
        )
    found = tx.execute(_SELECT.where(servers.c.server_id.in_(wanted))).mappings()
    by_id = {row["server_id"]: _server(row) for row in found}
    return tuple(by_id[change.server_id] for change in changes)


def _server(row: Mapping[Any, Any]) -> Server:
    fields = {name: row[name] for name in Server.__dataclass_fields__ if name != "waits"}
    waits = wait_of(row, row["current_reservation"])
    return Server(**fields | {"unavailability": Unavailability(row["unavailability"]), "waits": waits})

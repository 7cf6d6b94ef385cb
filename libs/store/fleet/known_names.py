"""The names that exist. When a request uses an unknown name, the error suggests the nearest names."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from libs.domain.domain_kind import RACK
from libs.domain.domain_limits import DATACENTER, MSB
from libs.store.platform.database import Transaction
from libs.store.tables import (
    datacenters,
    domains,
    hardware_types,
    msbs,
    racks,
    regions,
    reservation_rru,
    reservations,
    server_domains,
    servers,
)


def known_regions(tx: Transaction) -> frozenset[str]:
    """Return the names of all regions."""
    return frozenset(tx.execute(sa.select(regions.c.name)).scalars())


def known_hardware_types(tx: Transaction) -> frozenset[str]:
    """Return the names of all hardware types."""
    return frozenset(tx.execute(sa.select(hardware_types.c.name)).scalars())


def known_datacenters(tx: Transaction, region_id: int) -> frozenset[str]:
    """Return the names of a region's datacenters."""
    return frozenset(tx.execute(sa.select(datacenters.c.name).where(datacenters.c.region_id == region_id)).scalars())


def known_msbs(tx: Transaction, region_id: int) -> frozenset[str]:
    """Return the names of a region's MSBs."""
    return frozenset(tx.execute(sa.select(msbs.c.name).where(msbs.c.region_id == region_id)).scalars())


def known_domains(tx: Transaction, region_id: int, kind: str) -> frozenset[str]:
    """Return the names of a region's domains of a further kind."""
    query = sa.select(domains.c.name).where(domains.c.region_id == region_id, domains.c.kind == kind)
    return frozenset(tx.execute(query).scalars())


def known_kinds(tx: Transaction, region_id: int) -> tuple[str, ...]:
    """Return the further kinds of domain that a region has, by name."""
    query = sa.select(domains.c.kind).where(domains.c.region_id == region_id).distinct().order_by(domains.c.kind)
    return tuple(tx.execute(query).scalars())


def placed_kinds(tx: Transaction, region_id: int) -> tuple[str, ...]:
    """Return those of `known_kinds` of which a server of the region has a place."""
    kinds = sa.select(domains.c.kind).where(domains.c.region_id == region_id).distinct().subquery()
    # The first such server of each kind: to join all of them, as EXISTS does, takes ten times as long.
    placed = (
        sa.select(server_domains.c.server_id)
        .join(servers, servers.c.server_id == server_domains.c.server_id)
        .where(server_domains.c.region_id == region_id, server_domains.c.kind == kinds.c.kind)
        .where(servers.c.decommissioned_at.is_(None))
        .limit(1)
        .lateral()
    )
    query = sa.select(kinds.c.kind).join(placed, sa.true())
    return tuple(sorted(tx.execute(query).scalars()))


def known_racks(tx: Transaction, region_id: int) -> frozenset[str]:
    """Return the names of a region's racks."""
    return frozenset(tx.execute(sa.select(racks.c.name).where(racks.c.region_id == region_id)).scalars())


def known_places(tx: Transaction, region_id: int, kind: str) -> frozenset[str]:
    """Return the names of a region's domains of one kind: datacenter, msb, rack, or a further one."""
    known = {DATACENTER: known_datacenters, MSB: known_msbs, RACK: known_racks}.get(kind)
    return known_domains(tx, region_id, kind) if known is None else known(tx, region_id)


def empty_places(tx: Transaction, region_id: int, kind: str, names: Collection[str]) -> frozenset[str]:
    """Return those of a region's domains of one kind, of these names, in which no server lies."""
    there = sa.select(servers.c.server_id).where(servers.c.decommissioned_at.is_(None))
    in_racks = there.join(racks, racks.c.rack_id == servers.c.rack_id)
    if kind == RACK:
        place, held = racks, there.where(servers.c.rack_id == racks.c.rack_id).correlate(racks)
    elif kind == MSB:
        place, held = msbs, in_racks.where(racks.c.msb_id == msbs.c.msb_id).correlate(msbs)
    elif kind == DATACENTER:
        of_msb = in_racks.join(msbs, msbs.c.msb_id == racks.c.msb_id)
        place, held = datacenters, of_msb.where(msbs.c.datacenter_id == datacenters.c.datacenter_id)
        held = held.correlate(datacenters)
    else:
        placed = there.join(server_domains, server_domains.c.server_id == servers.c.server_id)
        place, held = domains, placed.where(server_domains.c.domain_id == domains.c.domain_id).correlate(domains)
    query = sa.select(place.c.name).where(place.c.region_id == region_id, place.c.name.in_(names), ~held.exists())
    if place is domains:
        query = query.where(domains.c.kind == kind)
    return frozenset(tx.execute(query).scalars())


def hardware_types_of(tx: Transaction, region_id: int) -> frozenset[str]:
    """Return the names of the hardware types that servers of a region have or that its live reservations accept."""
    wanted = (
        sa.select(reservation_rru.c.hardware_type_id)
        .join(reservations, reservations.c.reservation_id == reservation_rru.c.reservation_id)
        .where(reservations.c.region_id == region_id, reservations.c.deleted_at.is_(None))
    )
    there = sa.select(servers.c.hardware_type_id).where(servers.c.region_id == region_id)
    column = hardware_types.c.hardware_type_id
    query = sa.select(hardware_types.c.name).where(sa.or_(column.in_(there), column.in_(wanted)))
    return frozenset(tx.execute(query).scalars())

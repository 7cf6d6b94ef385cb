"""Put guests into a region as resources of their hosts, and take them out again (docs/designs/0061)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from libs.domain.arrays import Bools, Floats, Names
from libs.domain.domain_limits import limits_in
from libs.domain.fleet import FleetSnapshot
from libs.domain.guest import Guest, guest_amounts, guests_by_host, host_share, is_guest_resource
from libs.domain.region_image import RegionImage
from libs.domain.reservation import CapacityUnit, ReservationKind, ReservationSpec
from libs.domain.resources import Resources, resources_in
from libs.domain.what_if import with_reservation

_DIGITS = 12
"""Digits of the RRU of whole servers, which are found by a division."""


def with_guests(snapshot: FleetSnapshot, guests: Sequence[Guest]) -> FleetSnapshot:
    """Return the snapshot that knows the RRU of these guests in a server of each hardware type, in place of those that
    it knew. Nothing else changes.
    """
    if not guests:
        return snapshot
    snapshot = snapshot.with_resources([guest.resource for guest in guests])
    amounts, amount = guest_amounts(guests), snapshot.resources.amount.copy()
    place = {str(name): k for k, name in enumerate(snapshot.resources.names)}
    for guest in guests:
        of = [amounts.get(str(name), {}).get(guest.resource, 0.0) for name in snapshot.hardware_types]
        amount[place[guest.resource]] = of
    return replace(snapshot, resources=replace(snapshot.resources, amount=amount))


def stacked(image: RegionImage, guests: Sequence[Guest]) -> RegionImage:
    """Return the region in which these rows are guests: they are no rows, and their hosts have resources for them. No
    server is bound to a guest.
    """
    if not guests:
        return image
    whole = image.snapshot
    rows = {str(name): row for row, name in enumerate(whole.reservations.name)}
    stays = np.ones(len(whole.reservations), bool)
    stays[[rows[guest.name] for guest in guests]] = False
    snapshot = with_guests(whole, guests)
    column = {str(name): k for k, name in enumerate(snapshot.resources.names)}
    rru, asked = snapshot.reservations.rru.copy(), snapshot.reservations.resources.copy()
    for host, mine in guests_by_host(guests).items():
        rru[rows[host]] *= host_share(mine)
        for guest in mine:
            asked[rows[host], column[guest.resource]] = guest.spec.capacity_rru
    snapshot = replace(snapshot, reservations=replace(snapshot.reservations, rru=rru, resources=asked))
    return _without_rows(replace(image, snapshot=replace(snapshot, guests=tuple(guests))), stays)


def unstacked(image: RegionImage) -> RegionImage:
    """Return the region in which guests are rows again, after the others, and no resources. The inverse of `stacked`.

    The RRU of hosts are those of whole servers, up to rounding.
    """
    snapshot, guests = image.snapshot, image.snapshot.guests
    if not guests:
        return image
    q, resources = snapshot.reservations, snapshot.resources
    rows, rru = {str(name): row for row, name in enumerate(q.name)}, q.rru.copy()
    for host, mine in guests_by_host(guests).items():
        whole = rru[rows[host]] / host_share(mine)
        rru[rows[host]] = [float(f"{value:.{_DIGITS}g}") for value in whole]
    own = np.array([not is_guest_resource(str(name)) for name in resources.names], bool)
    known = Resources(names=resources.names[own], amount=resources.amount[own], waived=resources.waived)
    q = replace(q, rru=rru, resources=q.resources[:, own])
    snapshot = replace(snapshot, reservations=q, resources=known, guests=())
    for guest in guests:
        snapshot, _ = with_reservation(
            snapshot, guest.name, guest.spec, reservation_id=guest.reservation_id, generation=guest.generation
        )
    specs = [guest.spec for guest in guests]
    promised = [one.spec.capacity_rru if one.promised_rru is None else one.promised_rru for one in guests]
    if snapshot.promised_rru is not None:
        snapshot = replace(snapshot, promised_rru=np.append(snapshot.promised_rru[: len(q)], promised))
    return replace(
        image,
        snapshot=snapshot,
        reservation_kind=_with(image.reservation_kind, [ReservationKind.GUARANTEED.value for _ in guests]),
        reservation_unit=_with(image.reservation_unit, [spec.unit.value for spec in specs]),
        reservation_owner=_with(image.reservation_owner, [guest.owner for guest in guests]),
        reservation_host_profile=_with(image.reservation_host_profile, [spec.host_profile for spec in specs]),
        reservation_class=_with(image.reservation_class, [spec.workload_class for spec in specs]),
        reservation_follows=_with(image.reservation_follows, [spec.affinity_follows for spec in specs]),
    )


def guests_of_rows(image: RegionImage, guest_of: Names, guest_share: Floats) -> list[Guest]:
    """Return the guests among the rows of a region in which they are rows still.

    guest_of     (R,) str or None  name of the host
    guest_share  (R,)              share of each of its servers; not read for others
    """
    q, promised = image.snapshot.reservations, image.snapshot.promised_rru
    return [
        Guest(
            reservation_id=int(q.id[row]),
            name=str(q.name[row]),
            owner=str(image.reservation_owner[row]),
            spec=replace(spec_of_row(image, row), guest_of=str(guest_of[row]), guest_share=float(guest_share[row])),
            generation=int(q.generation[row]),
            promised_rru=None if promised is None else float(promised[row]),
        )
        for row in np.flatnonzero([of is not None for of in guest_of]).tolist()
    ]


def spec_of_row(image: RegionImage, row: int) -> ReservationSpec:
    """Return the spec of one reservation of a region. Its affinity is the present one."""
    snapshot, q = image.snapshot, image.snapshot.reservations
    topology, follows = snapshot.topology, image.reservation_follows[row]
    share = q.affinity_share[row]
    return ReservationSpec(
        capacity_rru=float(q.capacity_rru[row]),
        rru={str(snapshot.hardware_types[t]): float(q.rru[row, t]) for t in np.flatnonzero(q.rru[row] > 0)},
        resources=resources_in(q.resources[row], snapshot.resources),
        unit=CapacityUnit(image.reservation_unit[row]),
        host_profile=str(image.reservation_host_profile[row]),
        survives_msb_loss=bool(q.survives_msb_loss[row]),
        survives_loss_of=tuple(topology.kinds[j].name for j in np.flatnonzero(q.survives_loss_of[row])),
        msb_spread_limit=_limit(q.msb_spread_limit[row]),
        rack_spread_limit=_limit(q.rack_spread_limit[row]),
        affinity={str(topology.datacenters[d]): float(share[d]) for d in np.flatnonzero(~np.isnan(share))},
        affinity_follows=None if follows is None else str(follows),
        priority=int(q.priority[row]),
        move_cost=float(q.move_cost[row]),
        gbit_per_rru=float(q.gbit_per_rru[row]),
        msb_share_max=_limit(q.msb_share_max[row]),
        datacenters=() if q.allowed[row].all() else tuple(map(str, topology.datacenters[q.allowed[row]])),
        domain_limits=limits_in(q.domain_limits[row], topology.kinds),
        workload_class=image.reservation_class[row],
    )


def _without_rows(image: RegionImage, stays: Bools) -> RegionImage:
    """Return the region with those reservations alone that stay, (R,)."""
    snapshot, q = image.snapshot, image.snapshot.reservations
    new = np.where(stays, np.cumsum(stays) - 1, 0).astype(np.int32)
    servers = snapshot.servers
    bound = {
        name: np.where(binding >= 0, new[np.maximum(binding, 0)], binding)
        for name, binding in (("current", servers.current), ("target", servers.target))
    }
    kept = {name: getattr(q, name)[stays] for name in q.__dataclass_fields__}
    columns = {
        name: getattr(image, name)[stays] for name in image.__dataclass_fields__ if name.startswith("reservation_")
    }
    snapshot = replace(
        snapshot,
        servers=replace(servers, **bound),
        reservations=replace(q, **kept),
        churned=None if snapshot.churned is None else snapshot.churned[stays],
        promised_rru=None if snapshot.promised_rru is None else snapshot.promised_rru[stays],
    )
    return replace(image, snapshot=snapshot, **columns)


def _with(names: Names, more: Sequence[str | None]) -> Names:
    return np.append(names, np.array(more, object))


def _limit(value: float) -> float | None:
    return None if np.isinf(value) else float(value)

"""Add up the power that the servers of a region draw, by domain. Every rule of power reads these sums.

A server draws `full_w` of its type while its target or its current binding is a reservation, and `idle_w` otherwise. So
a server that leaves counts in full until it has left, and limits hold while moves are under way. A server that is down
counts too, because it may come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.domain.domain_kind import MSB_KIND, UNPLACED
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.power import ROUNDING_W, Power


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FedKind:
    """The limits on one kind of domain.

    kind   MSB_KIND, or the name of a DomainKind
    rows   (n,) int  the limits, as in Power.limits
    names  (n,) str  their domains
    of     (S,) int  the limit of each server, counted as in `rows`; UNPLACED: none
    """

    kind: str
    rows: Indices
    names: Names
    of: Indices


def fed_kinds(snapshot: FleetSnapshot) -> Iterator[FedKind]:
    """Yield the limits of a region, kind by kind. A limit on a domain that the region lacks is in none of them."""
    power, topology = snapshot.power, snapshot.topology
    if power is None:
        return
    every = [(MSB_KIND, topology.msbs, snapshot.server_msb)]
    every += [(kind.name, kind.domains, snapshot.servers.domain[:, j]) for j, kind in enumerate(topology.kinds)]
    for kind, domains, of in every:
        place = {str(name): d for d, name in enumerate(domains)}
        rows = [row for row, limit in enumerate(power.limits) if limit.kind == kind and limit.domain in place]
        if rows:
            number = np.full(len(domains) + 1, UNPLACED, np.int32)  # UNPLACED counts from the end
            at = [place[power.limits[row].domain] for row in rows]
            number[at] = np.arange(len(rows))
            yield FedKind(kind=kind, rows=np.array(rows, np.int32), names=domains[at], of=number[of])


def untold_types(snapshot: FleetSnapshot) -> list[str]:
    """Return the hardware types of the region's servers that limits count as 0 W, because nothing says their watts.

    None without limits.
    """
    power = snapshot.power
    if power is None or not power.limits:
        return []
    has = np.bincount(snapshot.servers.hardware_type, minlength=len(power.full_w)) > 0
    return [str(name) for name in snapshot.hardware_types[has & (power.full_w <= 0)]]


def is_limited(snapshot: FleetSnapshot) -> Bools:
    """Return a (S,) mask of the servers below some limit."""
    found = np.zeros(len(snapshot.servers), bool)
    for one in fed_kinds(snapshot):
        found |= one.of >= 0
    return found


def by_limit(snapshot: FleetSnapshot, watts: Floats) -> Floats:
    """Return the sum of `watts` (S,) of the servers below each limit, (L,)."""
    total = np.zeros(0 if snapshot.power is None else len(snapshot.power.limits))
    for one in fed_kinds(snapshot):
        inside = one.of >= 0
        total[one.rows] = np.bincount(one.of[inside], watts[inside], len(one.rows))
    return total


def allowed_w(power: Power) -> Floats:
    """Return the W that plans may use below each limit, (L,)."""
    return np.array([limit.allowed_w for limit in power.limits], np.float64)


def is_bound(snapshot: FleetSnapshot) -> Bools:
    """Return a (S,) mask of the servers that count in full now: by target, or by current binding."""
    return np.asarray((snapshot.servers.target != FREE) | (snapshot.servers.current != FREE))


def gains_w(snapshot: FleetSnapshot) -> Floats:
    """Return the W that each server adds when a plan binds it, (S,); 0 for those that count in full already."""
    if snapshot.power is None:
        return np.zeros(len(snapshot.servers))
    return np.where(is_bound(snapshot), 0.0, snapshot.power.gain_w[snapshot.servers.hardware_type])


def drawn_w(snapshot: FleetSnapshot, bound: Bools) -> Floats:
    """Return the W of each server, (S,), if the servers `bound` (S,) count in full."""
    power, kind = snapshot.power, snapshot.servers.hardware_type
    if power is None:
        return np.zeros(len(kind))
    return np.where(bound, power.full_w[kind], power.idle_w[kind])


def room_w(snapshot: FleetSnapshot) -> Floats:
    """Return the W that new servers may add below each limit, (L,); negative where a limit is exceeded already."""
    power = snapshot.power
    if power is None:
        return np.zeros(0)
    if power.part is not None:
        return power.part.room_w
    return np.asarray(allowed_w(power) - by_limit(snapshot, drawn_w(snapshot, is_bound(snapshot))))


def joining_w(snapshot: FleetSnapshot, target: Indices) -> Floats:
    """Return the W that the plan `target` (S,) adds below each limit, (L,), until all departures are done."""
    return by_limit(snapshot, np.where(target >= 0, gains_w(snapshot), 0.0))


def feedable(snapshot: FleetSnapshot, rows: Indices) -> Bools:
    """Return which of the servers `rows` (n,), the preferred ones first, could all join reservations at once, (n,)."""
    gain, room, fits = gains_w(snapshot)[rows], np.maximum(room_w(snapshot), 0.0), np.ones(len(rows), bool)
    for one in tight_kinds(snapshot):
        of = one.of[rows]
        waiting = np.flatnonzero(fits & (of >= 0))
        waiting = waiting[np.argsort(of[waiting], kind="stable")]
        domain, total = of[waiting], np.cumsum(gain[waiting])
        earlier = (total - gain[waiting])[np.searchsorted(domain, domain)]
        fits[waiting] = total - earlier <= room[one.rows][domain] + ROUNDING_W
    return fits


def beyond_w(snapshot: FleetSnapshot, target: Indices) -> Floats:
    """Return the W by which the plan `target` (S,) adds more below each limit than there is room for, (L,)."""
    power = snapshot.power
    if power is None or not power.limits:
        return np.zeros(0)
    beyond = joining_w(snapshot, target) - np.maximum(room_w(snapshot), 0.0)
    return np.asarray(np.where(beyond > ROUNDING_W, beyond, 0.0))


def above_w(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the W above each limit once all servers have `binding` (S,), (L,). It is 0 in a part of a region."""
    power = snapshot.power
    if power is None or not power.limits or power.part is not None:
        return np.zeros(0)
    above = by_limit(snapshot, drawn_w(snapshot, binding >= 0)) - allowed_w(power)
    return np.asarray(np.where(above > ROUNDING_W, above, 0.0))


def tight_kinds(snapshot: FleetSnapshot, *, above: bool = False) -> Iterator[FedKind]:
    """Yield the limits that plans could break, kind by kind: those without room for all of their servers.

    above   only the limits that are exceeded already
    """
    every = list(fed_kinds(snapshot))
    if not every:
        return
    most, room = by_limit(snapshot, np.where(snapshot.servers.lasting, gains_w(snapshot), 0.0)), room_w(snapshot)
    for one in every:
        chosen = np.flatnonzero(room[one.rows] < (0.0 if above else most[one.rows]))
        if len(chosen):
            number = np.full(len(one.rows) + 1, UNPLACED, np.int32)
            number[chosen] = np.arange(len(chosen))
            yield FedKind(kind=one.kind, rows=one.rows[chosen], names=one.names[chosen], of=number[one.of])


def power_keys(snapshot: FleetSnapshot) -> Iterator[Ints]:
    """Yield the keys (S,), 0 and above, by which limits and balance tell servers apart; none without either."""
    kinds, power = list(tight_kinds(snapshot)), snapshot.power
    if kinds:
        yield np.unique(gains_w(snapshot), return_inverse=True)[1]
    if power is not None and (kinds or snapshot.policy.power_balance_cost > 0):
        yield np.unique(power.gain_w, return_inverse=True)[1][snapshot.servers.hardware_type]
    for one in kinds:
        if one.kind != MSB_KIND:  # places tell MSBs apart already
            yield one.of.astype(np.int64) + 1

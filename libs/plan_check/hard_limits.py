"""Check the hard limits of reservations: the allowed datacenters, and the limits per kind of domain.

The definitions are here, and use no solver. See docs/designs/0029-hard-limits.md and 0054-domain-limits.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.domain_limits import MSB
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import LimitedKind, limited_kinds
from libs.domain.violation import Violation
from libs.domain.words import counted
from libs.plan_check.power_limits import above_limits_kw
from libs.plan_check.regression import by_place

_ROUNDING = 1e-6


def outside(snapshot: FleetSnapshot, binding: Indices) -> Bools:
    """Return a (S,) mask of the servers bound to a reservation that does not allow their datacenter."""
    allowed = np.append(snapshot.reservations.allowed, np.ones((1, len(snapshot.topology.datacenters)), bool), axis=0)
    return np.asarray(~allowed[np.maximum(binding, -1), snapshot.server_datacenter])


def above_share(snapshot: FleetSnapshot, kind: LimitedKind, binding: Indices) -> Floats:
    """Return the (R, N) RRU of each reservation in each domain of a kind above the most that its limits allow."""
    load = by_place(snapshot, binding, kind.of, len(kind.domains))
    return np.asarray(np.maximum(load - kind.rru_max[:, None], 0.0))


def servers_by_domain(snapshot: FleetSnapshot, kind: LimitedKind, binding: Indices) -> Ints:
    """Return the (R, N) servers of each reservation in each domain of a kind, of those that plans may count on."""
    R, N = len(snapshot.reservations), len(kind.domains)
    rows = np.flatnonzero((binding >= 0) & snapshot.servers.lasting)
    place = binding[rows].astype(np.int64) * N + kind.of[rows]
    return np.bincount(place, minlength=R * N).reshape(R, N)


def beyond_domains(held: Ints, placed: int, most: Floats) -> Ints:
    """Return the (R,) servers that are not in the `most` (R,) domains of a reservation with most of its servers.

    held    (R, N) servers by domain; those from the column `placed` on have no place, and count as outside
    """
    fullest = -np.sort(-held[:, :placed], axis=1)
    inside = np.where(np.arange(placed) < most[:, None], fullest, 0).sum(1)
    return np.asarray(np.where(np.isfinite(most), held.sum(1) - inside, 0), np.int64)


def excess_by_kind(snapshot: FleetSnapshot, kind: LimitedKind, binding: Indices) -> Floats:
    """Return by how much each reservation breaks its limits for a kind, (R,): RRU above a share, servers above the most
    in one domain, and servers beyond the most domains.
    """
    held = servers_by_domain(snapshot, kind, binding)
    crowd = np.maximum(held - kind.servers_max[:, None], 0.0).sum(1)
    beyond = beyond_domains(held, kind.placed, kind.domains_max)
    return np.asarray(above_share(snapshot, kind, binding).sum(1) + crowd + beyond)


def excess(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return by how much `binding` breaks hard limits: servers outside, the excess of each kind in cost units, and kW
    above limits.

    Servers that plans may not count on do not count.
    """
    servers = outside(snapshot, binding) & snapshot.servers.lasting
    priced = snapshot.in_cost_units()
    above = sum(float(excess_by_kind(priced, kind, binding).sum()) for kind in limited_kinds(priced))
    return float(servers.sum()) + above + above_limits_kw(snapshot, binding)


def check_hard_limits(snapshot: FleetSnapshot, target: Indices) -> list[Violation]:
    """Return a violation for each server that the plan binds outside the allowed datacenters.

    Return one also for each domain in which a reservation comes further above its share or number of servers. Return
    one for each reservation with more servers beyond its most domains. A binding that breaks a limit already may stay.
    """
    new = (target >= 0) & (target != snapshot.servers.target)
    found = [*_outside(snapshot, target, new)]
    for kind in limited_kinds(snapshot):
        found += [*_above(snapshot, kind, target), *_crowded(snapshot, kind, target)]
    return found


def _outside(snapshot: FleetSnapshot, target: Indices, new: Bools) -> Iterator[Violation]:
    for row in np.flatnonzero(new & outside(snapshot, target)):
        server, reservation = str(snapshot.servers.name[row]), str(snapshot.reservations.name[target[row]])
        datacenter = snapshot.topology.datacenters[snapshot.server_datacenter[row]]
        message = f"{server} may not be bound to {reservation}: {datacenter} is not among its datacenters"
        yield Violation(reason="DatacenterNotAllowed", message=message, server=server, reservation=reservation)


def _above(snapshot: FleetSnapshot, kind: LimitedKind, target: Indices) -> Iterator[Violation]:
    q = snapshot.reservations
    if not np.isfinite(kind.rru_max).any():
        return
    before, after = (above_share(snapshot, kind, binding) for binding in (snapshot.servers.target, target))
    reason, limit = ("MsbShareExceeded", "msb_share_max") if kind.kind == MSB else ("DomainShareExceeded", "share_max")
    for r, n in np.argwhere(after > before + _ROUNDING * np.maximum(1.0, q.capacity_rru[:, None])):
        load = after[r, n] + kind.rru_max[r]
        yield Violation(
            reason=reason,
            message=f"{q.name[r]} would have {load:.6g} RRU in {kind.domains[n]}, and {limit} allows "
            f"{kind.rru_max[r]:.6g}",
            reservation=str(q.name[r]),
        )


def _crowded(snapshot: FleetSnapshot, kind: LimitedKind, target: Indices) -> Iterator[Violation]:
    q = snapshot.reservations
    before, after = (servers_by_domain(snapshot, kind, binding) for binding in (snapshot.servers.target, target))
    for r, n in np.argwhere(after > np.maximum(before, kind.servers_max[:, None])):
        yield Violation(
            reason="DomainServersExceeded",
            message=f"{q.name[r]} would have {counted(int(after[r, n]), 'server')} in {kind.domains[n]}, and "
            f"servers_max allows {kind.servers_max[r]:g}",
            reservation=str(q.name[r]),
        )
    had, has = (beyond_domains(held, kind.placed, kind.domains_max) for held in (before, after))
    for r in np.flatnonzero(has > had):
        yield Violation(
            reason="TooManyDomains",
            message=f"{q.name[r]} would have {counted(int(has[r]), 'server')} outside of its fullest domains of "
            f"the kind {kind.kind} instead of {had[r]}, and domains_max allows {kind.domains_max[r]:g}",
            reservation=str(q.name[r]),
        )

"""Tell which free servers could lower the shortage of a reservation. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Indices
from libs.domain.domain_kind import WorstDomain
from libs.domain.fleet import FleetSnapshot
from libs.ras.hard_limits import has_limits, may_join


@dataclass(frozen=True, slots=True)
class Helpful:
    """The free servers of which each could lower a shortage by itself, as far as rules bar none of them.

    servers        number of them
    beyond_shares  number of further ones that would cost more in datacenter shares than they would mend
    """

    servers: int
    beyond_shares: int


def helpful_servers(
    snapshot: FleetSnapshot,
    binding: Indices,
    reservation: int,
    *,
    free: Bools,
    short_rru: float,
    worst: WorstDomain | None,
    resource: str | None,
) -> Helpful:
    """Count the free servers that could lower the shortage of the reservation in row `reservation`.

    binding    (S,) row of the reservation of each server; negative: none
    free       (S,) servers that could be bound to a reservation
    short_rru  the RRU that it lacks
    worst      the domain whose loss takes most from it: more servers there would not help. None: there is none
    resource   the resource of which it lacks the largest share; None: the RRU themselves
    """
    servers, q = snapshot.servers, snapshot.reservations
    scarce = next(one for one in snapshot.measures_of(reservation) if one.resource == resource)
    helps = free & (scarce.share_rru(q.rru[[reservation]])[0, servers.hardware_type] > 0)
    if worst is not None and resource is None:
        for loss in snapshot.losses:  # without this kind if it was asked for since
            if loss.kind == worst.kind:
                helps &= loss.domains[loss.of] != worst.domain
    rows = np.flatnonzero(helps)
    if has_limits(snapshot, reservation):
        rows = rows[may_join(snapshot, binding, reservation, rows, q.rru[reservation, servers.hardware_type[rows]])]
    beyond = int(_beyond_shares(snapshot, binding, reservation, rows, short_rru).sum())
    return Helpful(len(rows) - beyond, beyond)


def _beyond_shares(
    snapshot: FleetSnapshot, binding: Indices, r: int, rows: NDArray[np.intp], short_rru: float
) -> Bools:
    """Return whether each server of `rows` (N,) would cost reservation `r` more by its datacenter shares than it would
    mend, at the prices of penalties.
    """
    q, policy, datacenter = snapshot.reservations, snapshot.policy, snapshot.server_datacenter
    mine = np.flatnonzero((binding == r) & snapshot.servers.lasting)
    held = np.bincount(
        datacenter[mine], q.rru[r, snapshot.servers.hardware_type[mine]], len(snapshot.topology.datacenters)
    )[datacenter[rows]]
    rru = q.rru[r, snapshot.servers.hardware_type[rows]]
    wanted = q.affinity_share[r, datacenter[rows]] * q.capacity_rru[r]  # NaN where it names no share
    within = policy.affinity_tolerance * q.capacity_rru[r]
    added = np.maximum(np.abs(held + rru - wanted) - within, 0.0) - np.maximum(np.abs(held - wanted) - within, 0.0)
    return np.asarray(policy.affinity_cost * added > policy.shortfall_cost * np.minimum(rru, short_rru))

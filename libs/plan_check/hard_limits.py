"""Check the hard limits of reservations: the share of capacity in one MSB, and the allowed datacenters.

The definitions are here, and use no solver. See docs/designs/0029-hard-limits.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.violation import Violation
from libs.plan_check.regression import by_place

_ROUNDING = 1e-6


def outside(snapshot: FleetSnapshot, binding: Indices) -> Bools:
    """Return a (S,) mask of the servers bound to a reservation that does not allow their datacenter."""
    allowed = np.append(snapshot.reservations.allowed, np.ones((1, len(snapshot.topology.datacenters)), bool), axis=0)
    return np.asarray(~allowed[np.maximum(binding, -1), snapshot.server_datacenter])


def above_msb_share(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the (R, M) RRU of each reservation in each MSB above `msb_share_max` of its capacity."""
    load = by_place(snapshot, binding, snapshot.server_msb, len(snapshot.topology.msbs))
    return np.asarray(np.maximum(load - snapshot.reservations.msb_limit_rru[:, None], 0.0))


def excess(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return by how much `binding` breaks hard limits: servers outside, and cost units above a share.

    Servers that plans may not count on do not count.
    """
    servers = outside(snapshot, binding) & snapshot.servers.lasting
    return float(servers.sum()) + float(above_msb_share(snapshot.in_cost_units(), binding).sum())


def check_hard_limits(snapshot: FleetSnapshot, target: Indices) -> list[Violation]:
    """Return a violation for each server that the plan binds outside the allowed datacenters.

    Return one also for each MSB in which a reservation comes further above its share. A binding that breaks a limit
    already may stay.
    """
    new = (target >= 0) & (target != snapshot.servers.target)
    return [*_outside(snapshot, target, new), *_above(snapshot, target)]


def _outside(snapshot: FleetSnapshot, target: Indices, new: Bools) -> Iterator[Violation]:
    for row in np.flatnonzero(new & outside(snapshot, target)):
        server, reservation = str(snapshot.servers.name[row]), str(snapshot.reservations.name[target[row]])
        datacenter = snapshot.topology.datacenters[snapshot.server_datacenter[row]]
        message = f"{server} may not be bound to {reservation}: {datacenter} is not among its datacenters"
        yield Violation(reason="DatacenterNotAllowed", message=message, server=server, reservation=reservation)


def _above(snapshot: FleetSnapshot, target: Indices) -> Iterator[Violation]:
    q = snapshot.reservations
    if not np.isfinite(q.msb_share_max).any():
        return
    before, after = (above_msb_share(snapshot, binding) for binding in (snapshot.servers.target, target))
    for r, m in np.argwhere(after > before + _ROUNDING * np.maximum(1.0, q.capacity_rru[:, None])):
        load = after[r, m] + q.msb_limit_rru[r]
        yield Violation(
            reason="MsbShareExceeded",
            message=f"{q.name[r]} would have {load:.6g} RRU in {snapshot.topology.msbs[m]}, and msb_share_max allows "
            f"{q.msb_limit_rru[r]:.6g}",
            reservation=str(q.name[r]),
        )

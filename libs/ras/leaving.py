"""When a reservation lets go of servers that are to be retired."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, Indices
from libs.ras.evaluate import coverage_of

_ROUNDING = 1e-9


def give_up_leaving(snapshot: FleetSnapshot, target: Indices) -> Indices:
    """(S,) the targets, without the leaving servers of each reservation that is covered without them already.

        r gives them up  where  shortfall_r(y) <= 0,   y[s] = target[s] where current[s] = target[s], else FREE

    Covered by servers that are there, and not by such as are on their way: so what a reservation has never dips. One
    solve finds the servers that take over, a later one gives up those that leave. docs/adr/0013.
    """
    servers = snapshot.servers
    leaving = servers.leaving & (target >= 0)
    if not leaving.any():
        return target
    there = np.where(servers.current == target, target, FREE)
    capacity = snapshot.reservations.capacity_rru
    covered = coverage_of(snapshot, there).shortfall <= _ROUNDING * np.maximum(capacity, 1.0)
    return np.where(leaving & covered[target], FREE, target).astype(np.int32)

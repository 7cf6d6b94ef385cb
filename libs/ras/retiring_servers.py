"""When a reservation lets go of servers that are to be retired."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import coverage_of

_ROUNDING_RRU = 1e-7
"""Less than plan_check tolerates: what this gives up, that lets pass."""


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
    covered = coverage_of(snapshot, there).shortfall <= _ROUNDING_RRU
    return np.where(leaving & covered[target], FREE, target).astype(np.int32)

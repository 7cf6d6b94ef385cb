"""Release leaving servers from their reservations. A leaving server is announced for retirement."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import coverage_of

_ROUNDING_RRU = 1e-7
"""Tighter than the tolerance of plan_check, so that the checker accepts every release."""


def give_up_leaving(snapshot: FleetSnapshot, target: Indices) -> Indices:
    """Return the targets (S,) after each reservation that is covered without its leaving servers has released them.

        r releases its leaving servers  if  shortfall_r(y) <= 0,
        y[s] = target[s] if current[s] = target[s], else FREE

    Only servers that are present already count, and no servers on their way. So the capacity of a reservation never
    dips. One solve finds the successors of leaving servers, and a later solve releases the leaving servers.
    docs/adr/0013.
    """
    servers = snapshot.servers
    leaving = servers.leaving & (target >= 0)
    if not leaving.any():
        return target
    there = np.where(servers.current == target, target, FREE)
    covered = coverage_of(snapshot, there).shortfall <= _ROUNDING_RRU
    return np.where(leaving & covered[target], FREE, target).astype(np.int32)

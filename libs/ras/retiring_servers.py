"""Release servers announced for retirement from their reservations."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import coverage_of

_ROUNDING_RRU = 1e-7
"""Tighter than the tolerance of plan_check, so that the checker accepts every release."""


def give_up_leaving(snapshot: FleetSnapshot, target: Indices) -> Indices:
    """Return the targets (S,) without the leaving servers of each reservation that is covered without them.

        r gives them up  if  shortfall_r(y) <= 0,   y[s] = target[s] if current[s] = target[s], else FREE

    Only present servers count, not those on their way, so a reservation's capacity never dips. One solve finds the
    successors, and a later one releases the leaving servers. docs/adr/0013.
    """
    servers = snapshot.servers
    leaving = servers.leaving & (target >= 0)
    if not leaving.any():
        return target
    there = np.where(servers.current == target, target, FREE)
    covered = coverage_of(snapshot, there).shortfall <= _ROUNDING_RRU
    return np.where(leaving & covered[target], FREE, target).astype(np.int32)

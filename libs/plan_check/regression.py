"""No reservation may be left worse off than it is, unless there is a reason that one can name."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import FleetSnapshot, Floats, Indices
from libs.domain.violation import Violation

TOLERANCE_RRU = 1e-6


def surviving_rru(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """(R,) RRU that a reservation has available, less its largest MSB where it must survive one (RAS, expression 6)."""
    q, M = snapshot.reservations, len(snapshot.topology.msbs)
    rows = np.flatnonzero((binding >= 0) & snapshot.servers.available)
    value = q.rru[binding[rows], snapshot.servers.hardware_type[rows]]
    by_msb = np.bincount(binding[rows] * M + snapshot.server_msb[rows], value, len(q) * M).reshape(len(q), M)
    return np.asarray(by_msb.sum(1) - np.where(q.survives_msb_loss, by_msb.max(1, initial=0.0), 0.0))


def check_regression(snapshot: FleetSnapshot, target: Indices) -> list[Violation]:
    """Reservations whose shortfall grows although no other's falls by as much.

    Constraints that are met, or broken, may not regress (RAS, 3.5.1): capacity may leave a reservation that needs it only
    for one that lacks more. In all, the shortfall may not grow; where it does, each reservation that lost is named.
    """
    q = snapshot.reservations
    before = np.maximum(q.capacity_rru - surviving_rru(snapshot, snapshot.servers.target), 0.0)
    after = np.maximum(q.capacity_rru - surviving_rru(snapshot, target), 0.0)
    grown = after - before
    if grown.sum() <= TOLERANCE_RRU * max(1.0, float(before.sum())):
        return []
    return [
        Violation(
            reason="ShortfallGrows",
            message=f"{q.name[r]} would be short of {after[r]:.6g} RRU instead of {before[r]:.6g}, and no other reservation gains as much",
            reservation=str(q.name[r]),
        )
        for r in np.flatnonzero(grown > TOLERANCE_RRU)
    ]

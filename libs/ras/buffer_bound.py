"""Compare the embedded buffers of a plan with the least that any plan needs."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FleetSnapshot
from libs.ras.eligible_rru import eligible_by_msb, least_held
from libs.ras.evaluate import coverage_of


def embedded_buffers(snapshot: FleetSnapshot, target: Indices) -> dict[str, float]:
    """Return the RRU of the embedded buffers for the loss of an MSB, and the least that they could be.

        embedded_rru        sum_r max_m held[r,m]
        least_embedded_rru  sum_r (least held so that capacity[r] survives, if there were no other reservations) -
                            capacity[r]

    Both sums are over the reservations that survive the loss of an MSB and are whole under `target` (S,). No plan in
    which these are whole has less.
    """
    q, covered = snapshot.reservations, coverage_of(snapshot, target)
    whole = q.survives_msb_loss & (covered.surviving >= q.enough_rru)
    rows = np.flatnonzero(whole).astype(np.int32)
    by_msb = eligible_by_msb(snapshot, rows)
    least = [least_held(by_msb[k], float(q.capacity_rru[r])) - float(q.capacity_rru[r]) for k, r in enumerate(rows)]
    embedded = covered.worst_msb[rows]
    # A reservation that breaks a hard limit on the share of an MSB may hold less than the limit lets it.
    return {"embedded_rru": float(embedded.sum()), "least_embedded_rru": float(np.minimum(least, embedded).sum())}

"""Compute the largest capacity that a region could cover for one reservation now, without taking servers of others."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import FleetSnapshot
from libs.ras.eligible_rru import surviving
from libs.ras.single_reservation import own_and_free


def coverable_rru(snapshot: FleetSnapshot, reservation: int) -> float | None:
    """Return the largest capacity, in RRU, that admission would cover with the reservation's own and the free servers.

    It is the RRU of all these servers, less the MSB with most of them if the reservation survives the loss of an MSB:
    one more server never lowers what survives. None where that is not so: the reservation has shares of datacenters, a
    hard limit on the share of an MSB, or survives the loss of a further kind of domain.
    """
    q, servers, topology = snapshot.reservations, snapshot.servers, snapshot.topology
    shaped = np.isfinite(q.msb_limit_rru[reservation]) or not np.isnan(q.affinity_share[reservation]).all()
    if shaped or q.survives_loss_of[reservation].any():
        return None
    rows = own_and_free(snapshot, reservation)
    rows = rows[servers.lasting[rows] & q.allowed[reservation, snapshot.server_datacenter[rows]]]
    value = q.rru[reservation, servers.hardware_type[rows]]
    by_msb = np.bincount(snapshot.server_msb[rows], value, len(topology.msbs)).astype(np.float64, copy=False)
    return float(surviving(by_msb[None, :], q.survives_msb_loss[[reservation]])[0])

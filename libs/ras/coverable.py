"""Compute the largest capacity that a region could cover for one reservation now, without taking servers of others."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import FleetSnapshot
from libs.ras.power_relief import has_power_limits
from libs.ras.single_reservation import own_and_free


def coverable_rru(snapshot: FleetSnapshot, reservation: int) -> float | None:
    """Return the largest capacity, in RRU, that admission would cover with the reservation's own and the free servers.

    It is the RRU of all these servers, less the domain with most of them of the kinds whose loss the reservation
    survives: one more server never lowers what survives. None where that is not so: the reservation has shares of
    datacenters, hard limits per kind of domain, or resources. None also if a limit on power has no room for all
    servers.
    """
    q, servers = snapshot.reservations, snapshot.servers
    limited = bool(np.isfinite(q.msb_limit_rru[reservation]) or q.limits_domains[reservation])
    limited |= bool(q.asks_resources[reservation])
    if limited or not np.isnan(q.affinity_share[reservation]).all():
        return None
    if has_power_limits(snapshot):
        return None
    rows = own_and_free(snapshot, reservation)
    rows = rows[servers.lasting[rows] & q.allowed[reservation, snapshot.server_datacenter[rows]]]
    value = q.rru[reservation, servers.hardware_type[rows]]
    survived = [loss for loss in snapshot.losses if loss.survives[reservation]]
    lost = [np.bincount(loss.of[rows], value, len(loss.domains)).max(initial=0.0) for loss in survived]
    return float(value.sum() - max(lost, default=0.0))

"""Compute the RRU that a region could give reservations if there were no others. Arrays only, without a solver."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints
from libs.domain.domain_kind import DomainLoss
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING

_SUMS_MAX = 10_000
"""Most sums of whole servers that are tried for one MSB. One hardware type needs one per server."""


def eligible_by_msb(snapshot: FleetSnapshot, rows: Indices) -> Floats:
    """Return the RRU in each MSB of the servers that each reservation of `rows` (N,) may use, up to its hard limits.

    The result is (N, M). Servers that are down count, because an outage must not cause a refusal. Servers to be retired
    do not count. Within a limit on the share of an MSB, whole servers count.
    """
    servers, q, topology = snapshot.servers, snapshot.reservations, snapshot.topology
    M, T = len(topology.msbs), len(snapshot.hardware_types)
    staying = np.flatnonzero(~servers.leaving)
    cell = snapshot.server_msb[staying].astype(np.int64) * T + servers.hardware_type[staying]
    stock = np.bincount(cell, minlength=M * T).reshape(M, T)
    by_msb = (q.rru[rows] @ stock.T) * q.allowed[rows][:, topology.msb_datacenter]
    limit = q.msb_limit_rru[rows]
    for k, m in np.argwhere(by_msb > limit[:, None]).tolist():
        by_msb[k, m] = most_within(float(limit[k]), q.rru[rows[k]], stock[m])
    return by_msb


def most_within(limit: float, value: Floats, stock: Ints) -> float:
    """Return the most RRU of whole servers within `limit`: max sum_t n[t] value[t] <= limit, 0 <= n <= stock.

    value  (T,) RRU of one server of each type; stock  (T,) servers of each type

    It is exact up to _SUMS_MAX sums of servers. Beyond, it is the limit, which is never below the most.
    """
    sums = np.zeros(1)
    for t in np.flatnonzero((value > 0) & (stock > 0)):
        most = min(int(stock[t]), int(limit / value[t] * (1 + ROUNDING)))
        if len(sums) * (most + 1) > _SUMS_MAX:
            return limit
        sums = np.add.outer(sums, value[t] * np.arange(most + 1)).ravel()
        sums = np.unique(sums[sums <= limit * (1 + ROUNDING)])
    return float(min(sums.max(), limit))


def surviving(by_msb: Floats, survives: Bools) -> Floats:
    """Return the RRU (N,) that is left of `by_msb` (N, M), without the largest MSB where a reservation survives its
    loss.
    """
    return np.asarray(by_msb.sum(1) - np.where(survives, by_msb.max(1, initial=0.0), 0.0))


def eligible_by_domain(snapshot: FleetSnapshot, rows: Indices, loss: DomainLoss) -> Floats:
    """Return the RRU (N, domains) in each domain of one kind, for reservations `rows` (N,). See `eligible_by_msb`.

    The hard limit on the share of an MSB does not count here.
    """
    servers, q, topology = snapshot.servers, snapshot.reservations, snapshot.topology
    staying = np.flatnonzero(~servers.leaving)
    D, T = len(topology.datacenters), len(snapshot.hardware_types)
    cell = (loss.of[staying].astype(np.int64) * D + snapshot.server_datacenter[staying]) * T
    cells, number = np.unique(cell + servers.hardware_type[staying], return_counts=True)
    place, kind = np.divmod(cells, T)
    domain, datacenter = np.divmod(place, D)
    value = q.rru[rows][:, kind] * q.allowed[rows][:, datacenter] * number
    found = np.zeros((len(rows), len(loss.domains)))
    np.add.at(found.T, domain, value.T)
    return found


def most_surviving(snapshot: FleetSnapshot, rows: Indices) -> Floats:
    """Return the most RRU (N,) that could be left to reservations `rows` (N,) after the worst loss that each must
    survive.

    One more server never lowers what is left after a loss. So a reservation would hold all servers, and each kind of
    loss bounds what is left. With a hard limit on the share of an MSB the true value may be lower.
    """
    most = surviving(eligible_by_msb(snapshot, rows), snapshot.reservations.survives_msb_loss[rows])
    for loss in snapshot.losses[1:]:
        named = np.flatnonzero(loss.survives[rows])
        load = eligible_by_domain(snapshot, rows[named], loss)
        most[named] = np.minimum(most[named], load.sum(1) - load.max(1, initial=0.0))
    return most


def least_held(by_msb: Floats, capacity: float) -> float:
    """Return the least sum_m x[m] with x <= by_msb and sum_m x[m] - max_m x[m] >= capacity; inf if there is no such x.

    by_msb  (M,) RRU

    The best x is the most even one. With w RRU in the largest MSB, sum_m min(by_msb[m], w) - w RRU survive. That
    amount rises with w until only one MSB has more than w.
    """
    level = np.sort(by_msb)
    below = np.append(0.0, np.cumsum(level))[:-1]  # (M,) in MSBs with less than level[m]
    others = np.arange(len(level))[::-1]  # (M,) MSBs with at least level[m], less the one that may fail
    enough = np.flatnonzero(below + others * level >= capacity - 1e-9)
    if not len(enough) or others[enough[0]] == 0:
        return float("inf")
    first = enough[0]
    return capacity + float((capacity - below[first]) / others[first])

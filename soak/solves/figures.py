"""Figures of one plan, straight from the definitions: what reservations hold, where, and what moves. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.reservation import ROUNDING
from libs.ras.eligible_rru import eligible_by_msb, least_held
from libs.ras.evaluate import Coverage, coverage_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The places where reservations hold their capacity. A figure without anything to count is nan.

    largest_msb_share   share of what a reservation holds that is in its largest MSB; the mean over the reservations
                        that survive the loss of an MSB and hold anything (RAS, figure 12)
    outside_affinity    share of what reservations with datacenter shares hold that is outside these shares: the traffic
                        that crosses datacenters, if each server speaks to what its reservation's shares name (RAS,
                        figure 15)
    servers_variation   standard deviation over mean of the servers in reservations, over MSBs. It stands in for the
                        variance of power (RAS, figure 14): servers do not have watts here
    broken              reservations that are short, or outside the bands of their datacenter shares
    """

    largest_msb_share: float
    outside_affinity: float
    servers_variation: float
    broken: int


def placement_of(snapshot: FleetSnapshot, binding: Indices) -> Placement:
    """Return the figures of `binding` (S,), the index of the reservation of each server."""
    q, covered = snapshot.reservations, coverage_of(snapshot, binding)
    held = covered.total > 0
    spread = held & q.survives_msb_loss
    wanted = np.nan_to_num(q.affinity_share, nan=0.0)
    drawn = held & (wanted.sum(1) > 0)
    by_msb = np.bincount(snapshot.server_msb[binding >= 0], minlength=len(snapshot.topology.msbs))
    return Placement(
        largest_msb_share=_mean(covered.worst_msb[spread] / covered.total[spread]),
        outside_affinity=_outside(snapshot, covered, wanted, np.flatnonzero(drawn)),
        servers_variation=float(by_msb.std() / by_msb.mean()) if by_msb.any() else float("nan"),
        broken=int(np.count_nonzero(_is_broken(snapshot, covered))),
    )


def least_msb_share(snapshot: FleetSnapshot) -> float:
    """Return the mean over reservations of the least share that their largest MSB could have, if each were alone.

    It counts the reservations that survive the loss of an MSB and that the region could cover; nan: there are none.
    """
    q = snapshot.reservations
    rows = np.flatnonzero(q.survives_msb_loss & (q.capacity_rru > 0)).astype(np.int32)
    by_msb, capacity = eligible_by_msb(snapshot, rows), q.capacity_rru[rows]
    least = np.array([least_held(by_msb[k], float(capacity[k])) for k in range(len(rows))])
    known = np.isfinite(least)
    return _mean((least[known] - capacity[known]) / least[known])


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """Servers whose target a plan changes. An idle one may come from a reservation or be free."""

    in_use: int
    idle: int


def moves_of(snapshot: FleetSnapshot, target: Indices) -> Moves:
    """Count the servers whose target in the snapshot differs from `target` (S,)."""
    s = snapshot.servers
    moved = (np.maximum(s.target, -1) != np.maximum(target, -1)) & s.available
    return Moves(in_use=int((moved & s.in_use).sum()), idle=int((moved & ~s.in_use).sum()))


def _outside(snapshot: FleetSnapshot, covered: Coverage, wanted: Floats, rows: Indices | np.ndarray) -> float:
    """Return the share of what the reservations `rows` hold that is outside their datacenter shares `wanted` (R, D)."""
    topology = snapshot.topology
    by_datacenter = np.zeros((len(topology.datacenters), len(covered.total)))
    np.add.at(by_datacenter, topology.msb_datacenter, covered.by_msb.T)
    held = by_datacenter.T[rows]
    share = wanted[rows] / wanted[rows].sum(1, keepdims=True)
    inside = np.minimum(held, share * held.sum(1, keepdims=True)).sum()
    return 1.0 - float(inside / held.sum()) if len(rows) else float("nan")


def _is_broken(snapshot: FleetSnapshot, covered: Coverage) -> np.ndarray:
    least = ROUNDING * np.maximum(snapshot.reservations.capacity_rru, 1.0)
    return np.asarray((covered.shortfall > least) | (covered.off_affinity.sum(1) > least))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")

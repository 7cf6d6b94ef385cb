"""Add up what servers send over the uplinks of their racks (docs/designs/0063-rack-uplinks.md). Source: RAS, 3.5.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.fleet import FleetSnapshot

UPLINKS_MAX = 100_000
"""Most racks of one region with a limit."""
UPLINK_GBIT_MAX = 1e6
"""The largest limit of a rack that the API and files accept, in Gbit/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackTraffic:
    """The traffic of one rack by current bindings and by targets, beside the limit of its uplink."""

    rack: str
    limit_gbit: float
    current_gbit: float
    target_gbit: float

    @property
    def current_above_gbit(self) -> float:
        """Return the Gbit/s above the limit now."""
        return max(self.current_gbit - self.limit_gbit, 0.0)

    @property
    def target_above_gbit(self) -> float:
        """Return the Gbit/s above the limit once all servers are where plans want them."""
        return max(self.target_gbit - self.limit_gbit, 0.0)


def weighs_uplinks(snapshot: FleetSnapshot) -> bool:
    """Return whether uplinks can cost anything: some rack has a limit, some reservation sends, and there is a price."""
    limits = snapshot.uplinks
    stated = limits is not None and bool(np.isfinite(limits).any()) and snapshot.policy.uplink_cost > 0
    return stated and bool((snapshot.reservations.gbit_per_rru > 0).any())


def gbit_each(snapshot: FleetSnapshot) -> Floats:
    """Return the Gbit/s that one server of each type sends in each reservation, (R, T)."""
    q = snapshot.reservations
    return q.gbit_per_rru[:, None] * q.rru


def sent_gbit(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the Gbit/s that each server sends by `binding` (S,), (S,).

    Servers that plans may not count on send nothing: those that are down, and those that leave the region.
    """
    servers = snapshot.servers
    sent = np.zeros(len(servers))
    rows = np.flatnonzero((binding >= 0) & servers.lasting)
    sent[rows] = gbit_each(snapshot)[binding[rows], servers.hardware_type[rows]]
    return sent


def by_rack(snapshot: FleetSnapshot, each: Floats) -> Floats:
    """Return the sum of `each` (S,) over the servers of each rack, (K,)."""
    racks = len(snapshot.topology.racks)
    return np.bincount(snapshot.servers.rack, each, racks).astype(np.float64, copy=False)


def above_gbit(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the Gbit/s of each rack above its limit, (K,)."""
    used = by_rack(snapshot, sent_gbit(snapshot, binding))
    return np.zeros(len(used)) if snapshot.uplinks is None else np.maximum(used - snapshot.uplinks, 0.0)


def uplinks_cost(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return the cost of `binding` (S,) for the Gbit/s of racks above their limits."""
    if not weighs_uplinks(snapshot):
        return 0.0
    return float(snapshot.policy.uplink_cost * above_gbit(snapshot, binding).sum())


def share_above(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the Gbit/s above the limits of racks for which each reservation stands, (R,).

    Reservations divide the excess of a rack by what they send there.
    """
    sent = sent_gbit(snapshot, binding)
    used, above = by_rack(snapshot, sent), above_gbit(snapshot, binding)
    share = np.divide(above, used, out=np.zeros(len(used)), where=used > 0)
    rows = np.flatnonzero(sent > 0)
    each = sent[rows] * share[snapshot.servers.rack[rows]]
    return np.bincount(binding[rows], each, len(snapshot.reservations)).astype(np.float64, copy=False)


def left_to(snapshot: FleetSnapshot, here: Bools, binding: Indices) -> Floats | None:
    """Return the Gbit/s that the servers `here` (S,) may send in each rack, (K,), while the others keep `binding` (S,).

    It is 0 where the others send more than the limit. So what servers send costs as much as in the whole region, less
    what the others cost alone. None: no rack has a limit.
    """
    if snapshot.uplinks is None:
        return None
    others = by_rack(snapshot, np.where(here, 0.0, sent_gbit(snapshot, binding)))
    return np.maximum(snapshot.uplinks - others, 0.0)

"""Weigh how evenly the MSBs of a region draw power (docs/designs/0055-power.md). Source: RAS, 4.4 and figure 14."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.power import PowerPart
from libs.domain.power_use import drawn_w, room_w

STEPS = np.arange(-0.08, 0.081, 0.02)
"""Levels of the price, beside the even share: shares of the W of all servers of an MSB in full."""
W_PER_KW = 1000.0


def msb_w(snapshot: FleetSnapshot, binding: Indices) -> Floats:
    """Return the W that each MSB draws once all servers have `binding` (S,), (M,)."""
    part = None if snapshot.power is None else snapshot.power.part
    drawn = _by_msb(snapshot, drawn_w(snapshot, binding >= 0))
    return drawn if part is None else drawn + part.msb_w


def msb_all_w(snapshot: FleetSnapshot) -> Floats:
    """Return the W that each MSB would draw with all servers in full, (M,)."""
    part = None if snapshot.power is None else snapshot.power.part
    whole = _by_msb(snapshot, drawn_w(snapshot, np.ones(len(snapshot.servers), bool)))
    return whole if part is None else whole + part.msb_all_w


def levels_w(snapshot: FleetSnapshot) -> Floats:
    """Return the W of each MSB above which each step of the price applies, (K, M)."""
    return np.outer(np.clip(even_share(snapshot) + STEPS, 0.0, 1.0), msb_all_w(snapshot))


def balance_cost(snapshot: FleetSnapshot, binding: Indices) -> float:
    """Return the cost of `binding` (S,) for the kW of MSBs above the levels: a step of the price for each level."""
    price = snapshot.policy.power_balance_cost
    if snapshot.power is None or price <= 0:
        return 0.0
    above = np.maximum(msb_w(snapshot, binding) - levels_w(snapshot), 0.0)
    return float(price / len(STEPS) * above.sum() / W_PER_KW)


def even_share(snapshot: FleetSnapshot) -> float:
    """Return the share of the W of all servers in full that the region draws if every reservation has its capacity.

    It is an estimate from the capacities, with an embedded buffer of one MSB of M. A RRU counts the mean W of the
    servers that the reservation may use. It depends on no plan, so all plans are weighed alike.
    """
    power, q, servers = snapshot.power, snapshot.reservations, snapshot.servers
    if power is None:
        return 0.0
    if power.part is not None:
        return power.part.even
    stock = np.bincount(servers.hardware_type, minlength=len(power.full_w))
    all_w, idle_w = float(stock @ power.full_w), float(stock @ power.idle_w)
    rru, gain = q.rru @ stock, (q.rru > 0) @ (stock * power.gain_w)
    msbs = len(snapshot.topology.msbs)
    held = q.capacity_rru * np.where(q.survives_msb_loss & (msbs > 1), msbs / max(msbs - 1, 1), 1.0)
    asked_w = float((held * np.divide(gain, rru, out=np.zeros(len(q)), where=rru > 0)).sum())
    return min(idle_w + asked_w, all_w) / all_w if all_w > 0 else 0.0


def as_part(
    some: FleetSnapshot, whole: FleetSnapshot, here: Bools, binding: Indices, room: Floats | None = None
) -> FleetSnapshot:
    """Return the snapshot `some` as a part of the region `whole`, so that its limits and its balance are the region's.

    here     (S,)  the servers of `whole` that `some` has
    binding  (S,)  of the servers of `whole`, for those that `some` lacks
    room     (L,) W that new servers of `some` may add below each limit; None: the room of the whole
    """
    power = whole.power
    if power is None:
        return some
    other, known = ~here, power.part
    drawn, every = (
        _by_msb(whole, np.where(other, drawn_w(whole, bound), 0.0))
        for bound in (binding >= 0, np.ones(len(binding), bool))
    )
    rest = PowerPart(
        room_w=room_w(whole) if room is None else room,
        msb_w=drawn if known is None else drawn + known.msb_w,
        msb_all_w=every if known is None else every + known.msb_all_w,
        even=even_share(whole),
    )
    return replace(some, power=replace(power, part=rest))


def _by_msb(snapshot: FleetSnapshot, watts: Floats) -> Floats:
    return np.bincount(snapshot.server_msb, watts, len(snapshot.topology.msbs)).astype(np.float64, copy=False)

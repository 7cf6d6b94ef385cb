"""Say how the hard limits of a reservation stand in its way, and what would let it have its capacity. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from libs.domain.arrays import Bools
from libs.domain.fleet import FleetSnapshot
from libs.plan_check.hard_limits import above_msb_share, outside

Met = Callable[[FleetSnapshot], bool]
"""A function that returns whether a region could give the reservation its capacity."""
_STEPS = 40
_SHOWN = 1000
"""Shares and capacities are shown as whole multiples of 1 / _SHOWN, rounded to the side that works."""


def has_limits(snapshot: FleetSnapshot, r: int) -> bool:
    """Return whether reservation `r` has a hard limit."""
    q = snapshot.reservations
    return bool(np.isfinite(q.msb_share_max[r]) or not q.allowed[r].all())


def limits_in_words(snapshot: FleetSnapshot, r: int) -> str:
    """Return the hard limits of reservation `r` in words."""
    q, parts = snapshot.reservations, []
    if np.isfinite(q.msb_share_max[r]):
        parts.append(f"at most {q.msb_share_max[r]:.4g} of its capacity in one MSB (msb_share_max)")
    if not q.allowed[r].all():
        parts.append(f"only in {', '.join(snapshot.topology.datacenters[q.allowed[r]])} (datacenters)")
    return " and ".join(parts)


def without_limits(snapshot: FleetSnapshot, r: int, *, share: bool = True, places: bool = True) -> FleetSnapshot:
    """Return the snapshot without the limits of reservation `r` on the share of an MSB and on places."""
    q = snapshot.reservations
    if share:
        snapshot = with_share(snapshot, r, np.inf)
    if places:
        snapshot = with_places(snapshot, r, np.ones(q.allowed.shape[1], bool))
    return snapshot


def with_share(snapshot: FleetSnapshot, r: int, share: float) -> FleetSnapshot:
    """Return the snapshot in which reservation `r` has the hard limit `share` on the capacity in one MSB."""
    column = snapshot.reservations.msb_share_max.copy()
    column[r] = share
    return replace(snapshot, reservations=replace(snapshot.reservations, msb_share_max=column))


def with_places(snapshot: FleetSnapshot, r: int, allowed: Bools) -> FleetSnapshot:
    """Return the snapshot in which reservation `r` may be in the datacenters `allowed` (D,)."""
    column = snapshot.reservations.allowed.copy()
    column[r] = allowed
    return replace(snapshot, reservations=replace(snapshot.reservations, allowed=column))


def ways_out(snapshot: FleetSnapshot, r: int, met: Met) -> list[str]:
    """Return the smallest changes of reservation `r` with which it could have its capacity, each on its own.

    A way is one more datacenter, or all; a larger share of an MSB; both limits gone; or a smaller capacity. `met` must
    be true of `snapshot` without the hard limits of `r`.
    """
    q, ways = snapshot.reservations, []
    barred = np.flatnonzero(~q.allowed[r])
    if len(barred) and met(without_limits(snapshot, r, share=False)):
        enough = [
            d for d in barred if met(with_places(snapshot, r, q.allowed[r] | (np.arange(q.allowed.shape[1]) == d)))
        ]
        names = [str(snapshot.topology.datacenters[d]) for d in enough]
        ways.append(f"allow {' or '.join(names)} too" if names else "allow every datacenter")
    if np.isfinite(q.msb_share_max[r]) and met(without_limits(snapshot, r, places=False)):
        least = _least(float(q.msb_share_max[r]), 1.0, lambda share: met(with_share(snapshot, r, share)))
        share = np.ceil(least * _SHOWN) / _SHOWN
        ways.append(f"raise msb_share_max to {share:.4g}" if share <= 1 else "do without msb_share_max")
    if not ways:
        ways.append("do without both limits")
    asked = float(q.capacity_rru[r])
    cut = _least(0.0, 1.0, lambda by: met(_with_capacity(snapshot, r, asked * (1 - by))))
    most = np.floor(asked * (1 - cut) * _SHOWN) / _SHOWN
    if most > 0:
        ways.append(f"ask for at most {most:g} RRU")
    return ways


def broken(snapshot: FleetSnapshot, r: int, target: np.ndarray) -> tuple[int, float]:
    """Return the servers of reservation `r` that `target` (S,) leaves in other datacenters, and its RRU above the share
    of an MSB.
    """
    return int((outside(snapshot, target) & (target == r)).sum()), float(above_msb_share(snapshot, target)[r].sum())


def _with_capacity(snapshot: FleetSnapshot, r: int, capacity_rru: float) -> FleetSnapshot:
    column = snapshot.reservations.capacity_rru.copy()
    column[r] = capacity_rru
    return replace(snapshot, reservations=replace(snapshot.reservations, capacity_rru=column))


def _least(low: float, high: float, good: Callable[[float], bool]) -> float:
    """Return about the least number above `low` that is good, by bisection; inf if `high` is not. Good must stay good
    above.
    """
    if not good(high):
        return np.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high

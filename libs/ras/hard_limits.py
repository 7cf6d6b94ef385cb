"""Say how the hard limits of a reservation stand in its way, and what would let it have its capacity. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.domain_limits import HARD_LIMITS, LIMITS, limit_kinds
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import limited_kinds
from libs.plan_check.hard_limits import excess_by_kind, outside

Met = Callable[[FleetSnapshot], bool]
"""A function that returns whether a region could give the reservation its capacity."""
MSB_SHARE_MAX, DATACENTERS = "msb_share_max", "datacenters"
_TOLERANCE = 1e-9
SHOWN = 1000
"""Shares and capacities are shown as whole multiples of 1 / SHOWN, rounded to the side that works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardLimit:
    """One hard limit of a reservation.

    name    its field in a request, such as `msb_share_max` or `domains_max of network_block`
    words   what it says
    column  its place in `Reservations.domain_limits`: the kind and the limit; None: it is another field
    """

    name: str
    words: str
    column: tuple[int, int] | None = None


def limits_of(snapshot: FleetSnapshot, r: int) -> list[HardLimit]:
    """Return the hard limits of reservation `r`."""
    q, found = snapshot.reservations, []
    if not q.allowed[r].all():
        words = f"only in {', '.join(snapshot.topology.datacenters[q.allowed[r]])} (datacenters)"
        found.append(HardLimit(name=DATACENTERS, words=words))
    if np.isfinite(q.msb_share_max[r]):
        words = f"at most {q.msb_share_max[r]:.4g} of its capacity in one MSB (msb_share_max)"
        found.append(HardLimit(name=MSB_SHARE_MAX, words=words))
    kinds = limit_kinds(snapshot.topology.kinds)
    for k, n in np.argwhere(np.isfinite(q.domain_limits[r][:, : len(HARD_LIMITS)])).tolist():
        kind, value = kinds[k], q.domain_limits[r, k, n]
        words = _WORDS[LIMITS[n]].format(kind=kind, value=f"{value:.4g}", s="" if value == 1 else "s")
        found.append(HardLimit(name=f"{LIMITS[n]} of {kind}", words=f"{words} ({LIMITS[n]})", column=(k, n)))
    return found


_WORDS = {
    "domains_max": "in at most {value} domain{s} of the kind {kind}",
    "servers_max": "at most {value} server{s} in one {kind}",
    "share_max": "at most {value} of its capacity in one {kind}",
}


def has_limits(snapshot: FleetSnapshot, r: int) -> bool:
    """Return whether reservation `r` has a hard limit."""
    return bool(limits_of(snapshot, r))


def limits_in_words(snapshot: FleetSnapshot, r: int) -> str:
    """Return the hard limits of reservation `r` in words."""
    return " and ".join(limit.words for limit in limits_of(snapshot, r))


def without_limits(snapshot: FleetSnapshot, r: int, limits: Collection[HardLimit] | None = None) -> FleetSnapshot:
    """Return the snapshot without the hard limits `limits` of reservation `r`; None: without all of them."""
    for limit in limits_of(snapshot, r) if limits is None else limits:
        if limit.column is not None:
            snapshot = _with_limit(snapshot, r, limit.column, np.inf)
        elif limit.name == DATACENTERS:
            snapshot = with_places(snapshot, r, np.ones(len(snapshot.topology.datacenters), bool))
        else:
            snapshot = with_share(snapshot, r, np.inf)
    return snapshot


def with_share(snapshot: FleetSnapshot, r: int, share: float) -> FleetSnapshot:
    """Return the snapshot in which reservation `r` has the hard limit `share` on the capacity in one MSB."""
    return _with(snapshot, r, "msb_share_max", share)


def with_places(snapshot: FleetSnapshot, r: int, allowed: Bools) -> FleetSnapshot:
    """Return the snapshot in which reservation `r` may be in the datacenters `allowed` (D,)."""
    return _with(snapshot, r, "allowed", allowed)


def _with_limit(snapshot: FleetSnapshot, r: int, column: tuple[int, int], value: float) -> FleetSnapshot:
    table = snapshot.reservations.domain_limits[r].copy()
    table[column] = value
    return _with(snapshot, r, "domain_limits", table)


def _with(snapshot: FleetSnapshot, r: int, field: str, value: object) -> FleetSnapshot:
    column = getattr(snapshot.reservations, field).copy()
    column[r] = value
    return replace(snapshot, reservations=replace(snapshot.reservations, **{field: column}))


def ways_out(snapshot: FleetSnapshot, r: int, met: Met, *, at_most: float = np.inf) -> list[str]:
    """Return the smallest changes of reservation `r` with which it could have its capacity, each on its own.

    A way is one more datacenter, or all; a larger number or share of another limit; all limits gone; or a smaller
    capacity. `met` must be true of `snapshot` without the hard limits of `r`. It may take a program of whole numbers,
    so it is asked a few times for each way.

    at_most   as in `most_met`
    """
    ways = []
    for limit in limits_of(snapshot, r):
        if met(without_limits(snapshot, r, [limit])):
            ways.append(_way(snapshot, r, limit, met))
    if not ways:
        ways.append("do without these limits")
    most = most_met(snapshot, r, met, at_most=at_most)
    if most > 0:
        ways.append(f"ask for at most {most:.12g} RRU")
    return ways


def most_met(snapshot: FleetSnapshot, r: int, met: Met, *, at_most: float = np.inf) -> float:
    """Return the largest capacity of reservation `r`, in its RRU, that `met` says is possible; 0: none is. Resources
    stay as asked for.

    at_most   RRU that are known to be the most; it is tried first
    """
    q, servers = snapshot.reservations, snapshot.servers
    # All its servers give no more. Without this bound, a capacity of 1e12 RRU would take 50 steps.
    whole = float(q.rru[r, servers.hardware_type[~servers.leaving]].sum())
    asked = float(q.capacity_rru[r])
    high = int(np.floor(min(asked, whole, at_most) * SHOWN * (1 + _TOLERANCE)))

    def is_met(thousandths: int) -> bool:
        return met(_with(snapshot, r, "capacity_rru", thousandths / SHOWN))

    if high <= 0 or is_met(high):
        return max(high, 0) / SHOWN
    return (_first(0, high, lambda step: not is_met(step)) - 1) / SHOWN


def _way(snapshot: FleetSnapshot, r: int, limit: HardLimit, met: Met) -> str:
    """Return the smallest change of one hard limit that is enough. The reservation could be met without the limit."""
    q = snapshot.reservations
    if limit.name == DATACENTERS:
        every, allowed = np.arange(q.allowed.shape[1]), q.allowed[r]
        enough = [d for d in np.flatnonzero(~allowed) if met(with_places(snapshot, r, allowed | (every == d)))]
        names = [str(snapshot.topology.datacenters[d]) for d in enough]
        return f"allow {' or '.join(names)} too" if names else "allow every datacenter"
    if limit.column is None or LIMITS[limit.column[1]] == "share_max":
        now = float(q.msb_share_max[r] if limit.column is None else q.domain_limits[r][limit.column])

        def with_value(share: float) -> FleetSnapshot:
            if limit.column is None:
                return with_share(snapshot, r, share)
            return _with_limit(snapshot, r, limit.column, share)

        if not met(with_value(1.0)):
            return f"do without {limit.name}"
        share = _first(int(now * SHOWN), SHOWN, lambda step: met(with_value(step / SHOWN))) / SHOWN
        return f"raise {limit.name} to {share:.4g}"
    column = limit.column
    low, high = int(q.domain_limits[r][column]), len(snapshot.servers)
    if not met(_with_limit(snapshot, r, column, high)):  # no number of domains admits servers without a place
        return f"do without {limit.name}"
    return f"raise {limit.name} to {_first(low, high, lambda number: met(_with_limit(snapshot, r, column, number)))}"


def broken(snapshot: FleetSnapshot, r: int, target: np.ndarray) -> tuple[int, float]:
    """Return the servers of reservation `r` that `target` (S,) leaves in other datacenters, and by how much it breaks
    its other hard limits: RRU above shares, and servers beyond numbers.
    """
    above = sum(float(excess_by_kind(snapshot, kind, target)[r]) for kind in limited_kinds(snapshot))
    return int((outside(snapshot, target) & (target == r)).sum()), above


def may_join(snapshot: FleetSnapshot, target: Indices, r: int, rows: NDArray[np.intp], rru: Floats | float) -> Bools:
    """Return whether each server of `rows` (N,) may be bound to reservation `r`, one at a time, by its hard limits.

    All servers that target the reservation by `target` (S,) count, up or not.

    rru  RRU of each server
    """
    mine = np.flatnonzero(target == r)
    topology = snapshot.topology
    datacenter = topology.msb_datacenter[topology.rack_msb[snapshot.servers.rack[rows]]]  # of these servers alone
    fits = snapshot.reservations.allowed[r, datacenter].copy()
    for kind in limited_kinds(snapshot):
        held = np.bincount(kind.of[mine], minlength=len(kind.domains))
        value = snapshot.reservations.rru[r, snapshot.servers.hardware_type[mine]]
        load = np.bincount(kind.of[mine], value, len(kind.domains))
        there = kind.of[rows]
        fits &= load[there] + rru <= kind.rru_max[r] * (1 + _TOLERANCE)
        fits &= held[there] + 1 <= kind.servers_max[r]
        if np.isfinite(kind.domains_max[r]):
            has_room = bool((held[: kind.placed] > 0).sum() < kind.domains_max[r])
            fits &= (there < kind.placed) & ((held[there] > 0) | has_room)
    return np.asarray(fits)


def _first(low: int, high: int, good: Callable[[int], bool]) -> int:
    """Return the least whole number above `low` that is good, by bisection. `high` is, and so are all above one."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high

"""What a region could give one reservation at most, if it had the region to itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.fleet import FleetSnapshot
from libs.mip.highs import solve_lp
from libs.mip.model import Mip


@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """In RRU of the reservation: servers that are down included (an outage is no reason to refuse for ever).

    Not those that are leaving.

    eligible_rru     all servers it may use
    largest_msb_rru  of those, in the MSB that has most; largest_msb its name
    surviving_rru    eligible, less the largest MSB where it must survive one
    most_rru         likewise within the affinity bands; 0 where they cannot be met
    least_held_rru   what it must hold, wherever, so that asked_rru survive; inf where that cannot be
    """

    asked_rru: float
    eligible_rru: float
    largest_msb_rru: float
    largest_msb: str
    surviving_rru: float
    most_rru: float
    least_held_rru: float

    def numbers(self) -> dict[str, float]:
        """For a verdict."""
        return {
            "asked_rru": self.asked_rru,
            "eligible_rru": self.eligible_rru,
            "largest_msb_rru": self.largest_msb_rru,
            "surviving_rru": self.surviving_rru,
            "most_rru": self.most_rru,
        }


def potential_of(snapshot: FleetSnapshot, reservation: int) -> Potential:
    """Without affinity it is best to hold everything: one more server never lowers what survives the worst MSB."""
    q, M = snapshot.reservations, len(snapshot.topology.msbs)
    value = q.rru[reservation, snapshot.servers.hardware_type] * ~snapshot.servers.leaving
    by_msb = np.bincount(snapshot.server_msb, value, M).astype(np.float64, copy=False)
    eligible, largest = float(by_msb.sum()), float(by_msb.max(initial=0.0))
    survives, share = bool(q.survives_msb_loss[reservation]), q.affinity_share[reservation]
    surviving = eligible - (largest if survives else 0.0)
    most = surviving
    if not np.isnan(share).all() and by_msb.size:
        most = _most_within_bands(
            snapshot, by_msb, share * q.capacity_rru[reservation], float(q.capacity_rru[reservation]), survives
        )
    return Potential(
        asked_rru=float(q.capacity_rru[reservation]),
        eligible_rru=eligible,
        largest_msb_rru=largest,
        largest_msb=str(snapshot.topology.msbs[int(by_msb.argmax())]) if by_msb.size else "",
        surviving_rru=surviving,
        most_rru=most,
        least_held_rru=_least_held(by_msb, float(q.capacity_rru[reservation]))
        if survives
        else float(q.capacity_rru[reservation]),
    )


def _least_held(by_msb: Floats, capacity: float) -> float:
    """The least sum_m x[m] with x <= by_msb and sum_m x[m] - max_m x[m] >= capacity: as level as can be.

    With w in the largest MSB, sum_m min(by_msb[m], w) - w survive, which rises with w until one MSB alone exceeds it.
    """
    level = np.sort(by_msb)
    below = np.append(0.0, np.cumsum(level))[:-1]  # (M,) in the MSBs that hold less than level[m]
    others = np.arange(len(level))[::-1]  # (M,) MSBs with at least that much, less the one that may fail
    enough = np.flatnonzero(below + others * level >= capacity - 1e-9)
    if not len(enough) or others[enough[0]] == 0:
        return float("inf")
    first = enough[0]
    return capacity + float((capacity - below[first]) / others[first])


def _most_within_bands(
    snapshot: FleetSnapshot, by_msb: Floats, wanted: Floats, capacity: float, survives: bool
) -> float:
    """The most RRU that survive, with every datacenter within its band.

        max  sum_m x[m] - worst     x[m] <= by_msb[m],   worst >= x[m] (where it must survive),
        wanted[d] - theta C  <=  sum_{m in d} x[m]  <=  wanted[d] + theta C      for all d with an affinity

    In fractions of servers: what even that cannot have is out of reach. 0 where the bands cannot be met.
    """
    m = Mip()
    x = m.add_columns(len(by_msb), cost=-1.0, upper=by_msb)
    worst = m.add_columns(1, cost=1.0, upper=max(float(by_msb.max()), 0.0))
    rows = np.arange(len(by_msb))
    m.add_rows(len(by_msb), (rows, x, -1.0 * survives), (rows, worst, 1.0), lower=0.0)
    banded = np.flatnonzero(~np.isnan(wanted))
    row_of = np.full(len(wanted), -1)
    row_of[banded] = np.arange(len(banded))
    row = row_of[snapshot.topology.msb_datacenter]
    inside = row >= 0
    theta = snapshot.policy.affinity_tolerance * capacity
    m.add_rows(len(banded), (row[inside], x[inside], 1.0), lower=wanted[banded] - theta, upper=wanted[banded] + theta)
    found = solve_lp(m.build(), "simplex")
    return 0.0 if found.infeasible else -found.objective

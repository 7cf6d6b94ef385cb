"""Compute the most that a region could give one reservation if there were no others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.fleet import FleetSnapshot
from libs.mip.highs import solve_lp
from libs.mip.model import Mip


@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """The largest possible capacity, in RRU of the reservation.

    Servers that are down count, because an outage must not cause a refusal. Leaving servers do not count.

    eligible_rru     all servers it may use
    largest_msb_rru  of those, in the largest MSB; largest_msb its name
    surviving_rru    eligible, less the largest MSB if it must survive its loss
    most_rru         likewise within the affinity bands; 0 if they cannot be met
    least_held_rru   least RRU to hold, in any MSBs, so that asked_rru survive; inf if that is impossible
    """

    asked_rru: float
    eligible_rru: float
    largest_msb_rru: float
    largest_msb: str
    surviving_rru: float
    most_rru: float
    least_held_rru: float

    def numbers(self) -> dict[str, float]:
        """Return the numbers for a verdict."""
        return {
            "asked_rru": self.asked_rru,
            "eligible_rru": self.eligible_rru,
            "largest_msb_rru": self.largest_msb_rru,
            "surviving_rru": self.surviving_rru,
            "most_rru": self.most_rru,
        }


def potential_of(snapshot: FleetSnapshot, reservation: int) -> Potential:
    """Return the potential of a reservation.

    Without affinity it holds all servers, because one more server never lowers the capacity that survives an MSB loss.
    """
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
    """Return the least sum_m x[m] with x <= by_msb and sum_m x[m] - max_m x[m] >= capacity: the most even choice.

    With w in the largest MSB, sum_m min(by_msb[m], w) - w survive. That rises with w until one MSB alone exceeds it.
    """
    level = np.sort(by_msb)
    below = np.append(0.0, np.cumsum(level))[:-1]  # (M,) in MSBs with less than level[m]
    others = np.arange(len(level))[::-1]  # (M,) MSBs with at least level[m], less the one that may fail
    enough = np.flatnonzero(below + others * level >= capacity - 1e-9)
    if not len(enough) or others[enough[0]] == 0:
        return float("inf")
    first = enough[0]
    return capacity + float((capacity - below[first]) / others[first])


def _most_within_bands(
    snapshot: FleetSnapshot, by_msb: Floats, wanted: Floats, capacity: float, survives: bool
) -> float:
    """Return the most RRU that survive with every datacenter within its band; 0 if the bands cannot be met.

        max  sum_m x[m] - worst     x[m] <= by_msb[m],   worst >= x[m] (if it must survive),
        wanted[d] - theta C  <=  sum_{m in d} x[m]  <=  wanted[d] + theta C      for all d with an affinity

    In fractions of servers: a request beyond even that is impossible.
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

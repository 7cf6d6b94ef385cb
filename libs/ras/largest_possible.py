"""Compute the largest capacity that a region could give one reservation if there were no other reservations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.fleet import FleetSnapshot
from libs.mip.highs import solve_lp
from libs.mip.model import Mip
from libs.ras.eligible_rru import eligible_by_msb, least_held, surviving


@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """The largest possible capacity of one reservation, in its RRU.

    Servers that are down count, because an outage must not cause a refusal. Servers to be retired do not count.

    asked_rru        the capacity that the reservation asks for
    eligible_rru     all servers that the reservation may use, up to its hard limits
    largest_msb_rru  those of these servers that are in the MSB with the most RRU
    largest_msb      the name of that MSB
    surviving_rru    eligible_rru, less largest_msb_rru if the reservation must survive the loss of an MSB
    most_rru         the most that survives while each datacenter holds a share within its affinity band; 0 if the bands
                     cannot be met
    least_held_rru   the least RRU to hold, in any MSBs, so that asked_rru survives; inf if that is impossible
    """

    asked_rru: float
    eligible_rru: float
    largest_msb_rru: float
    largest_msb: str
    surviving_rru: float
    most_rru: float
    least_held_rru: float

    def numbers(self) -> dict[str, float]:
        """Return the numbers that a verdict of admission shows, by name."""
        return {
            "asked_rru": self.asked_rru,
            "eligible_rru": self.eligible_rru,
            "largest_msb_rru": self.largest_msb_rru,
            "surviving_rru": self.surviving_rru,
            "most_rru": self.most_rru,
        }


def potential_of(snapshot: FleetSnapshot, reservation: int) -> Potential:
    """Return the potential of the reservation in row `reservation`.

    Without affinity the reservation would hold all servers. One more server never lowers the capacity that survives the
    loss of an MSB.
    """
    q = snapshot.reservations
    one = eligible_by_msb(snapshot, np.array([reservation], np.int32))
    by_msb, survives, share = one[0], bool(q.survives_msb_loss[reservation]), q.affinity_share[reservation]
    most = left = float(surviving(one, q.survives_msb_loss[[reservation]])[0])
    if not np.isnan(share).all() and by_msb.size:
        most = _most_within_bands(
            snapshot, by_msb, share * q.capacity_rru[reservation], float(q.capacity_rru[reservation]), survives
        )
    return Potential(
        asked_rru=float(q.capacity_rru[reservation]),
        eligible_rru=float(by_msb.sum()),
        largest_msb_rru=float(by_msb.max(initial=0.0)),
        largest_msb=str(snapshot.topology.msbs[int(by_msb.argmax())]) if by_msb.size else "",
        surviving_rru=left,
        most_rru=most,
        least_held_rru=least_held(by_msb, float(q.capacity_rru[reservation]))
        if survives
        else float(q.capacity_rru[reservation]),
    )


def _most_within_bands(
    snapshot: FleetSnapshot, by_msb: Floats, wanted: Floats, capacity: float, survives: bool
) -> float:
    """Return the most RRU that survive while every datacenter is within its affinity band.

    Return 0 if the bands cannot be met.

        max  sum_m x[m] - worst     x[m] <= by_msb[m],   worst >= x[m] (if it must survive),
        wanted[d] - theta C  <=  sum_{m in d} x[m]  <=  wanted[d] + theta C      for all d with an affinity

    The program allows fractions of servers. So a request for more than its optimum is impossible.

    by_msb    (M,) RRU of the servers of each MSB
    wanted    (D,) RRU that each datacenter should hold; nan: the datacenter has no band
    capacity  C, the RRU of the reservation
    survives  whether the reservation must survive the loss of an MSB
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

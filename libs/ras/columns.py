"""The columns of the grouped model, and the point that given counts imply for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats
from libs.mip.model import Indices, Mip
from libs.ras.cost import leaving, loads, outside_affinity
from libs.ras.problem import Amounts, CountProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """Column indices by meaning, and what each stands for. K cells: (reservation, MSB) pairs with any count.

    n            (N,) servers bound
    stays        (H,) counts with servers held now
    leave_cheap, leave_dear  (H,) servers of those counts that leave
    cell         (N,) the cell of each count
    cell_reservation, cell_msb  (K,)
    worst        (R,) RRU in the largest MSB; bounded to 0 for reservations that need not survive one
    short        (R,) RRU of shortfall
    limited      cells whose reservation has a spread limit
    excess       (len(limited),) RRU above the limit
    banded_reservation, banded_datacenter  (A,) the affinity pairs
    outside      (A,) RRU outside the band
    """

    n: Indices
    stays: Indices
    leave_cheap: Indices
    leave_dear: Indices
    cell: Indices
    cell_reservation: Indices
    cell_msb: Indices
    worst: Indices
    short: Indices
    limited: Indices
    excess: Indices
    banded_reservation: Indices
    banded_datacenter: Indices
    outside: Indices

    def point(self, problem: CountProblem, counts: Amounts) -> Floats:
        """(C,) the cheapest point of the model that has these counts."""
        x = np.zeros(len(self.n) + 2 * len(self.stays) + 2 * len(self.worst) + len(self.limited) + len(self.outside))
        cheap, dear = leaving(problem, counts)
        load = loads(problem, counts)
        worst = np.where(problem.survives, load.max(1, initial=0.0), 0.0)
        x[self.n] = counts
        x[self.leave_cheap], x[self.leave_dear] = cheap[self.stays], dear[self.stays]
        x[self.worst] = worst
        x[self.short] = np.maximum(problem.capacity_rru - (load.sum(1) - worst), 0.0)
        r, m = self.cell_reservation[self.limited], self.cell_msb[self.limited]
        x[self.excess] = np.maximum(load[r, m] - problem.msb_limit_rru[r], 0.0)
        x[self.outside] = outside_affinity(problem, load)[self.banded_reservation, self.banded_datacenter]
        return x


def add_columns(m: Mip, p: CountProblem) -> Columns:
    """Add all columns with their costs: the objective is the sum of expressions 1, 3, 4 and the penalties.

    Every column has a finite upper bound that the model implies, so that any row prices give a finite bound.
    """
    R, M, policy = p.reservations, p.msbs, p.policy
    stays = np.flatnonzero(p.held > 0)
    cells, cell = np.unique(p.reservation * M + p.msb, return_inverse=True)
    cell_reservation, cell_msb = cells // M, cells % M
    most_in_cell = np.bincount(cell, p.rru * p.most, len(cells))
    most_in_msb = np.zeros(R)
    np.maximum.at(most_in_msb, cell_reservation, most_in_cell)
    most = np.bincount(cell_reservation, most_in_cell, R)
    limited = np.flatnonzero(np.isfinite(p.msb_limit_rru[cell_reservation]))
    banded_reservation, banded_datacenter = np.nonzero(~np.isnan(p.affinity_share))
    capacity = p.capacity_rru[banded_reservation]
    share = p.affinity_share[banded_reservation, banded_datacenter]
    most_outside = most[banded_reservation] + (np.abs(share) + policy.affinity_tolerance) * capacity
    return Columns(
        n=m.add_columns(len(p.reservation), upper=p.most, integer=True),
        stays=stays,
        leave_cheap=m.add_columns(len(stays), cost=p.leave_cost_cheap, upper=p.held_cheap[stays]),
        leave_dear=m.add_columns(len(stays), cost=p.leave_cost_dear, upper=p.held_dear[stays]),
        cell=cell,
        cell_reservation=cell_reservation,
        cell_msb=cell_msb,
        worst=m.add_columns(R, cost=policy.buffer_cost, upper=np.where(p.survives, most_in_msb, 0.0)),
        short=m.add_columns(R, cost=policy.shortfall_cost, upper=p.capacity_rru + most_in_msb),
        limited=limited,
        excess=m.add_columns(len(limited), cost=policy.spread_cost, upper=most_in_cell[limited]),
        banded_reservation=banded_reservation,
        banded_datacenter=banded_datacenter,
        outside=m.add_columns(len(banded_reservation), cost=policy.affinity_cost, upper=most_outside),
    )

"""What the relaxation says a server of each place is worth, and so which reservations are badly served."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats
from libs.mip.bound import reduced_costs
from libs.mip.highs import Solution
from libs.ras.cost import cost_of
from libs.ras.model import CountModel
from libs.ras.problem import Amounts, CountProblem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """The relaxation's prices and plan.

    supply   (M*T,) cost of one server less of a place, >= 0
    reduced  (N,)   what one server more in a count costs beyond its price, at least, >= 0 where the plan has none
    least    (R,)   cost of each reservation in the relaxation, its servers paid for
    """

    problem: CountProblem
    supply: Floats
    reduced: Floats
    least: Floats

    def excess(self, cost: Floats, counts: Amounts) -> Floats:
        """(R,) how much more each reservation pays, servers included, than in the relaxation.

        Supply couples the reservations only through its prices, so the gap of whole counts to the bound is the sum of
        these, each >= 0, and of the worth of what stays free (Lagrangian relaxation of expression 5).
        """
        return np.maximum(self._paid(cost, counts) - self.least, 0.0)

    def overlap(self, r: int) -> Floats:
        """(R,) how much of what reservation r could use each of the others could use too."""
        p = self.problem
        mine = np.zeros(len(p.supply))
        at = slice(*p.first[r : r + 2])
        mine[p.place[at]] = (0.05 + self.supply[p.place[at]]) * p.supply[p.place[at]]
        return np.asarray(np.bincount(p.reservation, mine[p.place] * (self.reduced < 5.0), p.reservations), np.float64)

    def _paid(self, cost: Floats, counts: Amounts) -> Floats:
        p = self.problem
        return cost + np.asarray(np.bincount(p.reservation, self.supply[p.place] * counts, p.reservations), np.float64)


def read_prices(problem: CountProblem, model: CountModel, relaxed: Solution) -> Prices:
    """Prices and least costs from the relaxation; none where it was stopped before it had any."""
    if relaxed.x is None or relaxed.price is None:
        return no_prices(problem)
    supply = np.maximum(-relaxed.price[model.supply_rows], 0.0)
    reduced = reduced_costs(model.model, relaxed.price)[model.columns.n]
    fractional = relaxed.x[model.columns.n]
    bare = Prices(problem=problem, supply=supply, reduced=reduced, least=np.zeros(problem.reservations))
    least = bare._paid(cost_of(problem, fractional).by_reservation, fractional)
    return Prices(problem=problem, supply=supply, reduced=reduced, least=least)


def no_prices(problem: CountProblem) -> Prices:
    """Prices that know nothing, for a relaxation that was cut short: every server is free, every column matters."""
    return Prices(
        problem=problem,
        supply=np.zeros(len(problem.supply)),
        reduced=np.zeros(len(problem.reservation)),
        least=np.zeros(problem.reservations),
    )

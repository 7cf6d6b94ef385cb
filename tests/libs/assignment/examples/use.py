"""Use the specs of utilisation, and of its cost and worth."""

from __future__ import annotations

from functools import partial

import numpy as np

from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.balance import BalanceBound, BalanceFormula, BalanceSpec
from libs.assignment.language.specs.drain_capacity import DrainCapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.language.specs.util_increase_cost import UtilIncreaseCostSpec
from tests.libs.assignment.examples.example import Example, over
from tests.libs.assignment.worlds import CONTAINERS, util


def _affinity(p, a):
    return -sum(util(p, a, "container", "liking").values())


def _bins(p, a):
    u = util(p, a, "container", "count")
    return over(sum((3 if i == 2 else 1) * (u[i, 0] > 0) for i in range(CONTAINERS) if i != 5) - 2)


def _drain(p, a):
    u, most = util(p, a, "container", "cpu"), p.dimensions["cpu"].capacities["container"]
    return sum(over(u[j, 0] + t * u[i, 0] - most[j]) for i, j, t in ((0, 1, 0.5), (0, 2, 0.5), (3, 1, 1.0)))


def _rel(p, a, flavour=Flavour.AFTER):
    u, most = util(p, a, "container", "cpu", flavour=flavour), p.dimensions["cpu"].capacities["container"]
    return np.array([u[i, 0] / most[i] for i in range(CONTAINERS)]), most


def _third_largest(p, a):
    return over(sorted(_rel(p, a)[0])[-3] - 0.2)


def _allocation(p, a):
    u = util(p, a, "rack", "rru")
    return -(u[0, 0] + u[2, 0])


def _increase(p, a):
    return sum(over(x - 0.5) ** 2 for x in _rel(p, a)[0])


def _balance(p, a, formula, bound):
    rel, most = _rel(p, a)
    average = sum(rel * most) / sum(most)
    above = [over(x - {"RELATIVE": 1.1 * average, "ABSOLUTE": average + 1.1, "RELATIVE_UTIL": 1.1}[bound]) for x in rel]
    if formula == "IDEAL":
        return sum(most * rel**2)
    return {"LINEAR": sum(above), "SQUARES": sum(x * x for x in above), "MAX": max(above)}[formula]


def _balance_moved(p, a):
    rel, most = _rel(p, a, Flavour.NEW)
    return sum(over(x - sum(rel * most) / sum(most)) for x in rel)


EXAMPLES: dict[str, Example] = {
    "bins": Example(MinimizeBinsSpec(costs={"host2": 3}, enough=2, filter=Filter(but=["host5"])), _bins),
    "drain": Example(
        DrainCapacitySpec(dimension="cpu", spill={"host0": {"host1": 0.5, "host2": 0.5}, 3: {1: 1.0}}), _drain
    ),
    "third largest": Example(MinimizeNthLargestUtilizationSpec(dimension="cpu", n=2, target=0.2), _third_largest),
    "allocation": Example(
        MaximizeAllocationSpec(scope="rack", dimension="rru", filter=Filter(but=["rack1"])), _allocation
    ),
    "increase": Example(UtilIncreaseCostSpec(dimension="cpu", lower_bound=0.5), _increase),
    "affinity": Example(AssignmentAffinitiesSpec(dimension="liking"), _affinity),
    "balance moved in": Example(BalanceSpec(dimension="cpu", flavour=Flavour.NEW), _balance_moved),
    **{
        f"balance {formula} {bound}": Example(
            BalanceSpec(dimension="cpu", formula=formula, bound=bound, upper_bound=1.1),
            partial(_balance, formula=formula, bound=bound),
        )
        for formula in BalanceFormula
        for bound in BalanceBound
    },
}

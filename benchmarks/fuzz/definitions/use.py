"""Define the specs of utilisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fuzz.case import number_of
from benchmarks.fuzz.definitions.meaning import (
    Meaning,
    means,
    over,
    present,
    wished,
)
from benchmarks.fuzz.world import World
from libs.assignment.language.arrays import Floats
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.balance import BalanceBound, BalanceFormula, BalanceSpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.language.specs.util_increase_cost import UtilIncreaseCostSpec


@means(BalanceSpec)
def balance(world: World, s: Any) -> Meaning:
    rel, capacity = relative(world, s.scope, s.dimension, s.filter, s.flavour)
    whole = capacity.sum() or 1.0
    mean = world.largest(s.dimension).sum() / whole
    if s.formula is BalanceFormula.IDEAL:
        return wished((capacity * over(rel) ** 2).sum(axis=1), float(mean**2 * capacity.sum()))
    average = (rel * capacity).sum(axis=1, keepdims=True) / whole
    threshold = {
        BalanceBound.RELATIVE: average * s.upper_bound,
        BalanceBound.ABSOLUTE: average + s.upper_bound,
        BalanceBound.RELATIVE_UTIL: np.full_like(average, s.upper_bound),
    }[s.bound]
    above = over(rel - threshold)
    if s.formula is BalanceFormula.LINEAR:
        return wished(above.sum(axis=1), float(mean * len(capacity)))
    if s.formula is BalanceFormula.SQUARES:
        return wished((above**2).sum(axis=1), float(mean**2 * len(capacity)))
    return wished(above.max(axis=1), float(mean))


@means(UtilIncreaseCostSpec)
def util_increase_cost(world: World, s: Any) -> Meaning:
    rel, capacity = relative(world, s.scope, s.dimension, s.filter)
    above = over(rel - s.lower_bound)
    return wished((above**2 if s.squares else above).sum(axis=1), float(len(capacity)))


@means(MinimizeNthLargestUtilizationSpec)
def minimize_nth_largest_utilization(world: World, s: Any) -> Meaning:
    rel, _ = relative(world, s.scope, s.dimension, s.filter)
    return wished(over(np.sort(rel, axis=1)[:, -1 - s.n] - s.target), 1.0)


@means(MinimizeBinsSpec)
def minimize_bins(world: World, s: Any) -> Meaning:
    cost = np.zeros(world.items(s.scope))
    cost[world.kept(s.scope, s.filter)] = 1.0
    for item, value in (s.costs or {}).items():
        cost[number_of(item)] *= value
    used = present(world.util(s.scope, s.dimension)[:, :, 0])
    return wished(over(used @ cost - s.enough), float(cost.sum()))


@means(MaximizeAllocationSpec)
def maximize_allocation(world: World, s: Any) -> Meaning:
    held = world.util(s.scope, s.dimension)[:, world.kept(s.scope, s.filter), 0]
    return wished(-held.sum(axis=1), float(world.largest(s.dimension).sum()))


@means(AssignmentAffinitiesSpec)
def assignment_affinities(world: World, s: Any) -> Meaning:
    liking = world.util(s.scope, s.dimension)[:, :, 0].sum(axis=1)
    return wished(-liking, float(world.largest(s.dimension).sum()))


def relative(
    world: World, scope: str, dimension: str, by: Filter, flavour: Flavour = Flavour.AFTER
) -> tuple[Floats, Floats]:
    """Return util / capacity, (A, kept), and capacities, (kept,): 1 if none is known. Items with capacity 0 are left
    out.
    """
    capacity = world.capacity(dimension, scope)
    if capacity is None:
        capacity = np.ones(world.items(scope))
    kept = np.array([i for i in world.kept(scope, by) if capacity[i] > 0], dtype=np.int64)
    return world.util(scope, dimension, flavour=flavour)[:, kept, 0] / capacity[kept], capacity[kept]

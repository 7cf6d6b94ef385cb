"""Draw specs of utilisation."""

from __future__ import annotations

from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.words.book import draws
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.balance import BalanceBound, BalanceFormula, BalanceSpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.language.specs.spec import Spec
from libs.assignment.language.specs.util_increase_cost import UtilIncreaseCostSpec


@draws(BalanceSpec, goal_only=True)
def balance(draw: Draw) -> Spec:
    scope = draw.scope()
    return BalanceSpec(
        dimension=draw.capacitated(scope) if draw.maybe(0.7) else draw.dimension(),
        scope=scope,
        formula=draw.member(BalanceFormula),
        bound=draw.member(BalanceBound),
        upper_bound=draw.one((1.0, 1.0, 0.5, 0.0, 1.2)),
        flavour=draw.flavour(),
        filter=draw.filter(scope),
    )


@draws(UtilIncreaseCostSpec, goal_only=True)
def util_increase_cost(draw: Draw) -> Spec:
    scope = draw.scope()
    return UtilIncreaseCostSpec(
        dimension=draw.capacitated(scope),
        scope=scope,
        lower_bound=draw.one((0.0, 0.0, 0.5, 1.0)),
        squares=draw.maybe(0.6),
        filter=draw.filter(scope),
    )


@draws(MinimizeNthLargestUtilizationSpec, goal_only=True)
def minimize_nth_largest_utilization(draw: Draw) -> Spec:
    scope = draw.scope()
    return MinimizeNthLargestUtilizationSpec(
        dimension=draw.dimension(),
        scope=scope,
        n=int(draw.rng.integers(3)),
        target=draw.one((0.0, 0.0, 0.5, 1.0)),
        filter=draw.filter(scope),
    )


@draws(MinimizeBinsSpec, goal_only=True)
def minimize_bins(draw: Draw) -> Spec:
    scope = draw.scope()
    costs = {draw.ref(scope, k): draw.number(3) for k in draw.some(draw.items(scope))}
    return MinimizeBinsSpec(
        scope=scope,
        dimension=draw.counted(),
        costs=costs if draw.maybe(0.4) else None,
        enough=draw.one((0.0, 0.0, 0.0, 1.0, 2.0)),
        filter=draw.filter(scope),
    )


@draws(MaximizeAllocationSpec, goal_only=True)
def maximize_allocation(draw: Draw) -> Spec:
    scope = draw.scope()
    last = draw.case.containers - 1
    by = Filter(but=[draw.ref("container", last)]) if scope == "container" and draw.maybe(0.7) else draw.filter(scope)
    return MaximizeAllocationSpec(scope=scope, dimension=draw.counted(), filter=by)


@draws(AssignmentAffinitiesSpec, goal_only=True)
def assignment_affinities(draw: Draw) -> Spec:
    return AssignmentAffinitiesSpec(dimension="like" if draw.maybe(0.9) else draw.dimension(), scope=draw.scope())

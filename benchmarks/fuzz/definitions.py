"""What each spec means, written once more from its page in docs/assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.fuzz.case import number_of, numbers_of
from benchmarks.fuzz.own import OwnSpec, own
from benchmarks.fuzz.world import World
from libs.assignment.arrays import Floats, Ints
from libs.assignment.flavour import Flavour
from libs.assignment.specs.balance import BalanceBound, BalanceFormula
from libs.assignment.specs.filter import Filter
from libs.assignment.specs.group_count import CountBound, RelativeTo
from libs.assignment.specs.group_move_limit import Aggregate
from libs.assignment.specs.limit import Bound, Limit, LimitType
from libs.assignment.specs.spec import Spec
from libs.assignment.specs.to_free import ToFreeFormula


@dataclass(frozen=True, kw_only=True, eq=False)
class Meaning:
    """A spec in every assignment.

    excess  (A, elements) as a constraint: 0 where it holds; None where it can only be a goal
    cost    (A,) as a goal
    scale   what the cost of a normalised goal is divided by, 0 for itself
    """

    excess: Floats | None
    cost: Floats
    scale: float


def over(values: Floats) -> Floats:
    """max(0, x)."""
    return np.maximum(values, 0.0)


def present(values: Floats) -> Floats:
    """Step(x): sums of floats seldom hit 0, so a millionth counts as 0."""
    return np.where(values > 1e-6, 1.0, 0.0)


def flat(*parts: Floats) -> Floats:
    """(A, elements) of arrays (A, …)."""
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def broken(*parts: Floats, scale: float) -> Meaning:
    """A spec that is a constraint first: as a goal, the sum of its excess."""
    excess = flat(*parts)
    return Meaning(excess=excess, cost=excess.sum(axis=1), scale=scale)


def wished(cost: Floats, scale: float) -> Meaning:
    """A spec that can only be a goal."""
    return Meaning(excess=None, cost=cost, scale=scale)


def each(given: Any, default: float, size: int) -> Floats:
    """A number for each: an array, a mapping from names, or the default."""
    if given is None:
        return np.full(size, default)
    if isinstance(given, dict):
        values = np.full(size, default)
        for name, value in given.items():
            values[number_of(name)] = value
        return values
    return np.broadcast_to(np.array(given, dtype=np.float64), (size,)).copy()


def item_limits(world: World, limit: Limit, scope: str, dimension: str) -> Floats:
    """(I,) RELATIVE: shares of the items' capacity."""
    values = each(limit.items, limit.default, world.items(scope))
    if limit.type is LimitType.RELATIVE:
        capacity = world.capacity(dimension, scope)
        values = values * (np.nan if capacity is None else capacity)
    return values


def group_totals(world: World, partition: str, dimension: str) -> Floats:
    """(G,) what the objects of each group take together, at most."""
    largest = world.largest(dimension)
    return np.array([largest[members].sum() for members in world.members(partition)])


def relative(
    world: World, scope: str, dimension: str, by: Filter, flavour: Flavour = Flavour.AFTER
) -> tuple[Floats, Floats]:
    """(A, kept) util / capacity, and (kept,) capacities: 1 each where none is known; without those of 0."""
    capacity = world.capacity(dimension, scope)
    if capacity is None:
        capacity = np.ones(world.items(scope))
    kept = np.array([i for i in world.kept(scope, by) if capacity[i] > 0], dtype=np.int64)
    return world.util(scope, dimension, flavour=flavour)[:, kept, 0] / capacity[kept], capacity[kept]


def capacity_(world: World, s: Any) -> Meaning:
    kept = world.kept(s.scope, s.filter)
    limit = item_limits(world, s.limit, s.scope, s.dimension)[kept]
    parts = []
    for flavour in s.flavour.parts():
        util = world.util(s.scope, s.dimension, flavour=flavour)[:, kept, 0]
        if s.bound is Bound.MAX:
            parts.append(over(util - limit))
        else:
            parts.append(over((limit * present(util) if s.zero_allowed else limit) - util))
    scale = world.largest(s.dimension).sum() if s.bound is Bound.MAX else np.abs(limit).sum()
    return broken(*parts, scale=float(scale))


def group_count(world: World, s: Any) -> Meaning:
    kept, groups = world.kept(s.scope, s.filter), world.case.partitions[s.partition].groups
    parts = []
    for flavour in s.flavour.parts():
        util = world.util(s.scope, s.dimension, s.partition, flavour)
        limit: Floats = np.array(pair_limits(world, s))
        if s.limit.type is LimitType.RELATIVE and s.relative_to is RelativeTo.SCOPE_ITEM_UTIL:
            share = each(s.limit.items, s.limit.default, world.items(s.scope))
            limit = share[:, None] * world.util(s.scope, s.dimension, flavour=flavour) * np.ones(groups)
        if s.bound is not CountBound.MIN:
            parts.append(over(util - limit)[:, kept])
        if s.bound is not CountBound.MAX:
            parts.append(over((limit * present(util) if s.zero_allowed else limit) - util)[:, kept])
    excess = flat(*parts)
    if s.squares:
        scale = float((group_totals(world, s.partition, s.dimension) ** 2).sum())
        return Meaning(excess=excess, cost=(excess**2).sum(axis=1), scale=scale)
    return broken(excess, scale=float(world.largest(s.dimension).sum()))


def pair_limits(world: World, s: Any) -> Floats:
    """(I, G) by default, item, group or pair."""
    items, groups = world.items(s.scope), world.case.partitions[s.partition].groups
    by_item, by_group = each(s.limit.items, s.limit.default, items), each(s.limit.groups, s.limit.default, groups)
    limit = np.full((items, groups), s.limit.default)
    if s.limit.items is not None:
        limit = np.tile(by_item[:, None], (1, groups))
    if s.limit.groups is not None:
        limit = np.tile(by_group[None, :], (items, 1))
    for (item, group), value in s.limit.pairs.items():
        limit[number_of(item), number_of(group)] = value
    return limit * group_totals(world, s.partition, s.dimension) if s.limit.type is LimitType.RELATIVE else limit


def colocate_groups(world: World, s: Any) -> Meaning:
    weight = np.zeros(world.items(s.scope))
    weight[world.kept(s.scope, s.filter)] = 1.0
    for item, value in (s.item_weights or {}).items():
        weight[number_of(item)] *= value
    spread = (present(world.util(s.scope, s.dimension, s.partition)) * weight[None, :, None]).sum(axis=1)
    limit = each(s.limit.groups, s.limit.default, spread.shape[1])
    excess = over(spread - limit if s.bound is Bound.MAX else limit - spread)
    cost = (excess**2 if s.squares else excess).sum(axis=1)
    return Meaning(excess=excess, cost=cost, scale=float(spread.shape[1]))


def drain_capacity(world: World, s: Any) -> Meaning:
    util, capacity = world.util(s.scope, s.dimension)[:, :, 0], world.capacity(s.dimension, s.scope)
    parts = [
        over(util[:, [number_of(j)]] + share * util[:, [number_of(i)]] - capacity[number_of(j)])
        for i, to in s.spill.items()
        for j, share in to.items()
        if capacity is not None
    ]
    return broken(np.zeros((len(world), 0)), *parts, scale=float(world.largest(s.dimension).sum()))


def group_dependency(world: World, s: Any) -> Meaning:
    here = present(world.util(s.scope, s.dimension, s.partition))
    parts = [over(here[:, :, number_of(g)] - here[:, :, number_of(h)]) for g, h in s.pairs]
    return broken(np.zeros((len(world), 0)), *parts, scale=float(len(s.pairs)))


def group_diversity(world: World, s: Any) -> Meaning:
    kept = world.kept(s.scope, s.filter)
    found = present(world.util(s.scope, s.dimension, s.partition)).sum(axis=2)[:, kept]
    limit = each(s.limit.items, s.limit.default, world.items(s.scope))[kept]
    return broken(over(limit - found if s.bound is Bound.MIN else found - limit), scale=float(np.abs(limit).sum()))


def group_move_limit(world: World, s: Any) -> Meaning:
    moved = world.util("container", s.dimension, s.partition, Flavour.NEW).sum(axis=1)
    totals = group_totals(world, s.partition, s.dimension)
    limit = each(s.limit.groups, s.limit.default, len(totals))
    excess = over(moved - (limit * totals if s.limit.type is LimitType.RELATIVE else limit))
    if s.aggregate is Aggregate.SUM:
        return broken(excess, scale=float(world.largest(s.dimension).sum()))
    return Meaning(excess=excess, cost=excess.max(axis=1, initial=0.0), scale=float(totals.max(initial=0.0)))


def largest_group(world: World, s: Any) -> Meaning:
    util = world.util(s.scope, s.dimension, s.partition)[:, world.kept(s.scope, s.filter)]
    return wished(util.max(axis=2).sum(axis=1), float(world.largest(s.dimension).sum()))


def single_group_failure_buffer(world: World, s: Any) -> Meaning:
    kept = world.kept(s.scope, s.filter)
    limit = item_limits(world, s.limit, s.scope, s.dimension)[kept]
    whole = world.util(s.scope, s.dimension)[:, kept, 0]
    parts = world.util(s.scope, s.dimension, s.partition)[:, kept]
    return broken(over(limit - (whole - parts.max(axis=2))), scale=float(np.abs(limit).sum()))


def logical_and(world: World, s: Any) -> Meaning:
    members = [meaning(world, one) for one in s.specs]
    return broken(*(excess_of(one) for one in members), scale=sum(scale_of(one) for one in members))


def logical_or(world: World, s: Any) -> Meaning:
    members = [meaning(world, one) for one in s.specs]
    least = np.stack([excess_of(one).sum(axis=1) for one in members]).min(axis=0)
    return broken(least[:, None], scale=min(scale_of(one) for one in members))


def no_regression(world: World, s: Any) -> Meaning:
    weights = list(s.weights) or [1.0] * len(s.specs)
    now = by_item(world, s, weights)
    most = by_item(world.at_start, s, weights) if s.most is None else np.array(s.most, dtype=np.float64)
    scale = sum(weight * scale_of(meaning(world, one)) for weight, one in zip(weights, s.specs, strict=True))
    return broken(over(now - most), scale=float(scale))


def by_item(world: World, s: Any, weights: Sequence[float]) -> Floats:
    """(A, I) the weighted excess of the members; items that a member's filter leaves out count 0 for it."""
    total = np.zeros((len(world), world.items(s.scope)))
    for weight, one in zip(weights, s.specs, strict=True):
        excess, kept = excess_of(meaning(world, one)), world.kept(s.scope, getattr(one, "filter", Filter()))
        parts = len(getattr(one, "flavour", Flavour.AFTER).parts())
        parts *= 2 if getattr(one, "bound", None) is CountBound.EXACT else 1
        if len(kept):
            total[:, kept] += weight * excess.reshape(len(world), parts, len(kept), -1).sum(axis=(1, 3))
    return total


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


def util_increase_cost(world: World, s: Any) -> Meaning:
    rel, capacity = relative(world, s.scope, s.dimension, s.filter)
    above = over(rel - s.lower_bound)
    return wished((above**2 if s.squares else above).sum(axis=1), float(len(capacity)))


def minimize_nth_largest_utilization(world: World, s: Any) -> Meaning:
    rel, _ = relative(world, s.scope, s.dimension, s.filter)
    return wished(over(np.sort(rel, axis=1)[:, -1 - s.n] - s.target), 1.0)


def minimize_bins(world: World, s: Any) -> Meaning:
    cost = np.zeros(world.items(s.scope))
    cost[world.kept(s.scope, s.filter)] = 1.0
    for item, value in (s.costs or {}).items():
        cost[number_of(item)] *= value
    used = present(world.util(s.scope, s.dimension)[:, :, 0])
    return wished(over(used @ cost - s.enough), float(cost.sum()))


def maximize_allocation(world: World, s: Any) -> Meaning:
    held = world.util(s.scope, s.dimension)[:, world.kept(s.scope, s.filter), 0]
    return wished(-held.sum(axis=1), float(world.largest(s.dimension).sum()))


def assignment_affinities(world: World, s: Any) -> Meaning:
    liking = world.util(s.scope, s.dimension)[:, :, 0].sum(axis=1)
    return wished(-liking, float(world.largest(s.dimension).sum()))


def minimize_movement(world: World, s: Any) -> Meaning:
    moved = world.util(s.scope, s.dimension, flavour=Flavour.NEW)[:, :, 0].sum(axis=1)
    moved = moved + world.outside_new(s.scope, s.dimension)
    cost = over(moved - s.allowance) if s.allowance else moved
    return wished(cost, float(world.largest(s.dimension).sum()))


def avoid_moving(world: World, s: Any) -> Meaning:
    named = sorted(set(numbers_of(s.objects)))
    away = np.zeros((len(world), world.case.containers))
    for o in named:
        to = world.assignments[:, o]
        np.add.at(away, (np.arange(len(world)), to), (to != world.initial[o]).astype(np.float64))
    return broken(away, scale=float(len(s.objects)))


def moves_in_progress(world: World, s: Any) -> Meaning:
    late = np.zeros((len(world), 1))
    for o, to in s.moves:
        late[:, 0] += world.assignments[:, number_of(o)] != number_of(to)
    return broken(late, scale=float(len(s.moves)))


def avoid_assignments(world: World, s: Any) -> Meaning:
    avoided: dict[int, set[int]] = {o: set() for o in range(world.case.objects)}
    for who, items in s.assignments:
        for one in [who] if isinstance(who, str | int) else who:
            number = number_of(one)
            objects = [number] if s.partition is None else world.members(s.partition)[number]
            for o in objects:
                avoided[o] |= set(numbers_of(items))
    item = world.item(s.scope)
    parts = []
    for flavour in s.flavour.parts():
        wrong = np.zeros((len(world), world.items(s.scope)))
        for o, away in avoided.items():
            before, after = item[world.initial[o]], item[world.assignments[:, o]]
            for i in away:
                wrong[:, i] += counted(flavour, before, after, i)
        parts.append(wrong)
    return broken(*parts, scale=float(len(s.assignments)))


def counted(flavour: Flavour, before: int, after: Ints, i: int) -> Floats:
    """(A,) whether an object counts towards an item, as docs/assignment and `Flavour` say."""
    was, now, stays = before == i, after == i, (after == i) & (before == i)
    return np.asarray(
        {
            Flavour.AFTER: now,
            Flavour.INITIAL: np.full_like(now, was),
            Flavour.STAYED: stays,
            Flavour.NEW: now & ~stays,
            Flavour.OLD: was & ~stays,
            Flavour.ANY: now | was,
        }[flavour],
        dtype=np.float64,
    )


def non_accepting(world: World, s: Any) -> Meaning:
    named = sorted(set(numbers_of(s.items)))
    came = world.util(s.scope, s.dimension, flavour=Flavour.NEW)[:, named, 0]
    return broken(over(came), scale=float(world.largest(s.dimension).sum()))


def to_free(world: World, s: Any) -> Meaning:
    named = sorted(set(numbers_of(s.items)))

    def left(where: World) -> Floats:
        held = where.util(s.scope, s.dimension)[:, named, 0]
        return over(held) if s.formula is ToFreeFormula.UTILIZATION else present(held)

    return broken(left(world), scale=float(left(world.at_start).sum()))


def move_group(world: World, s: Any) -> Meaning:
    after = present(world.util("container", "count", s.partition)).sum(axis=1)
    before = present(world.at_start.util("container", "count", s.partition)).sum(axis=1)
    return broken(over(after - before), scale=float(after.shape[1]))


def excess_of(found: Meaning) -> Floats:
    """As a constraint."""
    if found.excess is None:
        raise ValueError("a spec that can only be a goal")
    return found.excess


def scale_of(found: Meaning) -> float:
    """As it is."""
    return found.scale


def meaning(world: World, spec: Spec) -> Meaning:
    """Of a spec in every assignment of a world."""
    if isinstance(spec, OwnSpec):
        excess, cost = own(world, spec)
        return Meaning(excess=excess, cost=cost, scale=float(world.case.objects))
    return DEFINITIONS[type(spec).__name__](world, spec)


DEFINITIONS: dict[str, Callable[[World, Any], Meaning]] = {
    "AssignmentAffinitiesSpec": assignment_affinities,
    "AvoidAssignmentsSpec": avoid_assignments,
    "AvoidMovingSpec": avoid_moving,
    "BalanceSpec": balance,
    "CapacitySpec": capacity_,
    "ColocateGroupsSpec": colocate_groups,
    "DrainCapacitySpec": drain_capacity,
    "GroupCountSpec": group_count,
    "GroupDependencySpec": group_dependency,
    "GroupDiversitySpec": group_diversity,
    "GroupMoveLimitSpec": group_move_limit,
    "LargestGroupSpec": largest_group,
    "LogicalAndSpec": logical_and,
    "LogicalOrSpec": logical_or,
    "MaximizeAllocationSpec": maximize_allocation,
    "MinimizeBinsSpec": minimize_bins,
    "MinimizeMovementSpec": minimize_movement,
    "MinimizeNthLargestUtilizationSpec": minimize_nth_largest_utilization,
    "MoveGroupSpec": move_group,
    "MovesInProgressSpec": moves_in_progress,
    "NoRegressionSpec": no_regression,
    "NonAcceptingSpec": non_accepting,
    "SingleGroupFailureBufferSpec": single_group_failure_buffer,
    "ToFreeSpec": to_free,
    "UtilIncreaseCostSpec": util_increase_cost,
}
"""By the name of the spec: a spec without one fails a test."""

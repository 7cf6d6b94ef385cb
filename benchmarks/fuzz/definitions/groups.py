"""Define the specs of groups of objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fuzz.case import number_of
from benchmarks.fuzz.definitions.meaning import (
    Meaning,
    broken,
    each,
    flat,
    group_totals,
    means,
    over,
    present,
    wished,
)
from benchmarks.fuzz.world import World
from libs.assignment.language.arrays import Floats
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec, RelativeTo
from libs.assignment.language.specs.group_dependency import GroupDependencySpec
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, LimitType


@means(GroupCountSpec)
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


@means(ColocateGroupsSpec)
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


@means(GroupDependencySpec)
def group_dependency(world: World, s: Any) -> Meaning:
    here = present(world.util(s.scope, s.dimension, s.partition))
    parts = [over(here[:, :, number_of(g)] - here[:, :, number_of(h)]) for g, h in s.pairs]
    return broken(np.zeros((len(world), 0)), *parts, scale=float(len(s.pairs)))


@means(GroupDiversitySpec)
def group_diversity(world: World, s: Any) -> Meaning:
    kept = world.kept(s.scope, s.filter)
    found = present(world.util(s.scope, s.dimension, s.partition)).sum(axis=2)[:, kept]
    limit = each(s.limit.items, s.limit.default, world.items(s.scope))[kept]
    return broken(over(limit - found if s.bound is Bound.MIN else found - limit), scale=float(np.abs(limit).sum()))


@means(LargestGroupSpec)
def largest_group(world: World, s: Any) -> Meaning:
    util = world.util(s.scope, s.dimension, s.partition)[:, world.kept(s.scope, s.filter)]
    return wished(util.max(axis=2).sum(axis=1), float(world.largest(s.dimension).sum()))


def pair_limits(world: World, s: Any) -> Floats:
    """Return the (I, G) limits. A limit comes from the spec's entry for the pair, the group or the item, or from the
    default.
    """
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

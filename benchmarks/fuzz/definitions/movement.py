"""Define the specs of movement."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fuzz.case import number_of, numbers_of
from benchmarks.fuzz.definitions.meaning import (
    Meaning,
    broken,
    each,
    group_totals,
    means,
    over,
    present,
    wished,
)
from benchmarks.fuzz.world import World
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
from libs.assignment.language.specs.limit import LimitType
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.move_group import MoveGroupSpec
from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec


@means(MinimizeMovementSpec)
def minimize_movement(world: World, s: Any) -> Meaning:
    moved = world.util(s.scope, s.dimension, flavour=Flavour.NEW)[:, :, 0].sum(axis=1)
    moved = moved + world.outside_new(s.scope, s.dimension)
    cost = over(moved - s.allowance) if s.allowance else moved
    return wished(cost, float(world.largest(s.dimension).sum()))


@means(AvoidMovingSpec)
def avoid_moving(world: World, s: Any) -> Meaning:
    named = sorted(set(numbers_of(s.objects)))
    away = np.zeros((len(world), world.case.containers))
    for o in named:
        to = world.assignments[:, o]
        np.add.at(away, (np.arange(len(world)), to), (to != world.initial[o]).astype(np.float64))
    return broken(away, scale=float(len(s.objects)))


@means(MovesInProgressSpec)
def moves_in_progress(world: World, s: Any) -> Meaning:
    late = np.zeros((len(world), 1))
    for o, to in s.moves:
        late[:, 0] += world.assignments[:, number_of(o)] != number_of(to)
    return broken(late, scale=float(len(s.moves)))


@means(MoveGroupSpec)
def move_group(world: World, s: Any) -> Meaning:
    after = present(world.util("container", "count", s.partition)).sum(axis=1)
    before = present(world.at_start.util("container", "count", s.partition)).sum(axis=1)
    return broken(over(after - before), scale=float(after.shape[1]))


@means(GroupMoveLimitSpec)
def group_move_limit(world: World, s: Any) -> Meaning:
    moved = world.util("container", s.dimension, s.partition, Flavour.NEW).sum(axis=1)
    totals = group_totals(world, s.partition, s.dimension)
    limit = each(s.limit.groups, s.limit.default, len(totals))
    excess = over(moved - (limit * totals if s.limit.type is LimitType.RELATIVE else limit))
    if s.aggregate is Aggregate.SUM:
        return broken(excess, scale=float(world.largest(s.dimension).sum()))
    return Meaning(excess=excess, cost=excess.max(axis=1, initial=0.0), scale=float(totals.max(initial=0.0)))

"""Define the specs that limit scope items."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fuzz.case import number_of, numbers_of
from benchmarks.fuzz.definitions.meaning import (
    Meaning,
    broken,
    item_limits,
    means,
    over,
    present,
)
from benchmarks.fuzz.world import World
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.drain_capacity import DrainCapacitySpec
from libs.assignment.language.specs.limit import Bound
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.language.specs.to_free import ToFreeFormula, ToFreeSpec


@means(CapacitySpec)
def capacity(world: World, s: Any) -> Meaning:
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


@means(DrainCapacitySpec)
def drain_capacity(world: World, s: Any) -> Meaning:
    util, capacity = world.util(s.scope, s.dimension)[:, :, 0], world.capacity(s.dimension, s.scope)
    parts = [
        over(util[:, [number_of(j)]] + share * util[:, [number_of(i)]] - capacity[number_of(j)])
        for i, to in s.spill.items()
        for j, share in to.items()
        if capacity is not None
    ]
    return broken(np.zeros((len(world), 0)), *parts, scale=float(world.largest(s.dimension).sum()))


@means(AvoidAssignmentsSpec)
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


@means(NonAcceptingSpec)
def non_accepting(world: World, s: Any) -> Meaning:
    named = sorted(set(numbers_of(s.items)))
    came = world.util(s.scope, s.dimension, flavour=Flavour.NEW)[:, named, 0]
    return broken(over(came), scale=float(world.largest(s.dimension).sum()))


@means(ToFreeSpec)
def to_free(world: World, s: Any) -> Meaning:
    named = sorted(set(numbers_of(s.items)))

    def left(where: World) -> Floats:
        held = where.util(s.scope, s.dimension)[:, named, 0]
        return over(held) if s.formula is ToFreeFormula.UTILIZATION else present(held)

    return broken(left(world), scale=float(left(world.at_start).sum()))


@means(SingleGroupFailureBufferSpec)
def single_group_failure_buffer(world: World, s: Any) -> Meaning:
    kept = world.kept(s.scope, s.filter)
    limit = item_limits(world, s.limit, s.scope, s.dimension)[kept]
    whole = world.util(s.scope, s.dimension)[:, kept, 0]
    parts = world.util(s.scope, s.dimension, s.partition)[:, kept]
    return broken(over(limit - (whole - parts.max(axis=2))), scale=float(np.abs(limit).sum()))


def counted(flavour: Flavour, before: int, after: Ints, i: int) -> Floats:
    """Return whether an object counts towards an item, (A,), by docs/assignment and `Flavour`."""
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

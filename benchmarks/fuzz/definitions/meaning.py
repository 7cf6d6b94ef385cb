"""Evaluate specs in every assignment, with helpers for their definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.fuzz.case import number_of
from benchmarks.fuzz.own import OwnSpec, own
from benchmarks.fuzz.world import World
from libs.assignment.language.arrays import Floats
from libs.assignment.language.specs.limit import Limit, LimitType
from libs.assignment.language.specs.spec import Spec


@dataclass(frozen=True, kw_only=True, eq=False)
class Meaning:
    """The meaning of a spec: its values in every assignment of a world.

    excess  (A, elements)  excess as a constraint, 0 if the constraint holds; None if the spec can only be a goal
    cost    (A,)           cost as a goal
    scale   divisor of the cost of a normalised goal; 0: the cost is not divided
    """

    excess: Floats | None
    cost: Floats
    scale: float


Definition = Callable[[World, Any], Meaning]
DEFINITIONS: dict[str, Definition] = {}
"""Definitions by name of the spec. A test fails for a spec without one."""


def over(values: Floats) -> Floats:
    """Return max(0, x)."""
    return np.maximum(values, 0.0)


def present(values: Floats) -> Floats:
    """Return Step(x): 1 if x is above 0, else 0. Sums of floats seldom give exactly 0, so a value up to a millionth
    counts as 0.
    """
    return np.where(values > 1e-6, 1.0, 0.0)


def flat(*parts: Floats) -> Floats:
    """Return arrays (A, …) as (A, elements)."""
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def broken(*parts: Floats, scale: float) -> Meaning:
    """Return the meaning of a constraint. As a goal it is the sum of its excess."""
    excess = flat(*parts)
    return Meaning(excess=excess, cost=excess.sum(axis=1), scale=scale)


def wished(cost: Floats, scale: float) -> Meaning:
    """Return the meaning of a spec that can only be a goal."""
    return Meaning(excess=None, cost=cost, scale=scale)


def each(given: Any, default: float, size: int) -> Floats:
    """Return a number for each item, from an array, a mapping from names, or the default."""
    if given is None:
        return np.full(size, default)
    if isinstance(given, dict):
        values = np.full(size, default)
        for name, value in given.items():
            values[number_of(name)] = value
        return values
    return np.broadcast_to(np.array(given, dtype=np.float64), (size,)).copy()


def item_limits(world: World, limit: Limit, scope: str, dimension: str) -> Floats:
    """Return the limits of items, (I,). RELATIVE limits are shares of the items' capacity."""
    values = each(limit.items, limit.default, world.items(scope))
    if limit.type is LimitType.RELATIVE:
        capacity = world.capacity(dimension, scope)
        values = values * (np.nan if capacity is None else capacity)
    return values


def group_totals(world: World, partition: str, dimension: str) -> Floats:
    """Return the largest possible demand of each group's objects together, (G,)."""
    largest = world.largest(dimension)
    return np.array([largest[members].sum() for members in world.members(partition)])


def excess_of(found: Meaning) -> Floats:
    """Return the excess of a meaning that can be a constraint."""
    if found.excess is None:
        raise ValueError("a spec that can only be a goal")
    return found.excess


def scale_of(found: Meaning) -> float:
    """Return the scale of a meaning that has one."""
    return found.scale


def means(kind: type[Spec]) -> Callable[[Definition], Definition]:
    """Register the definition of a kind of spec."""

    def note(definition: Definition) -> Definition:
        DEFINITIONS[kind.__name__] = definition
        return definition

    return note


def meaning(world: World, spec: Spec) -> Meaning:
    """Return the meaning of a spec in every assignment of a world."""
    if isinstance(spec, OwnSpec):
        excess, cost = own(world, spec)
        return Meaning(excess=excess, cost=cost, scale=float(world.case.objects))
    return DEFINITIONS[type(spec).__name__](world, spec)

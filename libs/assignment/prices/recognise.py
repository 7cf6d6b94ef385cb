"""A problem as a market: which specs price-and-round knows, and what it says to all others."""

from __future__ import annotations

import numpy as np

from libs.assignment.arrays import Bools, Ints
from libs.assignment.errors import ModelError
from libs.assignment.prices.group_rules import groups_of
from libs.assignment.prices.market import Market
from libs.assignment.prices.places import places_of
from libs.assignment.prices.room import room_of
from libs.assignment.prices.values import Values, values_of
from libs.assignment.problem import Problem
from libs.assignment.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.specs.capacity import CapacitySpec
from libs.assignment.specs.group_count import GroupCountSpec
from libs.assignment.specs.non_accepting import NonAcceptingSpec

KNOWN = (CapacitySpec, GroupCountSpec, AvoidAssignmentsSpec, AvoidMovingSpec, NonAcceptingSpec)
"""Constraints that it takes; goals are in values.py."""
LEVELS_MAX = 16
"""More different worths than that are not priorities."""


def market_of(problem: Problem) -> Market:
    """The market that a problem states.

    Raises: ModelError, with the name of the spec that is beyond price-and-round.
    """
    for constraint in problem.constraints:
        if not isinstance(constraint.spec, KNOWN):
            known = ", ".join(kind.__name__ for kind in KNOWN)
            raise ModelError(f"{constraint.spec.where}: price-and-round takes {known} as constraints")
        if not constraint.hard:
            raise ModelError(f"{constraint.spec.where}: price-and-round takes hard constraints only")
    values = values_of(problem)
    room = room_of(problem, values.outside)
    groups = groups_of(problem, values.outside)
    places = places_of(problem, values, room)
    inside = ~values.outside[problem.initial]
    initial = np.asarray(problem.initial)
    return Market(
        dimensions=room.dimensions,
        need=room.need,
        worth=values.worth,
        kind=places.kind,
        factor=places.factor,
        open=places.open,
        capacity=room.capacity,
        bounded=room.bounded,
        shape=places.shape,
        pool=places.pool,
        fixed=_fixed(problem, inside & (places.shape[problem.initial] < 0)),
        outside=np.where(inside, int(np.argmax(values.outside)), initial),
        initial=initial,
        level=_levels(values),
        groups=groups,
    )


def _fixed(problem: Problem, closed_in: Bools) -> Bools:
    """Objects that are to stay, and those in containers that accept nothing: staying is always allowed there."""
    fixed = closed_in.copy()
    for constraint in problem.constraints:
        if isinstance(constraint.spec, AvoidMovingSpec):
            fixed[problem.objects.indices(constraint.spec.where, constraint.spec.objects)] = True
    return fixed


def _levels(values: Values) -> Ints:
    found, level = np.unique(values.priority, return_inverse=True)
    return level.astype(np.int64) if len(found) <= LEVELS_MAX else np.zeros(0, np.int64)

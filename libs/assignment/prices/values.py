"""What placing an object is worth, read from the goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.arrays import Bools, Floats
from libs.assignment.dimension import Dimension
from libs.assignment.errors import ModelError
from libs.assignment.problem import Problem
from libs.assignment.scope import Scope
from libs.assignment.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.specs.maximize_allocation import MaximizeAllocationSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Term:
    """One goal: an object counts in the containers of a scope's items that are kept.

    counted  (C,) bool
    """

    dimension: Dimension
    scope: Scope
    counted: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Values:
    """The goals as terms that are added up.

    terms     (G,)
    worth     (N, G) float  an object's value by goal, weighted; times a factor that depends on the place
    priority  (N,) float    its worth by the goals that count what is placed
    outside   (C,) bool     containers for what is not placed: those in which no such goal counts it
    """

    terms: tuple[Term, ...]
    worth: Floats
    priority: Floats
    outside: Bools


def values_of(problem: Problem) -> Values:
    """Raises: ModelError where a goal is of another kind, or nothing says what is to be placed."""
    terms, worths = [], []
    outside = np.ones(len(problem.containers), dtype=bool)
    priority = np.zeros(len(problem.objects))
    if len({goal.priority for goal in problem.goals}) > 1:
        last = max(problem.goals, key=lambda goal: goal.priority)
        raise ModelError(f"{last.spec.where}: price-and-round takes goals of one priority; give this one a weight")
    for goal in problem.goals:
        spec = goal.spec
        if not isinstance(spec, MaximizeAllocationSpec | AssignmentAffinitiesSpec):
            known = f"{MaximizeAllocationSpec.__name__} and {AssignmentAffinitiesSpec.__name__}"
            raise ModelError(f"{spec.where}: price-and-round takes {known} as goals")
        scope, dimension = problem.scope(spec.where, spec.scope), problem.dimension(spec.where, spec.dimension)
        counted = scope.item >= 0
        worth = goal.weight / goal.scale * dimension.objects
        if isinstance(spec, MaximizeAllocationSpec):
            kept = np.zeros(len(scope), dtype=bool)
            kept[spec.filter.kept(spec.where, scope.items)] = True
            counted &= kept[scope.item]
            outside &= ~counted
            priority += worth
        terms.append(Term(dimension=dimension, scope=scope, counted=counted))
        worths.append(worth)
    if not any(isinstance(goal.spec, MaximizeAllocationSpec) for goal in problem.goals):
        raise ModelError("price-and-round needs a MaximizeAllocationSpec as a goal: it says what being placed is worth")
    if not outside.any():
        raise ModelError(
            "MaximizeAllocationSpec: counts every container; price-and-round needs one for what is not placed, which "
            "the filter leaves out"
        )
    return Values(terms=tuple(terms), worth=np.stack(worths, axis=1), priority=priority, outside=outside)

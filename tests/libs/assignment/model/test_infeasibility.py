"""Hard constraints that cannot all hold are named, with the wrong values."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.to_free import ToFreeSpec
from libs.assignment.model.infeasibility import clash_of
from libs.assignment.solvers.mip import solve_mip


def crowded(capacity: float) -> Problem:
    """Return seven objects on three containers."""
    problem = Problem(objects=7, containers=3, initial=np.zeros(7, int))
    problem.add_dimension("cpu", 1.0, containers=capacity)
    problem.add_constraint(CapacitySpec(name="memory", dimension="cpu"))
    return problem


def test_too_little_capacity_is_proven_with_the_amount_and_the_best_is_found_all_the_same() -> None:
    problem = crowded(2.0)
    clash = clash_of(problem)
    assert clash is not None
    assert clash.specs == ("CapacitySpec 'memory'",)
    assert clash.least == pytest.approx(1.0)
    assert sum(amount for *_, amount in clash.broken) == pytest.approx(1.0)
    assert "CapacitySpec 'memory' cannot all hold: whatever is done, 1 is broken" in clash.in_words()
    result = solve_mip(problem)
    assert result.broken == (5.0, 1.0)
    assert "whatever is done, 1 is broken" in result.in_words()


def test_what_can_be_mended_is_no_clash() -> None:
    problem = crowded(3.0)
    assert clash_of(problem) is None
    result = solve_mip(problem)
    assert result.broken[1] == 0
    assert result.notes == ()


def test_specs_that_only_clash_together_are_both_named() -> None:
    problem = crowded(9.0)
    problem.add_constraint(ToFreeSpec(name="retire", items=[2]))
    problem.add_constraint(AvoidAssignmentsSpec(name="label", assignments=[([0, 1, 2], [0])]))
    assert clash_of(problem) is None
    problem.add_constraint(
        CapacitySpec(name="at least", dimension="cpu", bound=Bound.MIN, limit=Limit(default=0.0, items={0: 5.0}))
    )
    clash = clash_of(problem)
    assert clash is not None
    assert "CapacitySpec 'at least'" in clash.specs
    assert "AvoidAssignmentsSpec 'label'" in clash.specs
    assert "CapacitySpec 'memory'" not in clash.specs


def test_more_of_a_job_than_racks_take_is_a_clash_though_nothing_is_broken_twice() -> None:
    problem = crowded(9.0)
    problem.add_partition("job", [0, 0, 0, 0, -1, -1, -1])
    problem.add_constraint(GroupCountSpec(name="spread", partition="job"))
    clash = clash_of(problem)
    assert clash is not None
    assert clash.specs == ("GroupCountSpec 'spread'",)
    assert clash.least == pytest.approx(1.0)

"""Exchanging two equivalent objects changes nothing, and no class is split without a reason."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.graph.classes import equivalent
from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.worlds import OBJECTS, random_assignment, small_world


@pytest.mark.parametrize("name", EXAMPLES)
def test_exchanging_two_of_a_class_changes_no_value(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    leaves = [leaf for cell in compile_problem(problem).graph.cells for leaf in cell.leaves]
    classes = equivalent(leaves, OBJECTS, problem.initial)
    for seed in range(10):
        assignment = random_assignment(seed)
        exchanged = assignment.copy()
        for k in range(len(classes)):
            members = np.flatnonzero(classes.of == k)
            exchanged[members] = np.random.default_rng(seed).permutation(assignment[members])
        cost = problem.goals[0].cost
        assert cost.value(exchanged)[0, 0] == pytest.approx(cost.value(assignment)[0, 0])


def test_classes_are_as_coarse_as_values_groups_and_factors_allow() -> None:
    problem = Problem(objects=8, containers=2, initial=np.zeros(8, int))
    problem.add_partition("job", [0, 0, 1, 1, -1, -1, 0, 0])
    problem.add_dimension("cpu", [1, 1, 1, 1, 1, 1, 2, 2], containers=9.0)
    problem.add_dimension(
        "rru", [1, 1, 1, 0, 1, 1, 1, 1], by_item=("container", [0, 1, 2, 2, 0, 0, 0, 0], np.ones((3, 2)))
    )
    problem.add_goal(CapacitySpec(dimension="cpu"))
    problem.add_goal(CapacitySpec(dimension="rru", limit=Limit(default=3.0)))
    problem.add_goal(GroupCountSpec(partition="job"))
    leaves = [leaf for cell in compile_problem(problem).graph.cells for leaf in cell.leaves]
    classes = equivalent(leaves, 8)
    # 0 and 1 are alike though their factors are in different rows of the table; 3 has no rru; 4 and 5 are in no job
    assert classes.of.tolist() == [0, 0, 1, 2, 3, 3, 4, 4]
    assert classes.representative.tolist() == [0, 2, 3, 4, 6]
    assert classes.size.tolist() == [2, 1, 1, 2, 2]


def test_labels_given_apart_split() -> None:
    problem = small_world()
    problem.add_goal(MinimizeMovementSpec())
    leaves = [leaf for cell in compile_problem(problem).graph.cells for leaf in cell.leaves]
    assert len(equivalent(leaves, OBJECTS)) == 1
    assert len(equivalent(leaves, OBJECTS, problem.initial)) == len(np.unique(problem.initial))

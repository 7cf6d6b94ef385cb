"""Joined answers of parts are legal: answers that would break a constraint are not taken."""

from __future__ import annotations

import numpy as np

from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.solvers.partitioned.coalesce import coalesce
from libs.assignment.solvers.partitioned.part import parts_of


def test_when_the_time_is_up_parts_that_were_not_taken_stay_as_they_are() -> None:
    """Both answers at once exceed their shared container; each alone does not."""
    problem = Problem(objects=2, containers=3, initial=[0, 1])
    problem.add_constraint(CapacitySpec(dimension="count", limit=Limit(default=1.0)))
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(items=[0.0, 0.0, 1.0])))
    parts = parts_of(problem.initial, np.array([0, 1, -1]), np.array([0, 1]), 2)
    answers = [np.searchsorted(part.containers, np.full(len(part.objects), 2)) for part in parts]
    program = compile_problem(problem)
    assert coalesce(program, parts, answers).assignment.tolist() == [2, 1]
    late = coalesce(program, parts, answers, lambda: True)
    assert late.assignment.tolist() == [0, 1]
    assert (late.whole, late.piecemeal, late.refused) == (0, 0, 2)

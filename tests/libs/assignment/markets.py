"""Draw random placement problems: objects with worth, a few kinds of containers, labels, anti-affinity,
accelerators.
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec

WORTHS = [1.0, 2.0, 4.0, 8.0]


def placement(
    seed: int,
    objects: int = 400,
    containers: int = 12,
    *,
    jobs: bool = False,
    labels: bool = False,
    special: bool = False,
    over: float = 1.5,
    initial: np.ndarray | None = None,
) -> Problem:
    """Return a placement problem. The last container is for unplaced objects; demand is `over` times the capacity.

    jobs: at most one of a group of up to three in a container. labels: some objects avoid some racks. special: half of
    the containers have a third dimension that a third of the objects need.
    """
    rng = np.random.default_rng(seed)
    kinds = np.array([[16.0, 64.0, 0.0], [24.0, 48.0, 4.0], [12.0, 96.0, 0.0]])
    room = np.vstack([kinds[rng.integers(3, size=containers)], np.zeros(3)])
    need = rng.lognormal(0.0, 0.7, (objects, 2))
    need *= over * room[:, :2].sum(axis=0) / need.sum(axis=0)
    need = np.minimum(need, [10.0, 40.0])
    out = containers
    problem = Problem(
        objects=objects, containers=containers + 1, initial=np.full(objects, out) if initial is None else initial
    )
    placed = Filter(but=[out])
    columns = [need[:, 0], need[:, 1]]
    if special:
        columns.append(np.where(rng.random(objects) < 0.33, rng.integers(1, 3, size=objects), 0).astype(float))
    for k, values in enumerate(columns):
        problem.add_dimension(f"r{k}", values, containers=room[:, k])
        problem.add_constraint(CapacitySpec(dimension=f"r{k}", filter=placed))
    problem.add_dimension("worth", rng.choice(WORTHS, size=objects, p=np.array([8, 4, 2, 1]) / 15))
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed), normalise=False)
    if jobs:
        problem.add_partition("job", np.arange(objects) // 3)
        problem.add_constraint(GroupCountSpec(partition="job", limit=Limit(default=1.0), filter=placed))
    if labels:
        problem.add_scope("rack", np.append(np.arange(containers) % 3, -1), 3)
        away = [(int(o), [int(rng.integers(3))]) for o in range(0, objects, 4)]
        problem.add_constraint(AvoidAssignmentsSpec(assignments=away, scope="rack"))
    return problem


def broken(problem: Problem, assignment: np.ndarray) -> float:
    """Return the excess, by the specs' own expressions."""
    return sum(float(part.value(assignment).sum()) for one in problem.constraints for part in one.excess)


def gained(problem: Problem, assignment: np.ndarray) -> float:
    """Return the worth of placed objects, by definition."""
    return -sum(goal.weight / goal.scale * float(goal.cost.value(assignment)[0, 0]) for goal in problem.goals)

"""Make problems of many objects, for solvers that divide them."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec


def crowd(objects: int = 600, containers: int = 24, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    initial = np.concatenate([np.arange(containers), rng.integers(containers // 2, size=objects - containers)])
    problem = Problem(objects=objects, containers=containers, initial=initial)
    problem.add_scope("rack", np.arange(containers) // 4)
    problem.add_partition("job", np.arange(objects) % 150)
    cpu = rng.integers(1, 5, size=objects)
    problem.add_dimension("cpu", cpu, containers=np.full(containers, 3.0 * objects / containers))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=Limit(default=2)))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL))
    problem.add_goal(MinimizeMovementSpec(), weight=0.01)
    return problem


def nowhere(objects: int = 400, containers: int = 20) -> Problem:
    """Return a problem with all objects in the last container, which means "unplaced"."""
    problem = Problem(objects=objects, containers=containers + 1, initial=np.full(objects, containers))
    problem.add_scope("real", np.append(np.arange(containers), -1))
    problem.add_dimension("cpu", 1.0 + np.arange(objects) % 3)
    problem.add_capacity("cpu", "real", np.full(containers, 60.0))
    problem.add_constraint(CapacitySpec(dimension="cpu", scope="real"))
    problem.add_goal(BalanceSpec(dimension="cpu", scope="real", formula=BalanceFormula.IDEAL), priority=1)
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=1e6, items={containers: 0})), priority=0)
    return problem


def facilities(seed: int = 0) -> Problem:
    """Return capacitated facility location: a user is close to one facility, and a used facility costs rent."""
    rng = np.random.default_rng(seed)
    users, sites = 400, 40
    far = np.full((sites, sites), 10.0)
    np.fill_diagonal(far, 1.0)
    problem = Problem(objects=users, containers=sites, initial=rng.integers(sites, size=users))
    near = rng.integers(sites, size=users)
    problem.add_dimension("distance", 1.0, by_item=("container", near, -far), signed=True)
    problem.add_dimension("demand", 1.0, containers=np.full(sites, 30.0))
    problem.add_constraint(CapacitySpec(dimension="demand"))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="distance"), normalise=False)
    problem.add_goal(MinimizeBinsSpec(costs=dict.fromkeys(range(sites), 5.0)), normalise=False)
    return problem

"""State the placement of tasks on servers in specs."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.interchange.placement.read import RESOURCES, PlacementFolder

UNPLACED = "unplaced"
"""The container of tasks without a server."""


def placement_problem(folder: PlacementFolder, *, balance_weight: float | None = None) -> Problem:
    """Return a problem with tasks as objects, and servers and UNPLACED (the last) as containers. At first no task is
    placed.

    The goal uses priorities unchanged, so the objective is the negative score of the format. A balance_weight adds a
    goal of equal CPU utilisation, which prices alone cannot express.
    """
    servers = len(folder.server_name)
    problem = Problem(
        objects=folder.task_name.tolist(),
        containers=[*folder.server_name.tolist(), UNPLACED],
        initial=np.full(len(folder.task_name), servers),
    )
    placed = Filter(but=[servers])
    for k, name in enumerate(RESOURCES):
        problem.add_dimension(name, folder.need[:, k], containers=np.append(folder.capacity[:, k], 0.0))
        problem.add_constraint(CapacitySpec(dimension=name, filter=placed))
    problem.add_dimension("priority", folder.priority)
    problem.add_goal(MaximizeAllocationSpec(dimension="priority", filter=placed), normalise=False)
    if balance_weight is not None:
        problem.add_goal(BalanceSpec(dimension=RESOURCES[0], filter=placed), weight=balance_weight)
    if folder.job_tasks_per_server is not None:
        problem.add_partition("job", folder.job, folder.job_name.tolist())
        limit = Limit(default=float(folder.job_tasks_per_server))
        problem.add_constraint(GroupCountSpec(partition="job", limit=limit, filter=placed))
    return problem

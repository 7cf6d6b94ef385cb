"""Draw problems so small that all their assignments can be checked."""

from __future__ import annotations

import itertools

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.full_evaluation import compute
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.minimize_nth_largest_utilization import MinimizeNthLargestUtilizationSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.language.specs.spec import Spec
from libs.assignment.model.counts import start_of

OBJECTS, CONTAINERS = 5, 3
SLACK = 1e-6


def tiny_world(rng: np.random.Generator) -> Problem:
    """Return five objects, many of them alike, with different costs of moving; three containers in two racks."""
    problem = Problem(objects=OBJECTS, containers=CONTAINERS, initial=rng.integers(CONTAINERS, size=OBJECTS))
    problem.add_scope("rack", [0, 0, 1])
    problem.add_partition("job", rng.integers(2, size=OBJECTS), 2)
    problem.add_dimension("cpu", rng.integers(1, 3, size=OBJECTS), containers=rng.integers(2, 6, size=CONTAINERS))
    problem.add_dimension("trouble", rng.integers(0, 3, size=OBJECTS) + 0.25)
    problem.add_dimension("rru", 1.0, by_item=("container", rng.integers(2, size=OBJECTS), rng.integers(0, 4, (2, 3))))
    return problem


def specs_of(rng: np.random.Generator) -> tuple[list[Spec], list[Spec]]:
    """Return specs for goals, and specs for constraints."""
    limit = float(rng.integers(1, 4))
    goals: list[Spec] = [
        MinimizeMovementSpec(dimension="trouble"),
        MinimizeMovementSpec(scope="rack", dimension="trouble"),
        MinimizeMovementSpec(allowance=2.0),
        BalanceSpec(dimension="cpu"),
        BalanceSpec(dimension="cpu", formula=BalanceFormula.MAX),
        BalanceSpec(dimension="cpu", formula=BalanceFormula.SQUARES, flavour=Flavour.ANY),
        MinimizeNthLargestUtilizationSpec(dimension="cpu", n=1),
        MinimizeBinsSpec(),
        GroupMoveLimitSpec(partition="job", dimension="trouble", aggregate=Aggregate.MAX, limit=Limit(default=1.0)),
        CapacitySpec(dimension="trouble", flavour=Flavour.STAYED, limit=Limit(default=limit)),
        CapacitySpec(dimension="trouble", flavour=Flavour.NEW, bound=Bound.MIN, limit=Limit(default=limit)),
        SingleGroupFailureBufferSpec(partition="job", dimension="rru", limit=Limit(default=limit)),
        GroupCountSpec(partition="job", scope="rack", squares=True),
        ColocateGroupsSpec(partition="job", bound=Bound.MIN, limit=Limit(default=3.0)),
    ]
    constraints: list[Spec] = [
        CapacitySpec(dimension="cpu"),
        CapacitySpec(dimension="cpu", flavour=Flavour.DURING_AND_AFTER),
        CapacitySpec(dimension="rru", bound=Bound.MIN, limit=Limit(default=limit)),
        CapacitySpec(dimension="trouble", flavour=Flavour.OLD, limit=Limit(default=1.5)),
        GroupCountSpec(partition="job", limit=Limit(default=limit)),
        NonAcceptingSpec(items=[int(rng.integers(CONTAINERS))]),
        NonAcceptingSpec(items=[0], scope="rack", dimension="trouble"),
        ColocateGroupsSpec(partition="job"),
    ]
    return goals, constraints


def best_of_all(problem: Problem, free: list[int], tolerance: tuple[float, ...]) -> tuple[list[float], int]:
    """Return the best value of every level given the best of higher ones, and the number of allowed assignments.

    free       objects that may be anywhere; the others stay
    tolerance  allowed distance of a level from its best, for lower levels
    """
    compiled = Compiled.of(problem)
    cells = compiled.graph.cells
    hard = [(n, cell) for n, cell in enumerate(cells) if cell.hard]
    found = []
    for places in itertools.product(range(len(problem.containers)), repeat=len(free)):
        assignment = problem.initial.copy()
        assignment[free] = places
        values = compute(compiled.graph, problem.initial, assignment)
        for n, cell in hard:
            keys = np.arange(cell.shape[0] * cell.shape[1])
            now, before = start_of(cell, values[n], keys), start_of(cell, compiled.start[n], keys)
            if (cell.apply(now, cell.parameter) > cell.apply(before, cell.parameter) + SLACK).any():
                break
        else:
            found.append(compiled.values(assignment))
    table = np.array(found)
    best, allowed = [], len(table)
    for level in range(compiled.levels):
        best.append(float(table[:, level].min()))
        table = table[table[:, level] <= best[-1] + SLACK + tolerance[level]]
    return best, allowed

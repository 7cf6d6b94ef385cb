"""Read files of the ROADEF/EURO 2012 machine reassignment problem, and state it in specs."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.group_dependency import GroupDependencySpec
from libs.assignment.language.specs.group_move_limit import Aggregate, GroupMoveLimitSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec


class _Numbers:
    """The whole numbers of a file, one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a word that is no number would otherwise end the reading silently
            self.all = np.fromstring(path.read_text(), dtype=np.int64, sep=" ")
        self.at = 0

    def take(self, count: int) -> Ints:
        if self.at + count > len(self.all):
            raise ValueError(f"{self.path}: ends too early")
        self.at += count
        return self.all[self.at - count : self.at]

    def one(self) -> int:
        return int(self.take(1)[0])

    def rows(self, count: int, width: int) -> Ints:
        return self.take(count * width).reshape(count, width)


def load_roadef(model: Path, assignment: Path) -> Problem:
    """Return the problem of two files of the challenge. Goals are summed as in the challenge: its own weights, no
    scales.
    """
    numbers = _Numbers(model)
    resources = numbers.rows(numbers.one(), 2)
    r = len(resources)
    m = numbers.one()
    machines = numbers.rows(m, 2 + 2 * r + m)
    spread, depends = _services(numbers)
    processes = numbers.rows(numbers.one(), 2 + r)
    balances = numbers.rows(numbers.one(), 4)
    process_weight, service_weight, machine_weight = numbers.take(3)
    if numbers.at != len(numbers.all):
        raise ValueError(f"{model}: numbers are left over")

    initial = np.array(assignment.read_text().split(), dtype=np.int64)
    problem = Problem(objects=len(processes), containers=m, initial=initial)
    problem.add_scope("neighbourhood", machines[:, 0])
    problem.add_scope("location", machines[:, 1])
    problem.add_partition("service", processes[:, 0], len(spread))
    need, capacity, safety = processes[:, 1 : 1 + r], machines[:, 2 : 2 + r], machines[:, 2 + r : 2 + 2 * r]
    for k, (transient, weight) in enumerate(resources):
        name = f"resource {k}"
        problem.add_dimension(name, need[:, k], containers=capacity[:, k])
        flavour = Flavour.DURING_AND_AFTER if transient else Flavour.AFTER
        problem.add_constraint(CapacitySpec(name=f"{name} fits", dimension=name, flavour=flavour))
        spare = Limit(items=safety[:, k])
        _add_goal(problem, CapacitySpec(name=f"{name} load", dimension=name, limit=spare), weight)
    problem.add_constraint(GroupCountSpec(name="one process of a service on a machine", partition="service"))
    apart = Limit(groups=spread)
    problem.add_constraint(ColocateGroupsSpec(scope="location", partition="service", limit=apart, bound=Bound.MIN))
    problem.add_constraint(GroupDependencySpec(scope="neighbourhood", partition="service", pairs=depends))
    for k, (one, other, target, weight) in enumerate(balances):
        _add_balance(problem, f"balance {k}", need, capacity, int(one), int(other), float(target), float(weight))
    problem.add_dimension("move cost", processes[:, 1 + r])
    _add_goal(problem, MinimizeMovementSpec(dimension="move cost"), process_weight)
    worst = GroupMoveLimitSpec(partition="service", limit=Limit(default=0), aggregate=Aggregate.MAX)
    _add_goal(problem, worst, service_weight)
    reach = ("container", initial, -machines[:, 2 + 2 * r :])
    problem.add_dimension("nearness", 1.0, by_item=reach, signed=True)
    _add_goal(problem, AssignmentAffinitiesSpec(dimension="nearness"), machine_weight)
    return problem


def _services(numbers: _Numbers) -> tuple[Floats, list[tuple[int, int]]]:
    """Return the least number of locations of each service, (S,), and pairs of a service and one that it depends on."""
    spread: list[int] = []
    depends: list[tuple[int, int]] = []
    for service in range(numbers.one()):
        spread.append(numbers.one())
        depends.extend((service, int(other)) for other in numbers.take(numbers.one()))
    return np.array(spread, dtype=np.float64), depends


def _add_balance(
    problem: Problem, name: str, need: Ints, capacity: Ints, one: int, other: int, target: float, weight: float
) -> None:
    """Add max(0, target * free of one resource - free of another), which is a load over a limit."""
    used = need[:, other] - target * need[:, one]
    most = capacity[:, other] - target * capacity[:, one]
    problem.add_dimension(name, used, containers=most, signed=True)
    _add_goal(problem, CapacitySpec(name=name, dimension=name), weight)


def _add_goal(
    problem: Problem,
    spec: CapacitySpec | MinimizeMovementSpec | GroupMoveLimitSpec | AssignmentAffinitiesSpec,
    weight: float,
) -> None:
    if weight:
        problem.add_goal(spec, weight=float(weight), normalise=False)

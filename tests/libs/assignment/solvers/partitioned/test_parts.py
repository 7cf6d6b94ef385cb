"""Objects and containers are distributed evenly to parts, and indivisible sets stay together."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.errors import ModelError
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.partitioned.dealing import deal
from libs.assignment.solvers.partitioned.parts import plan_parts
from libs.assignment.solvers.partitioned.shared_containers import large_containers
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.settings import Partitioning, SearchLimits
from tests.libs.assignment.crowds import crowd, facilities, nowhere


@pytest.mark.parametrize("how", Deal)
def test_everyone_is_dealt_evenly(how: Deal) -> None:
    kinds, loads = np.arange(600) % 7, np.ones(600)
    of = deal(how, kinds, loads, 6, np.random.default_rng(0))
    counts = np.bincount(of, minlength=6)
    assert counts.max() - counts.min() <= {Deal.RANDOM: 0, Deal.POWER_OF_TWO: 6, Deal.BY_ATTRIBUTE: 1}[how]
    assert (of != deal(how, kinds, loads, 6, np.random.default_rng(1))).any()
    each = np.array([np.bincount(of[kinds == kind], minlength=6) for kind in range(7)])
    if how is Deal.BY_ATTRIBUTE:
        assert each.max() - each.min() <= 2


def test_power_of_two_evens_out_what_is_dealt_at_random() -> None:
    loads = np.random.default_rng(2).pareto(1.5, size=400) + 1
    worst = {}
    for how in (Deal.RANDOM, Deal.POWER_OF_TWO):
        of = [deal(how, np.zeros(400), loads, 8, np.random.default_rng(seed)) for seed in range(20)]
        worst[how] = np.mean([np.bincount(one, weights=loads).max() for one in of])
    assert worst[Deal.POWER_OF_TWO] < worst[Deal.RANDOM]


def test_a_container_that_holds_everything_is_in_every_part() -> None:
    problem = nowhere()
    assert large_containers(np.append(np.zeros(20), 1.0), 4).tolist() == [20]
    parts = plan_parts(compile_problem(problem), 4, how=Deal.BY_ATTRIBUTE, seed=0)
    assert all(20 in part.containers for part in parts)
    assert sorted(np.concatenate([part.objects for part in parts])) == list(range(400))
    assert [len(part.objects) for part in parts] == [100] * 4
    result = solve_partitioned(problem, SearchLimits(tries_max=200_000), options=Partitioning(parts=4, polish=0.0))
    assert result.broken == (0.0, 0.0)
    assert result.objective[1][0] == 0.0  # all 400 are placed


def test_a_pool_is_in_every_part_however_little_it_holds() -> None:
    """Nothing counts in the last container: it is outside the scope of all goals."""
    problem = Problem(objects=100, containers=11, initial=np.append(np.arange(95) % 10, np.full(5, 10)))
    problem.add_scope("real", np.append(np.arange(10), -1))
    problem.add_goal(BalanceSpec(dimension="count", scope="real"))
    problem.add_goal(MinimizeMovementSpec())
    parts = plan_parts(compile_problem(problem), 4, how=Deal.BY_ATTRIBUTE, seed=0)
    assert all(10 in part.containers for part in parts)
    assert all((problem.initial[part.objects] == 10).sum() <= 2 for part in parts)


def test_a_facility_that_costs_rent_is_not_split() -> None:
    problem = facilities()
    with pytest.raises(
        ModelError, match="MinimizeBinsSpec: depends on whether container 3 is used, so parts cannot share it"
    ):
        plan_parts(compile_problem(problem), 2, how=Deal.RANDOM, seed=0, split=[3])


def test_scope_items_stay_together_where_asked() -> None:
    problem = crowd()
    for how in Deal:
        parts = plan_parts(compile_problem(problem), 3, how=how, seed=0, together="rack")
        for rack in range(6):
            assert sum(bool((part.containers // 4 == rack).any()) for part in parts) == 1

import dataclasses

import numpy as np
import pytest

from libs.domain.world import FluxPolicy
from libs.flux.program.placement import plan_placement
from libs.flux.program.problem import joint_problem
from libs.flux.report.explain import explain
from tests.builders.world import random_world


def solved_world(world, **changes):
    words, models, inputs = world
    inputs = dataclasses.replace(inputs, **changes)
    p = joint_problem(words, models, inputs)
    return p, plan_placement(p, inputs)


@pytest.mark.parametrize("seed", range(4))
def test_the_parts_of_a_change_are_the_whole_change(seed):
    p, solved = solved_world(random_world(seed))
    why = explain(p, solved)
    change = p.own(solved.plan.capacity[0]) - p.own(p.kappa)
    assert why.by_traffic.sum(1) + why.by_residual == pytest.approx(change, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_what_pulls_a_product_is_in_balance_in_every_region(seed):
    """At an optimum the marginal cost of traffic, with all charges, is the same in every region."""
    p, solved = solved_world(random_world(seed, supply=1.0))
    assert explain(p, solved).pull.sum(0) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_price_of_hardware_is_what_another_solve_saves(seed):
    words, models, inputs = random_world(seed, supply=0.98, steps=1)
    inputs = dataclasses.replace(inputs, growth=np.zeros_like(inputs.growth))  # growth shares would move the program
    p, solved = solved_world((words, models, inputs))
    price = explain(p, solved).hardware
    place = np.unravel_index(np.argmax(price), price.shape)
    assert price[place] > 0
    step = 1e-4 * inputs.supply[place]
    costs = []
    for sign in (1.0, -1.0):
        supply = inputs.supply.copy()
        supply[place] += sign * step
        # shares of the spare pool move with the supply, so both sides of the comparison switch them off
        policy = FluxPolicy(e6_spare_balance=0.0)
        costs.append(solved_world((words, models, inputs), supply=supply, policy=policy)[1].solution.objective)
    p, plain = solved_world((words, models, inputs), policy=FluxPolicy(e6_spare_balance=0.0))
    price = explain(p, plain).hardware[place]
    saved, cost = plain.solution.objective - costs[0], costs[1] - plain.solution.objective
    assert saved / step - 1e-6 <= price <= cost / step + 1e-6  # the objective is convex in the supply


def test_what_pulled_is_named():
    words, models, inputs = random_world(3, steps=1)
    scarce = inputs.supply.copy()
    scarce[:, :, 1] *= 0.5
    quiet = FluxPolicy(e2_largest_region=0.0, e4_double_occupancy=0.0, e6_spare_balance=0.0)
    p, solved = solved_world((words, models, inputs), supply=scarce, policy=quiet)
    moved = solved.plan.traffic[0] - p.xi
    left = int(np.argmin(moved[:, 1]))
    assert moved[left, 1] < -0.01
    assert explain(p, solved).pulled_by(left, 1, moved[left, 1]) == "Hardware"
    uneven = FluxPolicy(e2_largest_region=100.0, e1_traffic_shift=0.01, e4_double_occupancy=0.0)
    p, solved = solved_world((words, models, inputs), supply=inputs.supply * 3, policy=uneven)
    moved = solved.plan.traffic[0] - p.xi
    product, region = np.unravel_index(np.argmin(moved), moved.shape)
    assert explain(p, solved).pulled_by(product, region, moved[product, region]) == "LargestRegion"
    most = inputs.presence_max.copy()
    most[0, 2] = 0.5 * models.presence[0, 2]
    p, solved = solved_world((words, models, inputs), presence_max=most)
    assert explain(p, solved).pulled_by(0, 2, -0.1) == "Limits"

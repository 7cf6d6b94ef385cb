import dataclasses

import numpy as np
import pytest

from libs.domain.load_tests import LoadTests
from libs.flux.models.load_models import fit_load_models
from libs.flux.program.placement import plan_placement
from libs.flux.program.problem import joint_problem
from libs.flux.program.region_loss import diverted, simulate_losses
from libs.plan_check.placement import check_placement
from tests.builders.world import random_world


def load_tests_of(services, S, *, served=1000.0, limit=np.nan):
    """Return load tests: a unit of capacity serves `served` requests/s at a utilisation of 0.8, and fewer beyond
    0.6.
    """
    q = np.linspace(0.1, 1.1, 11) * served
    u = 0.7 * q / served + np.maximum(q / served - 0.6, 0) * 0.25
    return LoadTests(
        service=np.repeat(np.array(services, np.int32), len(q)),
        throughput=np.tile(q, len(services)),
        utilisation=np.tile(u, len(services)),
        utilisation_max=np.full(S, limit),
    )


def test_lost_traffic_goes_where_its_product_is():
    x = np.array([[[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]]])
    after = diverted(x)[0]
    assert after[0, :, 0] == pytest.approx([0.0, 0.6, 0.4])  # 0.5 spread over 0.3 and 0.2
    assert after[0, :, 1] == pytest.approx([0.5 / 0.7, 0.0, 0.2 / 0.7])
    assert after[1, :, 0] == pytest.approx([0.0, 1.0, 0.0])  # the lost region had nothing
    assert after[1, :, 1] == pytest.approx([0.5, 0.0, 0.5])  # no other region had it: evenly


def test_the_loss_that_decides_is_the_one_that_sends_most():
    x = np.array([[[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]])
    needed = np.array([[10.0, 0.0], [0.0, 10.0], [0.0, 0.0]])
    found = simulate_losses(needed, x)
    assert found.decides[0, 0].tolist() == [1, 0, 0]
    assert found.decides[0, 1].tolist() == [2, 2, 0]
    assert found.needed[0, 0] == pytest.approx([5 / 0.7, 6.0, 4.0])
    assert found.needed[0, 1] == pytest.approx([5.0, 5.0, 8 / 0.9])
    assert not found.needed[0, 2].any()


def test_capacity_per_product_is_read_from_the_curve():
    _, models, _ = random_world(0)
    S = len(models.capacity)
    found = fit_load_models(models, load_tests_of([2], S, served=500.0), 0.8)
    assert found.tested.tolist() == [s == 2 for s in range(S)]
    assert found.throughput[2] == pytest.approx(500.0, rel=0.02)
    assert found.needed[2] == pytest.approx(models.throughput[2] * models.attribution[2] / found.throughput[2])
    lower = fit_load_models(models, load_tests_of([2], S, served=500.0, limit=0.35), 0.8)
    assert lower.throughput[2] == pytest.approx(250.0, rel=0.02)  # the curve is straight down there
    assert lower.limit[2] == 0.35


def test_tests_that_say_nothing_leave_the_linear_model_and_say_why():
    _, models, _ = random_world(0)
    S = len(models.capacity)
    unknown = dataclasses.replace(models, throughput=np.zeros(S))
    assert fit_load_models(unknown, load_tests_of([1], S), 0.8).reasons[1] == ("ThroughputUnknown",)
    few = LoadTests(
        service=np.array([1], np.int32),
        throughput=np.ones(1),
        utilisation=np.ones(1),
        utilisation_max=np.full(S, np.nan),
    )
    found = fit_load_models(models, few, 0.8)
    assert found.reasons[1] == ("TooFewPoints",)
    assert not found.needed.any()
    assert fit_load_models(models, load_tests_of([1], S, limit=1.0), 0.8).reasons[1] == ("LimitNotTested",)


@pytest.mark.parametrize("seed", range(6))
def test_a_plan_outlasts_the_loss_of_any_region(seed):
    words, models, inputs = random_world(seed, regions=5, several=[(0, 1, 1.5)] if seed % 2 else [], supply=1.6)
    S, tested = len(words.services), [0, 1, 3]
    inputs = dataclasses.replace(inputs, load_tests=load_tests_of(tested, S, served=900.0))
    p = joint_problem(words, models, inputs)
    solved = plan_placement(p, inputs)
    without = plan_placement(dataclasses.replace(p, load=np.zeros_like(p.load)), inputs)
    needed = simulate_losses(p.load, solved.plan.traffic).needed[:, tested]
    had = simulate_losses(p.load, without.plan.traffic).needed[:, tested]
    assert solved.settled
    assert (p.own(solved.plan.capacity)[:, tested] >= needed * (1 - 1e-3)).all()
    assert (p.own(without.plan.capacity)[:, tested] < had * 0.99).any()  # the linear model alone does not
    assert check_placement(words, models, inputs, solved.plan) == []
    assert solved.solution.objective > without.solution.objective


def test_services_with_room_enough_change_nothing():
    words, models, inputs = random_world(3, regions=5)
    roomy = dataclasses.replace(inputs, load_tests=load_tests_of([0, 1], len(words.services), served=1e6))
    plans = [plan_placement(joint_problem(words, models, i), i) for i in (inputs, roomy)]
    assert plans[1].solution.objective == pytest.approx(plans[0].solution.objective, rel=1e-9)
    assert plans[1].rounds == 1

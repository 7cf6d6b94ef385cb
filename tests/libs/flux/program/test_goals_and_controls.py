"""Wishes of owners, operators and other writers change the plan. Each test fails without its rule."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.execution_plan import Phase
from libs.domain.load_tests import LoadTests
from libs.domain.world import FluxPolicy
from libs.flux.execution.plan import plan_execution
from libs.flux.program.placement import plan_placement
from libs.flux.program.problem import joint_problem
from libs.interchange.world.planning_inputs import load_planning_inputs
from libs.interchange.world.read import load_vocabulary
from libs.plan_check.placement import check_placement
from tests.builders.world import random_world, write_table, write_world


def solve(world, **changes):
    words, models, inputs = world
    inputs = replace(inputs, **changes)
    p = joint_problem(words, models, inputs)
    solved = plan_placement(p, inputs)
    assert check_placement(words, models, inputs, solved.plan) == []
    return p, solved.plan


def controlled(world, **changes):
    return replace(world[2].controls, **changes)


def test_what_the_ledger_plans_is_where_the_plan_starts():
    world = random_world(1, steps=1)
    words, models, inputs = world
    still = controlled(world, rebalance=np.zeros(6, bool))
    ledger = np.zeros_like(inputs.ledger)
    ledger[0, 2, 0], ledger[0, 3, 1] = 5.0, -0.2 * models.baseline[3, 1]
    _, without = solve(world, controls=still)
    p, plan = solve(world, controls=still, ledger=ledger)
    assert p.kappa == pytest.approx(models.baseline + ledger[0])
    assert plan.residual[0] - without.residual[0] == pytest.approx(ledger[0])  # no model explains the plans of others
    assert plan.capacity[0, 2].sum() >= models.baseline[2].sum() + 5.0 - 1e-6  # and it is not removed again
    held = replace(inputs, controls=still, ledger=ledger)
    resized = {(a.service, a.region): a for a in plan_execution(words, models, held, plan).actions}
    for s, r in ((2, 0), (3, 1)):
        action = resized.get((str(words.services[s]), str(words.regions[r])))
        if action is not None:  # the change of others is not made a second time
            assert action.before == pytest.approx(models.baseline[s, r] + ledger[0, s, r])
    freed = np.maximum(models.baseline + ledger[0] - plan.capacity[0], 0.0)
    assert plan.double_occupancy[0] == pytest.approx(p.pooled(freed))


def test_the_ledger_sums_what_all_writers_plan(tmp_path):
    folder = write_world(tmp_path / "world", traces=2)
    header = ["step", "kind", "service", "region", "hardware_type", "delta"]
    where = ["store", "east", "compute"]
    rows = [
        ["", "manual", *where, 0.5],
        [1, "launch", *where, -0.2],
        [2, "launch", *where, 2.0],
        [9, "late", *where, 7.0],
    ]
    write_table(folder, "ledger", header, rows)
    words = load_vocabulary(folder)
    inputs = load_planning_inputs(folder, words)
    at = list(words.services).index("store"), list(words.regions).index("east")
    assert inputs.step.tolist() == [1, 2]
    assert inputs.ledger[:, *at] == pytest.approx([0.3, 2.3])  # a change of step 2 is none of today
    assert np.count_nonzero(inputs.ledger) == 2


def test_a_later_change_of_others_counts_from_its_step_on():
    world = random_world(1, steps=2)
    words, models, inputs = world
    still = controlled(world, rebalance=np.zeros(6, bool))
    ledger = np.zeros_like(inputs.ledger)
    ledger[1, 2, 0] = 5.0
    _, without = solve(world, controls=still)
    p, plan = solve(world, controls=still, ledger=ledger)
    assert p.kappa == pytest.approx(models.baseline)
    assert plan.residual - without.residual == pytest.approx(p.own(ledger))
    assert plan.capacity[1, 2].sum() >= models.baseline[2].sum() + 5.0 - 1e-6
    held = replace(inputs, controls=still, ledger=ledger)
    here = str(words.services[2]), str(words.regions[0])
    resized = [a for a in plan_execution(words, models, held, plan).actions if (a.service, a.region) == here]
    assert all(a.before == pytest.approx(models.baseline[2, 0]) for a in resized)


def test_a_shift_of_others_is_where_the_traffic_starts():
    world = random_world(1, steps=1)
    words, models, inputs = world
    shifts = np.zeros_like(inputs.shifts)
    shifts[0, 0], shifts[0, 1] = -0.05, 0.05
    p, plan = solve(world, shifts=shifts)
    assert p.xi == pytest.approx(models.presence + shifts)
    assert p.rho[0] == pytest.approx(p.own(p.kappa) - p.phi @ (models.presence + shifts))
    moved, regions = np.zeros(len(words.regions)), words.regions.tolist()
    for action in plan_execution(words, models, replace(inputs, shifts=shifts), plan).actions:
        if action.phase is Phase.SHIFT and action.product == words.products[0]:
            moved[regions.index(action.region)] -= action.after
            moved[regions.index(action.to_region)] += action.after
    assert moved == pytest.approx(plan.traffic[0, 0] - p.xi[0], abs=1e-5)  # the shift of others is not made again
    beyond = replace(inputs, shifts=10 * shifts)
    assert models.start_presence(beyond).min() >= 0.0
    assert models.start_presence(beyond).sum(1) == pytest.approx(1.0)


def test_a_region_that_gives_more_than_it_has_takes_nothing_from_others():
    _, models, inputs = random_world(1, steps=1)
    has = models.presence[0]
    shifts = np.zeros_like(inputs.shifts)
    shifts[0] = np.array([-2.0, 1.5, 0.5, 0.0]) * has[0]
    start = models.start_presence(replace(inputs, shifts=shifts))
    assert start[0] == pytest.approx([0.0, has[1] + 0.75 * has[0], has[2] + 0.25 * has[0], has[3]])
    assert start[1:] == pytest.approx(models.presence[1:])


def test_shifts_of_the_ledger_are_read_until_the_first_step_ends(tmp_path):
    folder = write_world(tmp_path / "world", traces=2)
    header = ["step", "product", "from_region", "to_region", "share"]
    write_table(folder, "ledger_shifts", header, [[1, "shop", "east", "west", 0.1], [2, "shop", "west", "east", 0.5]])
    words = load_vocabulary(folder)
    shifts = load_planning_inputs(folder, words).shifts
    shop, regions = list(words.products).index("shop"), list(words.regions)
    assert shifts[shop, regions.index("east")] == pytest.approx(-0.1)
    assert shifts[shop, regions.index("west")] == pytest.approx(0.1)
    assert np.count_nonzero(shifts) == 2


@pytest.mark.parametrize("rebalance", [True, False])
@pytest.mark.parametrize("several", [(), [(0, 1, 0.5)]])
def test_a_service_without_measurements_has_what_others_give_it_within_its_controls(rebalance, several):
    words, models, inputs = random_world(5, several=several)
    at = words.placement_service == 0
    unknown = {"capacity": np.where(np.arange(6) == 0, 0.0, models.capacity)}
    unknown |= {"modelled": np.arange(6) > 0, "baseline": np.where(at[:, None], 0.0, models.baseline)}
    ledger, granted = inputs.ledger.copy(), np.full(inputs.ledger.shape, np.nan)
    granted[:, 0, 0] = 20.0
    ledger[:, 0, 1], ledger[1, 0, 2] = 10.0, 5.0
    least, most = inputs.controls.capacity_min.copy(), inputs.controls.capacity_max.copy()
    least[0, 3], most[0, 1] = 4.0, 7.0
    services = np.where(np.arange(6) == 0, rebalance, inputs.controls.rebalance)
    controls = replace(inputs.controls, capacity_min=least, capacity_max=most, rebalance=services)
    inputs = replace(inputs, ledger=ledger, granted=granted, controls=controls)
    world = words, replace(models, **unknown), inputs
    _, plan = solve(world)
    assert plan.capacity[:, 0] == pytest.approx(np.array([[20, 7, 0, 4], [20, 7, 5, 4]]), abs=1e-6)
    assert plan.capacity[:, 6:].sum() == pytest.approx(0.0, abs=1e-6)


def test_a_residual_that_the_owner_keeps_stays_and_others_shrink():
    world = random_world(4)
    p, kept = solve(world, controls=controlled(world, rebalance=np.zeros(6, bool)))
    assert kept.residual == pytest.approx(np.broadcast_to(p.rho, kept.residual.shape))
    _, free = solve(world, controls=controlled(world, rebalance=np.ones(6, bool)))
    assert np.abs(free.residual).sum() < 0.7 * np.abs(kept.residual).sum()


def test_how_strongly_to_rebalance_is_per_service_and_region():
    world = random_world(4)
    shape = world[2].controls.rebalance_weight.shape

    def residual_of_first(weight):
        weights = np.ones(shape)
        weights[0] = weight
        _, plan = solve(world, controls=controlled(world, rebalance=np.ones(6, bool), rebalance_weight=weights))
        return np.abs(plan.residual[0, 0]).sum()

    assert residual_of_first(0.0) > 2 * residual_of_first(1.0) + 1e-6


@pytest.mark.parametrize("direction", [1, -1])  # a place that would grow, and one that would shrink
def test_a_blocked_place_stays_as_it_is(direction):
    world = random_world(4)
    words, models, inputs = world
    _, free = solve(world, controls=controlled(world, rebalance=np.ones(6, bool)))
    s, r = np.unravel_index((direction * (free.capacity[0] - models.baseline)).argmax(), models.baseline.shape)
    least, most = inputs.controls.capacity_min.copy(), inputs.controls.capacity_max.copy()
    least[s, r] = most[s, r] = models.baseline[s, r]
    blocked = controlled(world, rebalance=np.ones(6, bool), capacity_min=least, capacity_max=most)
    _, plan = solve(world, controls=blocked)
    assert plan.capacity[:, s, r] == pytest.approx(models.baseline[s, r])
    execution = plan_execution(words, models, replace(inputs, controls=blocked), plan)
    names = str(words.services[s]), str(words.regions[r])
    resizes = (Phase.UPSIZE, Phase.DOWNSIZE)
    assert not [a for a in execution.actions if (a.service, a.region) == names and a.phase in resizes]


def changes(p, plan):
    before = np.concatenate([p.kappa[None], plan.capacity[:-1]])
    return np.maximum(plan.capacity - before, 0.0), np.maximum(before - plan.capacity, 0.0)


def left_over(p, plan):
    """Return the supply that neither capacity nor growth nor spare uses."""
    return p.supply + plan.deficit - plan.spare - p.pooled(plan.capacity + plan.growth)


@pytest.mark.parametrize(("upsized", "downsized"), [(1.3, 1.0), (1.0, 0.6), (1.2, 0.8)])
def test_upsizes_carry_and_reclaims_discount_what_past_cycles_did(upsized, downsized):
    world = random_world(1, steps=2, supply=1.02)
    p, plain = solve(world)
    assert left_over(p, plain) == pytest.approx(0.0, abs=1e-6)
    p, plan = solve(world, policy=FluxPolicy(executed_upsize_share=upsized, executed_downsize_share=downsized))
    added, freed = changes(p, plan)
    set_aside = p.pooled((upsized - 1) * added + (1 - downsized) * freed)
    assert set_aside.sum() > 0.1
    assert left_over(p, plan) == pytest.approx(set_aside, abs=1e-6)
    again = changes(p, plain)
    assert (added + freed).sum() < again[0].sum() + again[1].sum()  # expensive services move less


def test_a_product_that_ends_has_no_traffic_and_holds_nothing_up():
    words, models, inputs = random_world(2, steps=3)
    points = LoadTests(
        service=np.zeros(8, np.int32),
        throughput=np.linspace(100, 1000, 8),
        utilisation=np.linspace(0.1, 0.9, 8),
        utilisation_max=np.full(6, np.nan),
    )
    ends = np.where(np.arange(3) == 1, np.array([[0.0], [-1.0], [-1.0]]), 0.0)
    p, plan = solve((words, models, inputs), traffic_growth=ends, load_tests=points)
    assert p.load[0].any()
    assert plan.traffic[:, 1].sum(1) == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)


def test_the_first_step_counts_no_fall():
    words, models, inputs = random_world(2, steps=4)
    growth = np.array([[0.5, -0.5, 0.0], [-0.2, -0.5, 0.0], [-0.2, 0.1, 0.0], [0.0, 0.0, 0.0]])
    p, plan = solve((words, models, inputs), traffic_growth=growth)
    counted = np.array([[1.5, 1.0, 1.0], [0.8, 0.5, 1.0], [0.8, 1.1, 1.0], [1.0, 1.0, 1.0]])
    assert p.traffic == pytest.approx(counted)
    assert plan.traffic.sum(2) == pytest.approx(counted)
    still = replace(inputs, traffic_growth=np.zeros_like(growth))
    assert "TrafficLost" in {one.reason for one in check_placement(words, models, still, plan)}


@pytest.mark.parametrize("seed", [0, 1, 5, 6])
def test_the_small_part_of_growth_that_is_granted_follows_capacity(seed):
    words, models, inputs = random_world(seed, supply=1.0)
    growth, priority = 20 * inputs.growth, np.ones_like(inputs.growth)
    _, plan = solve((words, models, inputs), growth=growth, growth_priority=priority)
    assert plan.granted[growth > 0].min() < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_upsizes_that_are_not_planned_hide_no_spare(seed):
    words, models, inputs = random_world(seed)
    inputs = replace(inputs, policy=FluxPolicy(executed_upsize_share=1.5), growth=np.zeros_like(inputs.growth))
    p = joint_problem(words, models, inputs)
    solved = plan_placement(p, inputs)
    assert solved.solution.x[solved.joint.columns.s] == pytest.approx(solved.plan.spare, abs=1e-6)


def test_a_service_that_changes_its_type_has_room_on_both_until_it_has_moved():
    words, models, inputs = random_world(3, types=2, steps=1, supply=1.3, several=[(0, 1, 0.5), (1, 0, 2.0)])
    kind = words.service_type[0]
    supply = inputs.supply.copy()
    supply[0, kind] *= 0.55  # the type disappears; services that may run on the other one have to
    supply[0, 1 - kind] *= 2.0
    free = replace(inputs.controls, rebalance=np.ones(6, bool))
    p, plan = solve((words, models, inputs), supply=supply, controls=free)
    added, freed = changes(p, plan)
    moved = [k for k in range(6, len(words.placement_service)) if added[0, k].sum() > 0.05]
    assert moved
    assert plan.double_occupancy == pytest.approx(p.pooled(freed))
    both = p.pooled(np.maximum(plan.capacity[0], p.kappa))[None]  # after the upsizes, before the downsizes
    assert (both <= supply + plan.deficit + 1e-6).all()

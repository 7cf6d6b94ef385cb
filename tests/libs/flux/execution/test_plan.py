from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from libs.domain.execution_plan import Action, Phase
from libs.domain.placement_plan import PlacementPlan
from libs.flux.execution.plan import SMALL, plan_execution, scheduled
from libs.flux.program.placement import plan_placement
from libs.flux.program.problem import joint_problem
from libs.plan_check.execution import check_execution
from libs.plan_check.placement import check_placement
from tests.builders.world import random_world
from tests.golden.dag_worlds import planned_world


@pytest.fixture(scope="module")
def planned():
    words, models, inputs = random_world(7, services=12, several=[(3, 0, 0.5), (4, 1, 2.0)])
    problem = joint_problem(words, models, inputs)
    solved = plan_placement(problem, inputs)
    return words, models, inputs, problem, solved, plan_execution(words, models, inputs, solved.plan)


def states(execution):
    """Yield random intermediate states: actions finished in an order that respects their dependencies."""
    rng = np.random.default_rng(5)
    waits = {a.action: set(a.waits_for) for a in execution.actions}
    for _ in range(30):
        done = set()
        while len(done) < len(waits):
            ready = sorted(name for name, before in waits.items() if name not in done and before <= done)
            done.add(ready[rng.integers(len(ready))])
            yield done


def test_carried_out_in_any_order_it_ends_in_the_plan_and_always_fits(planned):
    words, _, _, p, solved, execution = planned
    by_id = {a.action: a for a in execution.actions}
    at = {str(name): r for r, name in enumerate(words.regions)}
    kind = {str(name): h for h, name in enumerate(words.hardware_types)}
    for done in states(execution):
        used = p.pooled(p.kappa).copy()
        for name in done:
            a = by_id[name]
            if a.service is not None:
                used[kind[a.hardware_type], at[a.region]] += a.after - a.before
        assert (used <= p.supply[0] + solved.plan.deficit[0] + 1e-6).all()
    # Omitted changes are small, by definition, and here all of a pool together.
    assert used == pytest.approx(p.pooled(solved.plan.capacity[0] + solved.plan.growth[0]), rel=5e-3)


def test_services_are_large_enough_before_traffic_comes_and_until_it_is_gone(planned):
    *_, execution = planned
    graph = nx.DiGraph((before, a.action) for a in execution.actions for before in a.waits_for)
    for a in execution.actions:
        if a.phase is Phase.SHIFT:
            assert {b.split("/")[0] for b in nx.ancestors(graph, a.action)} <= {"upsize", "shift"}
        if a.phase is Phase.DOWNSIZE and a.waits_for:
            assert all(b.startswith(("shift/", f"upsize/{a.service}/{a.region}/")) for b in a.waits_for)
    assert any(a.phase is Phase.GROW for a in execution.actions)


def test_a_service_that_changes_its_type_keeps_the_old_one_until_the_new_one_serves():
    words, models, inputs = random_world(1, services=3, supply=1.3, steps=1, several=[(0, 0, 1.0)])
    kind = 1 - words.service_type[0]
    words = replace(words, placement_type=np.array([*words.service_type, kind], np.int32))
    plan = plan_placement(joint_problem(words, models, inputs), inputs).plan
    capacity = models.start_baseline(inputs)[:1].copy()
    capacity[0, 3], capacity[0, 0] = 0.5 * capacity[0, 0], 0.5 * capacity[0, 0]
    plan = replace(plan, capacity=capacity, traffic=models.start_presence(inputs)[None], growth=0 * capacity)
    actions = plan_execution(words, models, inputs, plan).actions
    downsizes = [a for a in actions if a.phase is Phase.DOWNSIZE]
    assert not any(a.phase is Phase.SHIFT for a in actions)
    assert len(downsizes) == len(words.regions)
    for a in downsizes:
        assert a.waits_for == (f"upsize/service-0/{a.region}/{words.hardware_types[kind]}",)


def exchange(room):
    """Two products that change places, and pools with `room` times what the resizes need at once."""
    words, models, inputs = random_world(3, services=4, products=2, regions=2, steps=1, types=1)
    present = np.array([[0.7, 0.3], [0.3, 0.7]])
    need = models.phi() @ present
    models = replace(models, presence=present, baseline=need, reasons=np.array([(), (), (), (), None], object)[:4])
    after = present[:, ::-1]
    at_once = np.maximum(need, models.phi() @ after).sum(0).max()
    inputs = replace(inputs, supply=np.full((1, 1, 2), room * at_once), growth=np.zeros((1, 4)))
    zeros = np.zeros((1, 4, 2))
    plan = PlacementPlan(
        step=np.array([1]),
        traffic=after[None],
        capacity=(models.phi() @ after)[None],
        growth=zeros,
        residual=zeros,
        granted=np.ones((1, 4)),
        spare=np.zeros((1, 1, 2)),
        deficit=np.zeros((1, 1, 2)),
        double_occupancy=np.zeros((1, 1, 2)),
    )
    return words, models, inputs, plan


def worst_excess(words, models, inputs, execution):
    """Return the largest need beyond capacity of any service in any state, as a share of its capacity worldwide."""
    at = {str(name): r for r, name in enumerate(words.regions)}
    row = {str(name): s for s, name in enumerate(words.services)}
    number = {str(name): p for p, name in enumerate(words.products)}
    by_id, worst = {a.action: a for a in execution.actions}, 0.0
    for done in states(execution):
        capacity, traffic = models.present_capacity(inputs).copy(), models.start_presence(inputs).copy()
        begun = {a.action for a in execution.actions if set(a.waits_for) <= done}
        for a in map(by_id.get, begun):
            # A running action may have reached any part of its way: take the part that needs most.
            if a.phase is Phase.SHIFT:
                traffic[number[a.product], at[a.to_region]] += a.after
        for a in map(by_id.get, done):
            if a.phase is Phase.SHIFT:
                traffic[number[a.product], at[a.region]] -= a.after
            else:
                capacity[row[a.service], at[a.region]] += a.after - a.before
        for a in map(by_id.get, begun - done):
            if a.phase is Phase.DOWNSIZE:
                capacity[row[a.service], at[a.region]] += a.after - a.before
        excess = (models.phi() @ traffic - capacity) / models.capacity[:, None]
        worst = max(worst, float(excess.max()))
    return worst


def require_room(words, models, inputs, execution):
    used, held = (
        {(str(r), "hw-0"): float(v[i]) for i, r in enumerate(words.regions)}
        for v in (models.present_capacity(inputs).sum(0), inputs.supply[0, 0])
    )
    assert check_execution(execution, used, held) == []


def upsized(execution):
    return sum(a.after - a.before for a in execution.actions if a.phase is Phase.UPSIZE)


def test_products_that_change_places_never_crowd_a_service(planned):
    """In no state, and with running actions wherever on their way, does a service have less than its traffic needs."""
    words, models, inputs, plan = exchange(room=2.0)
    execution = plan_execution(words, models, inputs, plan)
    assert worst_excess(words, models, inputs, execution) <= 3 * SMALL
    require_room(words, models, inputs, execution)
    [first, second] = [a for a in execution.actions if a.phase is Phase.SHIFT]
    assert first.action in second.waits_for or second.action in first.waits_for
    ends = {(a.service, a.region): a.after for a in execution.actions if a.service and a.phase is Phase.DOWNSIZE}
    for (service, region), size in ends.items():
        at = words.services.tolist().index(service), words.regions.tolist().index(region)
        assert size == pytest.approx(plan.capacity[0][at])


def test_the_room_of_a_pool_bounds_what_an_exchange_gets_on_top():
    words, models, inputs, plan = exchange(room=1.005)
    execution = plan_execution(words, models, inputs, plan)
    require_room(words, models, inputs, execution)
    planned = np.maximum(plan.capacity[0] - models.baseline, 0).sum()
    assert planned < upsized(execution) < upsized(plan_execution(*exchange(room=2.0)))


def test_an_exchange_gives_no_service_more_than_its_controls_allow():
    words, models, inputs, plan = exchange(room=2.0)
    most = np.maximum(models.baseline, plan.capacity[0])
    controls = replace(inputs.controls, capacity_max=most)
    execution = plan_execution(words, models, replace(inputs, controls=controls), plan)
    for a in execution.actions:
        if a.service is not None:
            at = words.services.tolist().index(a.service), words.regions.tolist().index(a.region)
            assert a.after <= most[at] + 1e-9


def test_an_exchange_leaves_out_what_is_too_small_to_matter():
    words, models, inputs, plan = exchange(room=1.0)
    most = np.maximum(models.baseline, plan.capacity[0])
    supply = most.sum(0)[None, None] + 0.5 * SMALL * models.capacity.min()
    execution = plan_execution(words, models, replace(inputs, supply=supply), plan)
    sizes = dict(zip(words.services.tolist(), models.capacity.tolist(), strict=True))
    resizes = [a for a in execution.actions if a.service is not None]
    assert resizes
    assert all(abs(a.after - a.before) >= SMALL * sizes[a.service] for a in resizes)


def test_changes_too_small_to_matter_are_left_out_where_there_is_room(planned):
    words, models, inputs, _, solved, _ = planned
    capacity = models.capacity[words.placement_service][:, None]
    before = models.start_baseline(inputs)[0]
    change = 0.5 * SMALL * capacity * np.where(np.arange(before.size).reshape(before.shape) % 2, 1.0, -1.0)
    plenty, none = np.full_like(solved.plan.spare, 1e9), np.zeros_like(solved.plan.spare)

    def resizes(spare):
        target = solved.plan.capacity.copy()
        target[0] = before + change
        traffic = np.stack([models.start_presence(inputs)] * len(target))
        plan = replace(solved.plan, capacity=target, spare=spare, traffic=traffic)
        return [a for a in plan_execution(words, models, inputs, plan).actions if a.phase in ("upsize", "downsize")]

    assert resizes(plenty) == []
    found = resizes(none)
    assert {a.phase for a in found} == {Phase.DOWNSIZE}
    smaller = {(words.placement_service[k], words.placement_type[k], r) for k, r in np.argwhere(change < 0)}
    assert len(found) == len(smaller)


def test_growth_begins_where_the_resize_before_it_ended(planned):
    *_, execution = planned
    resized = [a for a in execution.actions if a.phase in (Phase.UPSIZE, Phase.DOWNSIZE)]
    ends = {(a.service, a.region, a.hardware_type): a.after for a in resized}
    grows = [a for a in execution.actions if a.phase is Phase.GROW]
    assert grows
    for a in grows:
        place = (a.service, a.region, a.hardware_type)
        assert a.before == ends.get(place, a.before)
    upsizes = {b.action: (b.service, b.region, b.hardware_type) for b in resized if b.phase is Phase.UPSIZE}
    behind = [
        (a, name) for a in grows for name, place in upsizes.items() if place == (a.service, a.region, a.hardware_type)
    ]
    assert behind
    assert all(name in a.waits_for for a, name in behind)


def test_people_are_asked_where_it_is_not_certain(planned):
    words, models, inputs, _, solved, plain = planned
    assert not any(a.approval for a in plain.actions)
    models = replace(models, reasons=np.array([("FewSpans",), *[()] * 11, None], object)[:12])
    unsure = np.arange(12) == 1
    controls = replace(inputs.controls, requires_approval=unsure, lead_time_h=np.where(unsure, 100.0, 0.0))
    found = plan_execution(words, models, replace(inputs, controls=controls), solved.plan)
    for a in found.actions:
        if a.service is not None:
            wanted = {"service-0": ("LowConfidence",), "service-1": ("OwnerApproves",)}.get(a.service, ())
            assert a.approval == wanted
    slow = next(a for a in found.actions if a.service == "service-1" and a.phase is Phase.UPSIZE)
    assert slow.estimate_h == 100.0 + inputs.policy.upsize_h + inputs.policy.approval_h
    assert found.estimate_h > plain.estimate_h
    assert slow.action.split("/")[1] == found.critical_path[0].split("/")[1]


def test_growth_that_passes_a_limit_waits_for_a_person(planned):
    words, models, inputs, _, solved, plain = planned
    grows = [a for a in plain.actions if a.phase is Phase.GROW]
    assert not any(a.approval for a in grows)
    limited, free = grows[0], grows[1]
    k = int(np.flatnonzero((words.services == limited.service)[words.placement_service])[0])
    most = inputs.controls.capacity_max.copy()
    most[k, words.regions.tolist().index(limited.region)] = 0.5 * (limited.before + limited.after)
    controls = replace(inputs.controls, capacity_max=most)
    actions = {
        a.action: a for a in plan_execution(words, models, replace(inputs, controls=controls), solved.plan).actions
    }
    assert actions[limited.action].approval == ("AboveCapacityMax",)
    assert actions[free.action].approval == ()
    most[:] = np.where(np.isfinite(most), limited.after, most)
    actions = {
        a.action: a for a in plan_execution(words, models, replace(inputs, controls=controls), solved.plan).actions
    }
    assert actions[limited.action].approval == ()


def resize(name, before, after, waits=()):
    phase = Phase.UPSIZE if after > before else Phase.DOWNSIZE
    return Action(
        action=name,
        phase=phase,
        service=name,
        region="east",
        hardware_type="hw",
        before=float(before),
        after=float(after),
        waits_for=waits,
    )


def test_the_check_finds_the_worst_state():
    pool = ("east", "hw")
    grow, shrink = resize("a", 0, 5), resize("b", 9, 5)
    free = scheduled([grow, shrink], 1)
    assert [v.reason for v in check_execution(free, {pool: 9.0}, {pool: 13.0})] == ["NoRoom"]
    assert check_execution(free, {pool: 9.0}, {pool: 14.0}) == []
    after = scheduled([resize("a", 0, 5, ("b",)), shrink], 1)
    assert check_execution(after, {pool: 9.0}, {pool: 10.0}) == []
    either = scheduled([resize("a", 0, 5, ("b",)), shrink, resize("c", 0, 3)], 1)
    assert [v.reason for v in check_execution(either, {pool: 9.0}, {pool: 12.0})] == ["NoRoom"]
    assert check_execution(either, {pool: 9.0}, {pool: 13.0}) == []


def test_the_check_finds_circles_and_loose_ends():
    circle = replace(scheduled([], 1), actions=(resize("a", 0, 1, ("b",)), resize("b", 0, 1, ("a",))))
    assert [v.reason for v in check_execution(circle, {}, {})] == ["Circle"]
    loose = replace(circle, actions=(resize("a", 0, 1, ("gone",)),))
    assert [v.reason for v in check_execution(loose, {}, {})] == ["UnknownAction"]


BROKEN = {
    "traffic": "TrafficLost",
    "capacity": "Attribution",
    "residual": "Attribution",
    "growth": "Growth",
    "spare": "Capacity",
    "deficit": "Capacity",
    "double_occupancy": "DoubleOccupancy",
}


@pytest.mark.parametrize("field", BROKEN)
def test_a_plan_that_was_tampered_with_is_refused(planned, field):
    words, models, inputs, _, solved, _ = planned
    assert check_placement(words, models, inputs, solved.plan) == []
    value = getattr(solved.plan, field).copy()
    busiest = np.unravel_index(np.argmax(value[0]), value[0].shape)
    value[(0, *busiest)] += -0.5 * value[(0, *busiest)] if value[(0, *busiest)] > 0 else 10.0
    found = check_placement(words, models, inputs, replace(solved.plan, **{field: value}))
    assert BROKEN[field] in {v.reason for v in found}


def test_a_shift_waits_for_traffic_that_leaves_if_growth_may_come_early():
    """With today's traffic there is room for news at once. It is not there any more when shop has doubled."""
    actions = plan_execution(
        *planned_world(
            traffic={
                "shop": [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]],
                "feed": [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]],
                "news": [[0.0, 0.0, 1.0], [0.5, 0.0, 0.5]],
            },
            services={"store": {"shop": 100, "feed": 200, "news": 200}},
        )
    ).actions
    shifts = {a.action: a for a in actions if a.phase is Phase.SHIFT}
    assert "shift/feed/east/west" in shifts["shift/news/north/east"].waits_for
    assert {a.after for a in shifts.values()} == {0.5}


@pytest.mark.parametrize("seed", range(6))
def test_shifts_lead_to_the_shares_of_the_plan_while_traffic_grows(seed):
    words, models, inputs = random_world(seed, supply=2.0, steps=1)
    inputs = replace(inputs, supply=inputs.supply * [0.55, 1, 1, 1], traffic_growth=np.array([[1.0, 0.3, 0.0]]))
    plan = plan_placement(joint_problem(words, models, inputs), inputs).plan
    share = np.array(models.presence)
    at, number = ({str(n): i for i, n in enumerate(names)} for names in (words.regions, words.products))
    for a in plan_execution(words, models, inputs, plan).actions:
        if a.phase is Phase.SHIFT:
            share[number[a.product], at[a.region]] -= a.after
            share[number[a.product], at[a.to_region]] += a.after
    assert np.abs(share - models.presence).max() > 0.02
    assert share == pytest.approx(plan.traffic[0] / plan.traffic[0].sum(1, keepdims=True), abs=1e-5)
    assert plan.moved(models.presence)[0] == pytest.approx(
        0.5 * np.abs(share - models.presence).sum(1).mean(), abs=1e-5
    )


def test_growth_alone_shifts_nothing():
    shares = [0.5, 0.3, 0.2]
    words, models, inputs, plan = planned_world(
        traffic={"shop": [shares, [1.0, 0.6, 0.4]]}, services={"store": {"shop": 100}}
    )
    actions = plan_execution(words, models, inputs, plan).actions
    assert {a.phase for a in actions} == {Phase.UPSIZE}
    assert all(a.start_h == 0.0 for a in actions)
    assert plan.moved(models.presence).tolist() == [0.0]

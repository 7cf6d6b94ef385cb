"""Test what-ifs: the same planner on a changed world, and what the difference says."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from libs.domain.placement_what_if import NewRegion, PlacementWhatIf, ProductGrowth, SupplyChange, what_if_of
from libs.flux.planning import plan_world
from libs.flux.program.placement import NoPlanError
from libs.flux.report.what_if import difference_document
from libs.flux.what_if import WhatIfError, changed_world
from tests.builders.world import random_world

ALL = {"hw-0": 500.0, "hw-1": 500.0}


@pytest.fixture(scope="module")
def world():
    words, models, inputs = random_world(3)
    controls = replace(inputs.controls, rebalance=np.ones(len(words.services), bool))
    return words, models, replace(inputs, controls=controls)


@pytest.fixture(scope="module")
def before(world):
    return plan_world(*world)


def asked(world, before, what):
    after = plan_world(*changed_world(*world, what))
    return after, difference_document(before, after)


def test_nothing_asked_changes_nothing(world, before):
    after, found = asked(world, before, PlacementWhatIf())
    assert found["capacity"] == found["traffic"] == []
    assert after.solved.plan.capacity == pytest.approx(before.solved.plan.capacity)


def test_a_lost_region_serves_nothing_and_the_difference_says_what_is_lacking(world, before):
    what = PlacementWhatIf(lost=("region-1",))
    after, found = asked(world, before, what)
    assert after.solved.plan.traffic[-1, :, 1] == pytest.approx(0.0, abs=1e-9)
    gone = [one for one in found["capacity"] if one["region"] == "region-1" and one["step"] == 2]
    assert gone
    assert all(one["with"] < one["without"] for one in gone)
    assert {one["reason"] for one in found["impossible"]} >= {"SupplyLacking"}
    assert not any(one["message"].startswith("region-1 lacks") for one in found["impossible"])
    assert all(one["message"] for one in found["impossible"])


def test_what_was_not_lacking_without_the_change_is_said_to_be_none(world, before):
    """A linear program leaves deficits such as 8.9e-16 or -0.0, which are none."""
    noisy = replace(before.solved.plan, deficit=np.full_like(before.solved.plan.deficit, 8.9e-16))
    after = plan_world(*changed_world(*world, PlacementWhatIf(lost=("region-1",))))
    for deficit in (noisy.deficit, -0.0 * noisy.deficit):
        was = replace(before, solved=replace(before.solved, plan=replace(noisy, deficit=deficit)))
        lacking = [one for one in difference_document(was, after)["impossible"] if one["reason"] == "SupplyLacking"]
        assert lacking
        assert {one["message"].rpartition(": ")[2] for one in lacking} == {"without the change 0"}


def test_services_leave_a_lost_region_even_if_they_are_not_to_be_rebalanced(world):
    words, models, inputs = world
    controls = replace(inputs.controls, rebalance=np.zeros(len(words.services), bool))
    what = PlacementWhatIf(lost=("region-1",))
    after = plan_world(*changed_world(words, models, replace(inputs, controls=controls), what))
    assert after.solved.plan.capacity[-1, :, 1] == pytest.approx(0.0, abs=1e-6)
    assert {one["without"] for one in difference_document(None, after)["capacity"]} == {None}


def test_what_no_plan_can_do_is_named(world):
    words, models, inputs = world
    least = inputs.presence_min.copy()
    least[:, 0] = 0.9
    least[:, 2] = 0.2
    changed = changed_world(words, models, replace(inputs, presence_min=least), PlacementWhatIf(lost=("region-1",)))
    with pytest.raises(NoPlanError, match="share_min"):
        plan_world(*changed)


def test_a_new_region_takes_traffic_and_was_empty(world, before):
    what = PlacementWhatIf(
        regions=(NewRegion(region="north", supply=ALL),),
        lost=("region-0",),
        growth=(ProductGrowth(product="product-0", growth=0.5),),
    )
    after, found = asked(world, before, what)
    assert list(after.words.regions) == [*world[0].regions, "north"]
    arrived = [one for one in found["traffic"] if one["region"] == "north"]
    assert arrived
    assert {(one["now"], one["without"]) for one in arrived} == {(0.0, 0.0)}
    assert after.execution.actions
    grown = after.solved.plan.traffic[-1, 0].sum() / before.solved.plan.traffic[-1, 0].sum()
    assert grown == pytest.approx(1.5)


def test_a_new_region_beside_regions_that_grant_is_granted_nothing(world):
    words, models, inputs = world
    granted = np.tile(models.baseline * 1.1, (len(inputs.step), 1, 1))
    what = PlacementWhatIf(regions=(NewRegion(region="north", supply=ALL),))
    changed = changed_world(words, models, replace(inputs, granted=granted), what)
    present = changed[1].present_capacity(changed[2])
    assert present[:, :-1] == pytest.approx(granted[0])
    assert (present[:, -1] == 0).all()
    assert plan_world(*changed).solved.plan.capacity.shape == (2, 6, 5)


def test_more_supply_never_lacks_more(world, before):
    poor, rich = (PlacementWhatIf(supply=(SupplyChange(region="region-2", factor=f),)) for f in (0.3, 3.0))
    lacking = [asked(world, before, what)[0].solved.plan.deficit.sum() for what in (poor, rich)]
    assert lacking[1] <= lacking[0] + 1e-9
    one = SupplyChange(region="region-2", hardware_type="hw-1", factor=0.5, add=7.0)
    changed = changed_world(*world, PlacementWhatIf(supply=(one,)))[2]
    assert changed.supply[:, 1, 2] == pytest.approx(world[2].supply[:, 1, 2] * 0.5 + 7.0)
    assert (changed.supply[:, 0] == world[2].supply[:, 0]).all()


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (PlacementWhatIf(lost=("region-11",)), "unknown region region-11; did you mean region-1"),
        (PlacementWhatIf(growth=(ProductGrowth(product="x", growth=1.0),)), "unknown product x"),
        (PlacementWhatIf(regions=(NewRegion(region="region-0", supply={}),)), "is there already"),
        (PlacementWhatIf(regions=(NewRegion(region="n", supply={"hw-9": 1.0}),)), "unknown hardware type hw-9"),
    ],
)
def test_names_are_checked(world, what, told):
    with pytest.raises(WhatIfError, match=told):
        changed_world(*world, what)


def test_it_is_stored_and_read_back():
    what = PlacementWhatIf(
        regions=(NewRegion(region="n", supply=ALL),), supply=(SupplyChange(region="n"),), lost=("a",)
    )
    assert what_if_of(asdict(what)) == what


def test_a_fall_counts_from_the_second_step_on_and_the_answer_says_so(world, before):
    after, found = asked(world, before, PlacementWhatIf(growth=(ProductGrowth(product="product-0", growth=-0.5),)))
    assert after.solved.plan.traffic[:, 0].sum(1) == pytest.approx([1.0, 0.5])
    (said,) = [one for one in found["impossible"] if one["reason"] == "FallNotCounted"]
    assert said["numbers"] == {"growth": -0.5}
    assert said["message"] == "product-0 does not fall by 50 % in step 1: a fall counts from the next step on"
    falls = replace(world[2], traffic_growth=after.inputs.traffic_growth)
    was = plan_world(*world[:2], falls)
    assert not any(one["reason"] == "FallNotCounted" for one in difference_document(was, after)["impossible"])

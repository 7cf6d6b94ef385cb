"""If capacity lacks, higher classes of priority are served first."""

from dataclasses import replace

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import check_plan
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region, region


@pytest.mark.parametrize("fix_first", [True, False])
@pytest.mark.parametrize("columns", [0, 200])
@pytest.mark.parametrize("classes", [(0, 2), (2, 4), (4, 0), (3, 2), (1, 2)])
def test_the_higher_class_gets_what_there_is(classes, columns, fix_first):
    # Five servers for two reservations of four. The second values each server more, which must not decide.
    snapshot = region(
        msb_datacenter=(0,),
        servers=[(0, 0)] * 5,
        capacity=[4, 6],
        rru=[[1.0], [1.5]],
        survives=[False, False],
        priority=classes,
        policy=RegionPolicy(fix_first=fix_first),
    )
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    higher = int(np.argmax(classes))
    assert coverage_of(snapshot, found.plan.target).shortfall[higher] == 0
    short = found.report.as_dict()["short_by_priority_rru"]
    assert short == {str(classes[1 - higher]): [3.0, 4.5][1 - higher]}


def test_a_covered_reservation_of_a_low_class_gives_nothing_up():
    snapshot = region(
        msb_datacenter=(0,), servers=[(0, 0, 0)] * 3, capacity=[3, 3], survives=[False, False], priority=[0, 4]
    )
    assert plan_target_bindings(snapshot).plan.target.tolist() == [0, 0, 0]


def test_without_fixing_first_a_low_class_gives_way_and_the_checker_accepts_it():
    snapshot = region(
        msb_datacenter=(0,),
        servers=[(0, 0, 0)] * 3,
        capacity=[3, 3],
        survives=[False, False],
        priority=[1, 2],
        policy=RegionPolicy(fix_first=False),
    )
    plan = plan_target_bindings(snapshot).plan
    assert plan.target.tolist() == [1, 1, 1]
    assert check_plan(snapshot, plan) == []
    same = replace(snapshot, reservations=replace(snapshot.reservations, priority=np.array([2, 1])))
    assert [violation.reason for violation in check_plan(same, plan)] == ["ShortfallGrows"]


def test_a_class_weighs_ten_times_the_one_below():
    snapshot = random_region(np.random.default_rng(3), 40, 1)
    nothing = np.full(40, -1, np.int32)
    scores = [
        evaluate(replace(snapshot, reservations=replace(snapshot.reservations, priority=np.array([k]))), nothing)
        for k in (1, 2, 3)
    ]
    assert [score.penalty for score in scores] == pytest.approx([scores[1].penalty * f for f in (0.1, 1, 10)])

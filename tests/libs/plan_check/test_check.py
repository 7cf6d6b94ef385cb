from dataclasses import replace

import numpy as np
import pytest

from libs.domain.fleet import DELETED, FREE, TargetPlan
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import PlanRefusedError, check_plan, require_clean
from tests.builders.random_region import region


def reasons(snapshot, *target, parent=None):
    plan = TargetPlan(target=np.array(target, np.int32), parent_plan_id=parent)
    return [v.reason for v in check_plan(snapshot, plan)]


@pytest.fixture
def snapshot():
    """Return r0 for hw-0, r1 for hw-1; s0 in r0, s1 free, s2 down in r1, s3 of hw-1 free, s4 free and down."""
    return region(
        types=2,
        servers=[(0, 0, 0), (1, 0), (2, 1, 1, True, False), (1, 1), (0, 0, FREE, False, False)],
        capacity=[1, 1],
        rru=[[1, 0], [0, 1]],
        survives=[False, False],
    )


def test_staying_and_gaining_are_clean(snapshot):
    assert reasons(snapshot, 0, FREE, 1, FREE, FREE) == []
    assert reasons(snapshot, 0, 0, 1, 1, FREE) == []


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ((0, 1, 1, FREE, FREE), "Ineligible"),
        ((0, FREE, 1, FREE, 0), "Unavailable"),
        ((0, FREE, FREE, FREE, FREE), "TakenWhileDown"),
        ((0, FREE, 1, 2, FREE), "UnknownReservation"),
        ((0, FREE, 1, DELETED, FREE), "UnknownReservation"),
        ((FREE, FREE, 1, FREE, FREE), "ShortfallGrows"),
        ((0, FREE, 1), "WrongShape"),
    ],
)
def test_each_violation_is_named(snapshot, target, reason):
    assert reasons(snapshot, *target) == [reason]


def test_a_plan_for_another_parent_is_refused(snapshot):
    assert reasons(snapshot, 0, FREE, 1, FREE, FREE, parent=4) == ["WrongParent"]


def test_targets_must_be_whole_numbers(snapshot):
    plan = TargetPlan(target=np.zeros(5), parent_plan_id=None)
    assert [v.reason for v in check_plan(snapshot, plan)] == ["WrongShape"]


def test_capacity_goes_to_who_lacks_more_only_where_the_sum_is_all_that_counts():
    snapshot = region(servers=[(0, 0, 0), (1, 0, 0)], capacity=[2, 3], survives=[False, False])
    assert reasons(snapshot, 0, 1) == ["ShortfallGrows"]
    by_sum = replace(snapshot, policy=RegionPolicy(fix_first=False))
    assert reasons(by_sum, 0, 1) == []
    smaller = region(servers=[(0, 0, 0), (1, 0, 0)], capacity=[2, 0], survives=[False, False])
    assert reasons(smaller, 0, 1) == ["ShortfallGrows"]


def test_affinity_may_not_worsen_for_nothing():
    snapshot = region(servers=[(0, 0, 0), (2, 0)], capacity=[1], survives=[False], affinity=[[1.0, np.nan]])
    assert reasons(snapshot, FREE, 0) == ["AffinityWorsens"]


def test_sums_of_floats_that_miss_zero_are_said_to_be_zero():
    snapshot = region(servers=[(0, 0, 0)] * 10, capacity=[1], rru=[[0.1]], survives=[False])
    plan = TargetPlan(target=np.array([0] * 9 + [FREE], np.int32), parent_plan_id=None)
    assert [v.message for v in check_plan(snapshot, plan)] == ["r0 would be short of 0.1 RRU instead of 0"]


def test_releasing_what_is_spare_or_deleted_is_clean():
    snapshot = region(servers=[(0, 0, 0), (1, 0, 0), (2, 0, DELETED, True, False)], capacity=[1], survives=[False])
    assert reasons(snapshot, 0, FREE, FREE) == []


def test_require_clean_says_why_at_bounded_length(snapshot):
    require_clean([])
    many = replace(snapshot, servers=snapshot.servers)
    plan = TargetPlan(target=np.full(5, 9, np.int32), parent_plan_id=None)
    with pytest.raises(PlanRefusedError, match="UnknownReservation") as caught:
        require_clean(check_plan(many, plan) * 10)
    assert len(caught.value.violations) == 50
    assert "and 30 more" in str(caught.value)

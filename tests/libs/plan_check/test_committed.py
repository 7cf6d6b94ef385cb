"""A commit is refused if it leaves a reservation worse off than it is now."""

import numpy as np

from libs.domain.plan_changes import NONE
from libs.domain.policy import RegionPolicy
from libs.plan_check.committed import check_committed
from tests.builders.plan_changes import plan_changes, touched

POLICY = RegionPolicy()
ALL = np.array([True])


def reasons(changes, kept=ALL, policy=POLICY, planned=0.0) -> set[str]:
    return {one.reason for one in check_committed(changes, kept, policy, np.full(len(changes.touched), planned))}


def test_a_reservation_may_not_end_below_its_promise_and_what_it_had() -> None:
    gives = [(0, NONE, 0, 1.0)]
    assert reasons(plan_changes(touched([[3.0]], capacity=[3]), gives)) == {"ShortfallGrows", "PenaltyGrows"}
    assert reasons(plan_changes(touched([[2.0]], capacity=[3]), gives)) == {"ShortfallGrows", "PenaltyGrows"}
    assert reasons(plan_changes(touched([[4.0]], capacity=[3]), gives)) == set()
    buffered = touched([[3.0, 2.0]], capacity=[2], survives=[True])
    assert reasons(plan_changes(buffered, gives)) == set()
    assert "ShortfallGrows" in reasons(plan_changes(buffered, [(0, NONE, 1, 1.0)]))


def test_what_others_do_not_gain_may_not_be_lost() -> None:
    policy = RegionPolicy(fix_first=False)
    q = touched([[3.0], [0.0]], capacity=[3, 3])
    assert reasons(plan_changes(q, [(0, 1, 0, 1.0)]), policy=policy, planned=1.0) == set()
    assert reasons(plan_changes(q, [(0, NONE, 0, 1.0)]), policy=policy, planned=1.0) == {"PenaltyGrows"}
    assert reasons(plan_changes(q, [(0, 1, 0, 1.0)]), policy=policy) == {"ShortfallGrows"}


def test_servers_that_changed_or_are_of_no_use_are_not_committed() -> None:
    q = touched([[3.0]], capacity=[3])
    assert reasons(plan_changes(q, [(NONE, 0, 0, 1.0, {"changed": True})])) == {"Overtaken"}
    assert reasons(plan_changes(q, [(NONE, 0, 0, 1.0, {"to_rru": 0.0})])) == {"Overtaken"}


def test_leaving_servers_are_not_given_up_before_others_are_there() -> None:
    rows = [(0, NONE, 0, 1.0, {"leaving": True, "source_rru": 0.0})]
    assert reasons(plan_changes(touched([[3.0]], capacity=[3], there=[[2.0]]), rows)) == {"GivenUpTooEarly"}
    assert reasons(plan_changes(touched([[3.0]], capacity=[3]), rows)) == set()

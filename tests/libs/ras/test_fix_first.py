"""A shortfall that costs less than its repair is repaired, unless the policy counts only the sum."""

import pytest

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import check_plan
from libs.ras.solve import plan_target_bindings
from tests.builders.region import fleet_snapshot

ONE = {"hw-a": 1.0}


@pytest.mark.parametrize(("fix_first", "short_rru", "moved_in_use"), [(True, 0.0, 1), (False, 0.004, 0)])
def test_a_cheap_shortfall_is_mended_where_fixing_comes_first(fix_first, short_rru, moved_in_use) -> None:
    # `thin` lacks 0.004 RRU, which costs 4. The only available server is in use and costs 10.
    snapshot = fleet_snapshot(
        msbs=1,
        servers_per_rack=3,
        reservations={
            "fat": ReservationSpec(capacity_rru=1, rru=ONE, survives_msb_loss=False),
            "thin": ReservationSpec(capacity_rru=1.004, rru=ONE, survives_msb_loss=False),
        },
        current={"server-00": "fat", "server-01": "fat", "server-02": "thin"},
        in_use={"server-00", "server-01"},
        policy=RegionPolicy(fix_first=fix_first, surplus_cost=0.0),
    )
    report = plan_target_bindings(snapshot).report
    assert report.score.shortfall_rru == pytest.approx(short_rru)
    assert report.score.moved_in_use == moved_in_use
    assert report.score.total >= report.lower_bound


def test_a_promise_that_is_cheaper_to_break_than_to_keep_is_kept() -> None:
    # web pays 5 for its buffer and 12 for its surplus. To give all back costs 2 and a shortfall of 0.5.
    snapshot = fleet_snapshot(
        msbs=2,
        servers_per_rack=3,
        reservations={
            "web": ReservationSpec(capacity_rru=1, rru=ONE, survives_msb_loss=True),
            "job": ReservationSpec(capacity_rru=1, rru=ONE, survives_msb_loss=False),
        },
        current={"server-00": "web", "server-03": "web", "server-01": "job"},
        policy=RegionPolicy(fix_first=False, shortfall_cost=0.5),
    )
    found = plan_target_bindings(snapshot)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.penalty <= found.report.stay.penalty + 1e-9
    assert found.report.score.total >= found.report.lower_bound

"""A reservation's `move_cost` is a factor on moves of its servers, and keeps none above need."""

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.policy import RegionPolicy
from libs.ras.evaluate import evaluate
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region

COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


@COLUMNS
@pytest.mark.parametrize("dear", [0, 1])
def test_the_reservation_whose_moves_cost_less_gives_the_server(columns, dear):
    # Both hold one server above need, and a third reservation needs one. Surplus costs nothing, so one stays.
    snapshot = region(
        msb_datacenter=(0,),
        servers=[(0, 0, 0, True)] * 3 + [(0, 0, 1, True)] * 3,
        capacity=[2, 2, 1],
        survives=[False] * 3,
        move_cost=[3.0 if r == dear else 0.5 for r in range(2)] + [1.0],
        policy=RegionPolicy(surplus_cost=0.0),
    )
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    held = np.bincount(found.plan.target[found.plan.target >= 0], minlength=3)
    assert held.tolist() == [3 if r == dear else 2 for r in range(2)] + [1]
    assert found.report.score.stability == 5.0
    assert found.report.gap == pytest.approx(0.0, abs=0.01)


@COLUMNS
def test_the_highest_cost_of_moves_keeps_no_server_above_need(columns):
    snapshot = region(
        msb_datacenter=(0,),
        servers=[(0, 0, 0, True)] * 6,
        capacity=[2],
        survives=[False],
        move_cost=[10.0],
    )
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert (found.plan.target >= 0).sum() == 2
    assert evaluate(snapshot, snapshot.servers.target).surplus == 4 * 12 * 10
    assert found.report.score.stability == 4 * 10 * 10

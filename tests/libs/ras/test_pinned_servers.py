"""A server in maintenance stays where it is bound: before it ends, the server could join no other reservation."""

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.fleet import TargetPlan
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import check_plan
from libs.ras.solve import plan_target_bindings
from tests.builders.region import fleet_snapshot


@pytest.mark.parametrize("columns", [0, 10_000])
def test_a_solve_gives_others_only_servers_that_can_join(columns: int) -> None:
    """`fat` has twelve servers and needs three. `thin` has none and needs six. The idle servers of `fat` are drained,
    so `thin` takes servers in use, which cost ten times as much.
    """
    held = [f"server-{i:02d}" for i in range(12)]
    one = {"hw-a": 1.0}
    snapshot = fleet_snapshot(
        msbs=3,
        reservations={
            "fat": ReservationSpec(capacity_rru=3, rru=one, survives_msb_loss=False),
            "thin": ReservationSpec(capacity_rru=6, rru=one, survives_msb_loss=False),
        },
        current=dict.fromkeys(held, "fat"),
        in_use=held[6:],
        maintained=held[:6],
    )
    plan = plan_target_bindings(snapshot, Limits(exact_columns_max=columns)).plan
    drained = snapshot.servers.drained
    fat, thin = (int(np.flatnonzero(snapshot.reservations.name == name)[0]) for name in ("fat", "thin"))
    assert (plan.target[drained] == fat).all()
    assert (plan.target == thin).sum() == 6
    assert check_plan(snapshot, plan) == []
    wrong = plan.target.copy()
    wrong[np.flatnonzero(drained)[0]] = thin
    found = check_plan(snapshot, TargetPlan(target=wrong, parent_plan_id=snapshot.target_plan_id))
    assert {violation.reason for violation in found} == {"Drained"}

"""Servers announced for retirement count for nothing, get no targets, and are released once others cover them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.reservation import ReservationSpec
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from libs.plan_check.check import check_legal, check_plan
from libs.ras.admission import admit
from libs.ras.solve import plan_target_bindings
from tests.builders.equal import assert_same_image
from tests.builders.region import fleet_snapshot, region_image

WEB = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0})
RACK_0 = [f"server-{i:02d}" for i in range(4)]


def region(**more: object) -> FleetSnapshot:
    """Return a region: `web` has two servers in each of three MSBs, two of them in rack-00; two of the six are its
    buffer.
    """
    held = [f"server-{i:02d}" for i in (0, 1, 4, 5, 8, 9)]
    known = {"msbs": 4, "reservations": {"web": WEB}, "current": dict.fromkeys(held, "web"), "leaving": RACK_0}
    return fleet_snapshot(**known | more)


def target_of(snapshot: FleetSnapshot) -> np.ndarray:
    result = plan_target_bindings(snapshot)
    assert check_plan(snapshot, result.plan) == []
    return result.plan.target


def test_first_others_are_bound_then_the_leaving_ones_are_given_up() -> None:
    snapshot = region()
    first = target_of(snapshot)
    assert (first[:4] == [0, 0, FREE, FREE]).all()
    assert (first[4:] == 0).sum() == 6
    # The moves are not done, so nothing more happens.
    bound = replace(snapshot.servers, target=first)
    assert (target_of(replace(snapshot, servers=bound)) == first).all()
    there = replace(snapshot, servers=replace(bound, current=first))
    second = target_of(there)
    assert (second[:4] == FREE).all()
    assert (second[4:] == first[4:]).all()


def test_a_short_region_keeps_them() -> None:
    snapshot = region(leaving=[f"server-{i:02d}" for i in range(16)])
    assert (target_of(snapshot) == snapshot.servers.target).all()


def test_one_that_is_down_and_leaving_is_given_up_like_the_others() -> None:
    snapshot = region(down=["server-00"], current={f"server-{i:02d}": "web" for i in (0, 4, 5, 8, 9, 12, 13)})
    assert (target_of(snapshot)[:4] == FREE).all()


@pytest.mark.parametrize(
    ("server", "reservation", "reason"), [(0, FREE, "GivenUpTooEarly"), (2, 0, "Leaving"), (12, 0, None)]
)
def test_plans_that_may_not_be(server: int, reservation: int, reason: str | None) -> None:
    snapshot = region()
    target = snapshot.servers.target.copy()
    target[server] = reservation
    violations = check_legal(snapshot, TargetPlan(target=target, parent_plan_id=None))
    assert [violation.reason for violation in violations] == ([] if reason is None else [reason])


def test_nothing_is_promised_on_them() -> None:
    snapshot = region(current={}, leaving=[f"server-{i:02d}" for i in range(10)])
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondMsbLoss")  # 2 of msb-02 and 4 of msb-03 stay
    assert verdict.numbers["eligible_rru"] == 6


def test_the_files_of_a_region_keep_who_leaves() -> None:
    image = region_image(leaving=RACK_0)
    files = dump_region(image)
    assert_same_image(load_region(files, name="west"), image)


@settings(deadline=None, max_examples=40)
@given(
    current=st.lists(st.sampled_from([None, "web", "db"]), min_size=12, max_size=12),
    leaving=st.sets(st.integers(0, 11)),
    down=st.sets(st.integers(0, 11), max_size=3),
)
def test_every_plan_is_legal_and_no_leaving_server_is_gained(
    current: list[str | None], leaving: set[int], down: set[int]
) -> None:
    snapshot = fleet_snapshot(
        msbs=3,
        reservations={"web": replace(WEB, capacity_rru=2), "db": replace(WEB, capacity_rru=1)},
        current={f"server-{i:02d}": name for i, name in enumerate(current) if name},
        leaving=[f"server-{i:02d}" for i in leaving],
        down=[f"server-{i:02d}" for i in down],
    )
    target = target_of(snapshot)
    gone = snapshot.servers.leaving
    assert ((target == snapshot.servers.target) | (target == FREE))[gone].all()

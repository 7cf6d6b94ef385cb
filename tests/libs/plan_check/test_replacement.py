"""Check the rules for replacements."""

from dataclasses import replace

import pytest

from libs.domain.fleet import FREE, TargetPlan
from libs.domain.replacement import FailuresSnapshot
from libs.domain.reservation import ReservationSpec
from libs.plan_check.replacement import check_replacements
from tests.builders.failures import failures_snapshot

SPECS = {
    "web": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False),
    "db": ReservationSpec(capacity_rru=3, rru={"hw-b": 1.0}, survives_msb_loss=False),
    "spare": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False),
}
WEB, DB, SPARE = 0, 1, 2


def failures(**keywords: object) -> FailuresSnapshot:
    return failures_snapshot(
        reservations=SPECS,
        hardware_types=("hw-a", "hw-b"),
        kind={"spare": "shared_buffer"},
        current={f"server-{i:02d}": name for i, name in enumerate(("web", "web", "spare", "spare", "db"))},
        down={"server-00"},
        **keywords,
    )


def reasons(snapshot: FailuresSnapshot, targets: dict[int, int]) -> set[str]:
    target = snapshot.fleet.servers.target.copy()
    for server, to in targets.items():
        target[server] = to
    plan = TargetPlan(target=target, parent_plan_id=snapshot.fleet.target_plan_id)
    return {violation.reason for violation in check_replacements(snapshot, plan)}


@pytest.mark.parametrize(
    ("targets", "wanted"),
    [
        ({}, set()),
        ({0: SPARE, 2: WEB}, set()),
        ({2: WEB}, {"NotOneForOne"}),
        ({0: SPARE, 2: WEB, 3: WEB}, {"NotOneForOne"}),
        ({0: SPARE}, {"NotOneForOne"}),
        ({0: FREE, 2: WEB}, {"NotASwap"}),
        ({1: SPARE, 2: WEB}, {"NotASwap"}),  # the server is not lost
        ({0: SPARE, 2: DB}, {"NotASwap"}),  # useless there
        ({0: SPARE, 4: WEB}, {"NotASwap"}),  # it is no spare
    ],
)
def test_only_swaps_of_one_for_one_pass(targets: dict[int, int], wanted: set[str]) -> None:
    assert reasons(failures(), targets) == wanted


def test_a_server_lost_with_its_place_is_not_replaced() -> None:
    assert reasons(failures(with_place={"server-00"}), {0: SPARE, 2: WEB}) == {"NotASwap"}


def test_a_plan_for_another_snapshot_is_refused() -> None:
    snapshot = failures()
    plan = TargetPlan(target=snapshot.fleet.servers.target, parent_plan_id=7)
    assert [violation.reason for violation in check_replacements(snapshot, plan)] == ["WrongSnapshot"]
    fewer = replace(plan, target=plan.target[1:], parent_plan_id=None)
    assert [violation.reason for violation in check_replacements(snapshot, fewer)] == ["WrongSnapshot"]


@pytest.mark.parametrize(
    ("capacity_rru", "with_place", "wanted"),
    [
        (1.0, {"server-00"}, set()),
        (1.0 + 1e-10, {"server-00"}, set()),  # it comes from rounding
        (1.0 + 5e-7, {"server-00"}, {"ShortfallGrows"}),
        (1.0, set(), {"NotASwap"}),  # its MSB is not lost
        (2.0, {"server-00"}, {"ShortfallGrows"}),
    ],
)
def test_a_swap_is_taken_back_while_the_capacity_is_held(
    capacity_rru: float, with_place: set[str], wanted: set[str]
) -> None:
    specs = SPECS | {"web": replace(SPECS["web"], capacity_rru=capacity_rru, survives_msb_loss=True)}
    current = {"server-00": "spare", "server-01": "web", "server-05": "web", "server-06": "spare"}
    snapshot = failures_snapshot(
        reservations=specs,
        kind={"spare": "shared_buffer"},
        current=current,
        servers_per_rack=5,
        down={"server-00"},
        with_place=with_place,
        swapped={"server-00": "web", "server-05": "spare"},
    )
    assert reasons(snapshot, {0: WEB, 5: SPARE}) == wanted

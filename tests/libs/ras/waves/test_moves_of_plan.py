"""The moves of a plan know what was granted, which the guard keeps, and what only waits."""

from dataclasses import replace

import numpy as np

from libs.domain.fleet import FREE
from libs.domain.reservation import ReservationSpec
from libs.domain.waves import NONE
from libs.plan_check.waves import check_waves
from libs.ras.waves.moves_of_plan import moves_of_plan, state_of_snapshot
from libs.ras.waves.plan_waves import plan_waves
from tests.builders.region import fleet_snapshot

SPEC = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=True)
BEFORE = {f"server-0{k}": "web" if k < 4 else "batch" for k in range(8)}
AFTER = BEFORE | {"server-00": "batch", "server-01": "batch", "server-04": "web", "server-05": "web"}


def test_a_granted_reservation_takes_part_in_an_exchange_with_a_waiting_request_without_falling_below_survive() -> None:
    """Each holds one server in each of four MSBs. Both would have to give one at *hold* if both were granted."""
    at = dict(zip([0, 1, 2, 3, 4, 5, 6, 7], "0123" * 2, strict=True))
    order = sorted(at, key=lambda k: at[k])  # servers are numbered MSB by MSB
    names = {f"server-0{new}": f"server-0{old}" for new, old in enumerate(order)}
    before, after = ({new: one[old] for new, old in names.items()} for one in (BEFORE, AFTER))
    snapshot = fleet_snapshot(
        msbs=4, servers_per_rack=2, reservations={"web": SPEC, "batch": SPEC}, current=before, target=after
    )
    web = int(np.flatnonzero(snapshot.reservations.name == "web")[0])
    target = snapshot.servers.target
    state = state_of_snapshot(snapshot, ())

    moves, promises = moves_of_plan(snapshot, target, state)
    plan = plan_waves(moves, promises, state.bounds)
    assert plan.at_hold[moves.source == web].any()

    granted = np.where(np.arange(2) == web, 3.0, 0.0)
    moves, promises = moves_of_plan(replace(snapshot, promised_rru=granted), target, state)
    plan = plan_waves(moves, promises, state.bounds)
    assert check_waves(moves, promises, plan) == []
    assert promises.granted_rru.tolist() == granted.tolist()
    assert moves.yields.tolist() == (moves.to == web).tolist()
    assert moves.presses.tolist() == (moves.to == web).tolist()
    assert not (plan.at_hold | plan.below).any()
    assert plan.wave[moves.to == web].tolist() == [0, 0]
    assert plan.wave[moves.source == web].tolist() == [1, 1]


def test_servers_of_a_deleted_reservation_leave_it_also_if_they_become_free() -> None:
    snapshot = fleet_snapshot(
        reservations={"web": SPEC}, current={"server-00": "gone", "server-01": "gone"}, target={"server-00": "web"}
    )
    target = np.maximum(snapshot.servers.target, FREE)
    moves, _ = moves_of_plan(snapshot, target, state_of_snapshot(snapshot, ()))
    assert dict(zip(moves.server.tolist(), moves.to.tolist(), strict=True)) == {0: 0, 1: NONE}
    assert moves.source.tolist() == [NONE, NONE]
    assert moves.takes.all()

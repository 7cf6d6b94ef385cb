"""People read the waves of a plan in one sentence."""

import numpy as np
import pytest

from libs.domain.fleet import FREE
from libs.domain.reservation import ReservationSpec
from libs.ras.waves.moves_of_plan import state_of_snapshot
from libs.ras.waves.report import report_waves
from tests.builders.region import fleet_snapshot

FIRST = ReservationSpec(capacity_rru=0, rru={"hw-a": 1.0})
"""The builder gives it the id 0, which stands for no reservation."""


@pytest.mark.parametrize(
    ("survives_msb_loss", "kinds", "capacity", "harm"),
    [
        (True, (), 4, "not survive the loss of an MSB"),
        (False, ("network_block",), 4, "not survive the loss of a domain"),
        (True, ("network_block",), 4, "not survive the loss of a domain"),
        (False, (), 6, "be short"),
    ],
)
def test_servers_that_stay_name_what_would_happen_without_them(survives_msb_loss, kinds, capacity, harm):
    spec = ReservationSpec(
        capacity_rru=capacity, rru={"hw-a": 1.0}, survives_msb_loss=survives_msb_loss, survives_loss_of=kinds
    )
    names = [f"server-0{k}" for k in range(6)]
    bound = dict.fromkeys(names, "web")
    snapshot = fleet_snapshot(
        msbs=3,
        servers_per_rack=2,
        reservations={"first": FIRST, "web": spec},
        current=bound,
        domains={"network_block": {name: f"b{k // 2}" for k, name in enumerate(names)}},
    )
    target = np.where(snapshot.servers.name == "server-00", FREE, snapshot.servers.target)
    report = report_waves(snapshot, target, state_of_snapshot(snapshot, ()))
    assert str(report["message"]).endswith(f"1 server stays, because without it a reservation would {harm}")


def test_one_move_needs_an_approval():
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    snapshot = fleet_snapshot(
        msbs=1,
        servers_per_rack=1,
        reservations={"first": FIRST, "web": spec, "db": spec},
        current={"server-00": "web"},
        target={"server-00": "db"},
    )
    report = report_waves(snapshot, snapshot.servers.target, state_of_snapshot(snapshot, ()))
    assert "; 1 move needs an approval, about " in str(report["message"])

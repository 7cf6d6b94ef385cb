"""The least embedded buffer is that of the most even spread."""

import pytest

from libs.domain.reservation import ReservationSpec
from libs.ras.buffer_bound import embedded_buffers
from tests.builders.region import fleet_snapshot


@pytest.mark.parametrize(
    ("capacity", "embedded"),
    [(4, 2), (3, 2), (5, 0)],  # (2, 2, 2) servers in three MSBs: 5 would not survive, so nothing is whole
)
def test_a_plan_is_compared_with_the_most_even_one(capacity: float, embedded: float) -> None:
    spec = ReservationSpec(capacity_rru=capacity, rru={"hw-a": 1.0})
    held = dict.fromkeys(("server-00", "server-01", "server-04", "server-05", "server-08", "server-09"), "web")
    open_ended = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    snapshot = fleet_snapshot(
        msbs=3,
        servers_per_rack=4,
        reservations={"web": spec, "batch": open_ended},
        current=held | {"server-02": "batch"},
    )
    least = capacity / 2 if embedded else 0  # each of the two MSBs that are left holds half
    assert embedded_buffers(snapshot, snapshot.servers.target) == {
        "embedded_rru": embedded,
        "least_embedded_rru": pytest.approx(least),
    }

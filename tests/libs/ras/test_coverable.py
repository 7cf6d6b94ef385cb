"""The capacity that free servers could cover is the most that admission grants."""

import pytest

from libs.domain.reservation import ReservationSpec
from libs.ras.admission import admit
from libs.ras.coverable import coverable_rru
from tests.builders.region import fleet_snapshot


def probe(capacity: float, **spec: object):
    """A region of three MSBs with 4, 4 and 2 servers free for it; `other` has two, and one is down."""
    specs = {
        "probe": ReservationSpec(capacity_rru=capacity, rru={"hw-a": 1.0, "hw-b": 1.5}, **spec),
        "other": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False),
    }
    return fleet_snapshot(
        datacenters=3,
        msbs=3,
        racks_per_msb=2,
        servers_per_rack=2,
        hardware_types=("hw-a", "hw-b"),
        reservations=specs,
        current={"server-00": "probe", "server-08": "other", "server-09": "other"},
        down={"server-04"},
        domains={"block": {f"server-{i:02d}": f"b{i % 2}" for i in range(12)}},
    )


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ({}, 7),  # 5, 4 and 3 RRU by MSB, less the 5
        ({"survives_msb_loss": False}, 12),
        ({"datacenters": frozenset({"dc-01", "dc-02"})}, 3),
        ({"survives_loss_of": ("block",)}, 5.5),  # 5.5 and 6.5 RRU by block
        ({"survives_msb_loss": False, "survives_loss_of": ("block",)}, 5.5),
    ],
)
def test_admission_grants_it_and_no_more(spec, most):
    assert coverable_rru(probe(1, **spec), 0) == pytest.approx(most)
    granted, above = admit(probe(most, **spec), 0), admit(probe(most + 0.25, **spec), 0)
    assert (granted.phase, granted.numbers["coverable_rru"]) == ("granted", pytest.approx(most))
    assert above.phase != "granted"
    assert above.numbers["coverable_rru"] == pytest.approx(most)


def test_a_request_that_is_short_is_told():
    verdict = admit(probe(8), 0)
    assert verdict.phase == "degraded"
    assert "Its own and the free servers could cover 7 RRU now." in verdict.message


def test_a_refusal_tells_it_too_where_others_hold_the_rest():
    verdict = admit(probe(100), 0)
    assert (verdict.phase, verdict.numbers["most_rru"] > 7) == ("rejected", True)
    assert verdict.message.endswith("another region. Its own and the free servers could cover 7 RRU now.")


@pytest.mark.parametrize("spec", [{"msb_share_max": 0.5}, {"affinity": {"dc-00": 0.5}}])
def test_nothing_is_said_where_fewer_servers_may_be_better(spec):
    assert coverable_rru(probe(2, **spec), 0) is None
    assert "coverable_rru" not in admit(probe(2, **spec), 0).numbers


def test_servers_of_others_and_lost_ones_do_not_count():
    assert coverable_rru(probe(1), 1) == 4  # of hw-a, 00 is taken and 04 is down: 01, 05, and its own 08 and 09

"""Solves see a host with its share of servers, and a resource for each guest."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.fleet import FREE
from libs.domain.guest import Guest, guest_amounts, guest_fault, in_effect, number_name, unit_in_words
from libs.domain.reservation import ReservationSpec
from libs.domain.resources import RESOURCES_MAX
from libs.domain.stacked_region import unstacked
from libs.plan_check.regression import check_regression
from tests.builders.region import region_image

WEB = ReservationSpec(capacity_rru=10, rru={"hw-a": 1.0, "hw-b": 3.0}, resources={"cores": 5.0})


def guest(name: str = "cache", share: float = 0.3, **more: object) -> Guest:
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 2.0}, guest_of="web", guest_share=share, **more)
    return Guest(reservation_id=1, name=name, owner="team", spec=spec)


def test_a_host_has_its_share_of_servers_and_a_resource_for_each_guest() -> None:
    seen = in_effect(WEB, [guest(), guest("batch", 0.2)])
    assert seen.rru == {"hw-a": 0.5, "hw-b": 1.5}
    assert seen.resources == {"cores": 5.0, "guest:batch": 4, "guest:cache": 4}
    assert seen.capacity_rru == 10
    assert in_effect(WEB, []) == WEB
    assert guest_amounts([guest(), guest("batch", 0.2)]) == {"hw-a": {"guest:cache": 0.6, "guest:batch": 0.4}}


def test_people_read_the_name_of_a_guest() -> None:
    assert [unit_in_words(one) for one in (None, "cores", "guest:cache")] == ["RRU", "cores", "RRU of its guest cache"]
    assert [number_name(one) for one in ("cores", "guest:cache")] == ["cores", "rru_of_cache"]


def test_shares_of_a_host_leave_something_of_each_server() -> None:
    others = [guest(str(k), 0.33) for k in range(3)]
    fault = guest_fault("third", guest("third", 0.01).spec, WEB, others)
    assert fault is not None
    assert "have 0.99 of each server" in fault.message
    assert guest_fault("third", guest("third", 0.33).spec, WEB, others[:2]) is None


def test_guests_and_resources_of_a_host_are_few() -> None:
    others = [guest(str(k), 0.01) for k in range(RESOURCES_MAX - 2)]
    assert guest_fault("third", guest("third", 0.01).spec, WEB, others) is None
    fault = guest_fault("third", guest("third", 0.01).spec, WEB, [*others, guest("last", 0.01)])
    assert fault is not None
    assert (fault.field, fault.host_field) == ("guest_of", "resources")


@pytest.mark.parametrize(
    ("spec", "host", "field"),
    [
        ({"survives_loss_of": ("block",)}, {}, "survives_loss_of"),
        ({}, {"survives_msb_loss": False}, "survives_msb_loss"),
        ({"survives_msb_loss": False}, {"survives_msb_loss": False}, None),
        ({"survives_msb_loss": False}, {}, None),
    ],
)
def test_a_guest_survives_what_its_host_survives_or_less(spec: dict, host: dict, field: str | None) -> None:
    of = ReservationSpec(capacity_rru=10, rru={"hw-a": 1.0}, **host)
    fault = guest_fault("cache", guest(**spec).spec, of, [])
    assert (None if fault is None else fault.field) == field


def test_rows_of_guests_come_and_go() -> None:
    specs = {"web": WEB, "cache": guest().spec, "other": ReservationSpec(capacity_rru=1, rru={"hw-b": 1.0})}
    found = region_image(
        hardware_types=("hw-a", "hw-b"),
        reservations=specs,
        current={"server-00": "web", "server-01": "other", "server-02": "gone"},
        attributes={"hw-a": {"cores": 1.0}},
    )
    snapshot = found.snapshot
    assert snapshot.reservations.name.tolist() == ["web", "other"]
    assert snapshot.servers.current[:4].tolist() == [0, 1, -2, -1]
    [cores, cache] = snapshot.measures[1:]
    assert cache.resource == "guest:cache"
    assert cache.asks.tolist() == [True, False]
    assert snapshot.reservations.rru.tolist() == [[0.7, 3 * 0.7], [0.0, 1.0]]
    assert cache.capacity[0] == pytest.approx(4 * cache.worth[0])
    assert cores.asks.tolist() == [True, False]
    whole = unstacked(found).snapshot
    assert whole.reservations.name.tolist() == ["web", "other", "cache"]
    np.testing.assert_array_equal(whole.reservations.rru, [[1.0, 3.0], [0.0, 1.0], [2.0, 0.0]])
    assert whole.guests == ()


def test_the_share_of_a_guest_is_an_amount_that_solves_count() -> None:
    tiny = replace(guest(share=0.5).spec, rru={"hw-a": 1e-6})
    fault = guest_fault("cache", tiny, WEB, [])
    assert fault is not None
    assert (fault.field, "less than 1e-06" in fault.message) == ("rru", True)
    assert guest_fault("cache", replace(tiny, rru={"hw-a": 2e-6}), WEB, []) is None


def test_a_plan_that_leaves_a_guest_of_an_imported_name_worse_off_is_told() -> None:
    cache = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    snapshot = region_image(
        reservations={
            "web": ReservationSpec(capacity_rru=1, rru={"hw-a": 2.0}, survives_msb_loss=False),
            "{blue} cache": replace(cache, guest_of="web", guest_share=0.5),
        },
        current={"server-00": "web", "server-01": "web"},
    ).snapshot
    [violation] = check_regression(snapshot, np.full(len(snapshot.servers), FREE, np.int32))
    assert "short of 1 RRU of its guest {blue} cache instead of 0" in violation.message

"""A simulation with other uplinks and other traffic: the racks above their limits, and what is wrong with a part."""

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.store.capacity.reservations import create_reservation
from libs.store.fleet.rack_uplinks import put_rack_uplinks
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

SENDS = {"reservation": "web", "gbit_per_rru": 10}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """One MSB of two racks with 4 servers each. `web` holds those of the first rack, which may send 50 Gbit/s."""
    database = Database(database_url)
    spec = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        datacenters=1,
        msbs=1,
        racks_per_msb=2,
        servers_per_rack=4,
        reservations={"web": spec},
        current={f"server-{n:02d}": "web" for n in range(4)},
        policy=RegionPolicy(shared_buffer_share=0.0, rack_phase_share=1.0),
    )
    stored(database, image)
    with database.write() as tx:
        put_rack_uplinks(tx, load_region(tx, "west").region_id, {"rack-00": 50.0}, generation=0, actor="test", now=NOW)
    yield database
    database.close()


def test_it_says_which_racks_are_above_before_and_after(simulate: Callable[..., dict], client: TestClient) -> None:
    body = {"uplink_limits": [{"limit_gbit": 25}, {"rack": "rack-01", "limit_gbit": 20}], "traffic": [SENDS]}
    found = simulate(**body)
    assert found["applicable"] is False
    assert found["what_if"]["uplink_limits"][0] == {"rack": None, "limit_gbit": 25}
    uplinks = found["report"]["uplinks"]
    assert (uplinks["limits"], uplinks["now"], uplinks["at_once"], uplinks["after"]) == (
        2, {"racks": 0, "gbit": 0}, {"racks": 1, "gbit": 15}, {"racks": 0, "gbit": 0}
    )  # fmt: skip
    by_rack = {one["rack"]: one for one in uplinks["racks"]}
    assert [by_rack[rack]["sent_gbit_after"] for rack in ("rack-00", "rack-01")] == [20, 20]
    assert (by_rack["rack-00"]["limit_gbit_now"], by_rack["rack-01"]["limit_gbit_now"]) == (50, None)
    assert found["report"]["cost"]["at_once"]["uplinks"] == 75
    [listed] = client.get("/v1/simulations").json()["items"]
    assert "racks" not in listed["report"]["uplinks"]
    assert listed["report"]["uplinks"]["at_once"] == uplinks["at_once"]
    quick = client.post("/v1/simulations", params={"dry_run": "true"}, json={"region": "west"} | body).json()
    assert (quick["uplinks"]["now"], quick["uplinks"]["at_once"]) == (uplinks["now"], uplinks["at_once"])
    assert quick["uplinks"]["racks"][0]["free_gbit_at_once"] == -15


def test_a_limit_can_be_lifted(simulate: Callable[..., dict], client: TestClient) -> None:
    body = {"uplink_limits": [{"limit_gbit": None}]}
    quick = client.post("/v1/simulations", params={"dry_run": "true"}, json={"region": "west"} | body).json()
    for uplinks in (simulate(**body)["report"]["uplinks"], quick["uplinks"]):
        [rack] = uplinks["racks"]
        assert (uplinks["limits"], rack["rack"], rack["limit_gbit_now"], rack["limit_gbit"]) == (0, "rack-00", 50, None)
        assert (rack["free_gbit_now"], rack["free_gbit_at_once"]) == (50, None)
    [wrong] = client.post("/v1/simulations", json={"region": "west", "uplink_limits": [{}]}).json()["errors"]
    assert (wrong["field"], wrong["code"]) == ("uplink_limits.0.limit_gbit", "missing")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"uplink_limits": [{"rack": "rack-9", "limit_gbit": 1}]}, "uplink_limits[0].rack"),
        ({"uplink_limits": [{"limit_gbit": 0}]}, "uplink_limits.0.limit_gbit"),
        ({"uplink_limits": [{"limit_gbit": 2e6}]}, "uplink_limits.0.limit_gbit"),
        ({"uplink_limits": [{"limit_gbit": 1}, {"limit_gbit": 2}]}, "uplink_limits[1].rack"),
        ({"uplink_limits": [{"rack": "rack-00", "limit_gbit": 1}] * 2}, "uplink_limits[1].rack"),
        ({"traffic": [SENDS | {"reservation": "wbe"}]}, "traffic[0].reservation"),
        ({"traffic": [SENDS | {"gbit_per_rru": -1}]}, "traffic.0.gbit_per_rru"),
        ({"traffic": [SENDS, SENDS | {"gbit_per_rru": 1}]}, "traffic[1].reservation"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, change: dict, field: str) -> None:
    refused = client.post("/v1/simulations", json={"region": "west"} | change)
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"traffic": [SENDS | {"reservation": "cache"}]}, "traffic"),
        ({"demand": [{"reservation": "cache", "scale": 2}]}, "demand"),
    ],
)
def test_a_guest_is_told_from_an_unknown_name(client: TestClient, database: Database, change: dict, field: str) -> None:
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False, guest_of="web", guest_share=0.25)
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        create_reservation(tx, region_id, name="cache", owner="team", spec=spec, now=NOW)
    [error] = client.post("/v1/simulations", json={"region": "west"} | change).json()["errors"]
    assert (error["field"], error["code"]) == (f"{field}[0].reservation", "not_simulated")
    assert error["message"] == "cache is a guest of web: name web"

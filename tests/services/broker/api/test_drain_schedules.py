"""A schedule of drains takes the racks of a domain of a further kind, in slots of one MSB each."""

import pytest
from fastapi.testclient import TestClient

from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import stored

PATH = "/v1/regions/west/drain-schedule"


@pytest.fixture(autouse=True)
def west(database: Database) -> None:
    """Store two MSBs of eight racks. The block b0 has two racks of each, and one server of a fifth."""
    servers = [f"server-{s:02d}" for s in range(32)]
    in_b0 = {server for s, server in enumerate(servers) if s // 2 in (0, 1, 8, 9) or s == 8}
    domains = {"network_block": {server: "b0" if server in in_b0 else "b1" for server in servers}}
    web = ReservationSpec(capacity_rru=20, rru={"hw-a": 1.0}, survives_msb_loss=False)
    image = region_image(
        racks_per_msb=8,
        servers_per_rack=2,
        reservations={"web": web},
        current=dict.fromkeys(servers[:22], "web"),
        domains={**domains, "power_row": {"server-00": "row-0"}},
    )
    stored(database, image)


def test_it_takes_every_rack_with_a_server_in_the_domain(viewer: TestClient) -> None:
    found = viewer.get(PATH, params={"domain": "network_block:b0"}).json()
    racks = [rack for slot in found["slots"] for rack in slot["racks"]]
    assert sorted(racks) == ["rack-00", "rack-01", "rack-04", "rack-08", "rack-09"]
    assert (found["racks"], found["unplaced"]) == (5, [])
    assert all({rack >= "rack-08" for rack in slot["racks"]} == {slot["msb"] == "msb-01"} for slot in found["slots"])
    assert all(slot["servers"] <= 2 for slot in found["slots"]), "web can spare two of its servers at a time"
    starts_at = found["slots"][0]["starts_at"]
    named = viewer.get(PATH, params={"rack": sorted(racks), "starts_at": starts_at}).json()
    again = viewer.get(PATH, params={"domain": "network_block:b0", "starts_at": starts_at}).json()
    assert again == named
    more = viewer.get(PATH, params={"domain": ["network_block:b0", "power_row:row-0"], "rack": "rack-15"}).json()
    assert more["racks"] == 6


def test_an_msb_and_a_rack_may_be_named_as_other_domains_are(viewer: TestClient) -> None:
    asked = {"domain": ["msb:msb-01", "rack:rack-00"], "starts_at": "2099-01-01T00:00:00Z"}
    named = {"msb": "msb-01", "rack": "rack-00", "starts_at": asked["starts_at"]}
    found = viewer.get(PATH, params=asked).json()
    assert found["racks"] == 9
    assert found == viewer.get(PATH, params=named).json()


@pytest.mark.parametrize(
    ("domain", "status", "said"),
    [
        ("network_block:b9", 404, "network_block b9"),
        ("netwrk_block:b0", 422, "it has msb, rack, network_block, power_row"),
        ("datacenter:dc-00", 422, "it has msb, rack, network_block, power_row"),
        ("msb:msb-09", 404, "MSB msb-09"),
        ("b0", 422, "b0 is not KIND:DOMAIN"),
        ("network_block:", 422, "network_block: is not KIND:DOMAIN"),
    ],
)
def test_what_the_region_lacks_is_named(viewer: TestClient, domain: str, status: int, said: str) -> None:
    refused = viewer.get(PATH, params={"domain": domain})
    assert refused.status_code == status
    assert said in refused.text

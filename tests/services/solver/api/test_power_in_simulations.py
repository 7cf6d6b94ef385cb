"""A simulation with other limits on power: what its domains have to spare, and what is wrong with a limit."""

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from libs.domain.power import PowerLimit
from libs.domain.reservation import ReservationSpec
from libs.store.platform.database import Database
from tests.builders.region import region_image
from tests.builders.stored import stored

ROW = {"kind": "power_row", "domain": "row-a", "limit_w": 2200}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Two MSBs of 4 servers, of 100 W idle and 300 W in full. `web` holds 3 of them, and a row feeds all."""
    database = Database(database_url)
    image = region_image(
        reservations={"web": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, survives_msb_loss=False)},
        current={f"server-{n:02d}": "web" for n in range(3)},
        attributes={"hw-a": {"idle_w": 100.0, "full_w": 300.0}},
        domains={"power_row": {f"server-{n:02d}": "row-a" for n in range(8)}},
        power_limits=[PowerLimit(kind="power_row", domain="row-a", limit_w=2500.0, headroom=0.2)],
    )
    stored(database, image)
    yield database
    database.close()


def test_it_says_what_each_domain_has_to_spare_before_and_after(simulate: Callable[..., dict], client) -> None:
    grown = {"reservation": "web", "capacity_rru": 8}
    found = simulate(demand=[grown], power_limits=[ROW])
    assert (found["applicable"], found["what_if"]["power_limits"][0]["headroom"]) == (False, None)
    report = found["report"]
    [row] = report["power"]
    assert (row["kind"], row["domain"], row["limit_w_now"], row["limit_w"]) == ("power_row", "row-a", 2500, 2200)
    assert (row["headroom_now"], row["headroom"]) == (0.2, 0.2)
    assert (row["free_w_now"], row["free_w_at_once"], row["free_w_after"]) == (600, 360, 160)
    assert report["cost"]["after"]["shortfall_rru"] == 4, "the row feeds one more server"
    [listed] = client.get("/v1/simulations").json()["items"]
    assert "power" not in listed["report"]
    assert listed["report"]["power_limits"] == 1
    body = {"region": "west", "demand": [grown], "power_limits": [ROW]}
    quick = client.post("/v1/simulations", params={"dry_run": "true"}, json=body).json()
    [guess] = quick["power"]
    assert guess == {name: row[name] for name in guess}
    assert (quick["taken_servers"], quick["with_free"]["shortfall_rru"]) == (1, 4)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "row"}, "power_limits[0].kind"),
        ({"domain": "row-b"}, "power_limits[0].domain"),
        ({"limit_w": 0}, "power_limits.0.limit_w"),
        ({"limit_w": 2e9}, "power_limits.0.limit_w"),
        ({"headroom": 0.95}, "power_limits.0.headroom"),
    ],
)
def test_what_is_wrong_with_a_limit_is_named(client: TestClient, change: dict, field: str) -> None:
    refused = client.post("/v1/simulations", json={"region": "west", "power_limits": [ROW | change]})
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


def test_a_domain_has_one_limit(client: TestClient) -> None:
    refused = client.post("/v1/simulations", json={"region": "west", "power_limits": [ROW, ROW]})
    assert [(e["field"], e["code"]) for e in refused.json()["errors"]] == [("power_limits[1].domain", "given_twice")]

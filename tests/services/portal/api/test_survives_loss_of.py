"""A request names further kinds of domain whose loss its capacity survives."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from tests.builders.region import region_image
from tests.services.portal.conftest import create

KINDS = ("network_block", "power_row")
SPEC = {"capacity_rru": 4, "rru": {"hw-a": 1}, "survives_loss_of": ["network_block"]}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Three MSBs of 8 servers, in three blocks and two rows that cross them."""
    database = Database(database_url)
    servers = [f"server-{i:02d}" for i in range(24)]
    domains = {KINDS[k]: {name: f"{KINDS[k]}-{i % (3 - k)}" for i, name in enumerate(servers)} for k in range(2)}
    image = region_image("west", msbs=3, servers_per_rack=8, domains=domains)
    with database.write() as tx:
        import_region(tx, image, actor="test", now=SystemClock().now())
    yield database
    database.close()


def spec_of(client: TestClient, url: str) -> dict:
    return client.get(url).json()["spec"]  # type: ignore[no-any-return]


def test_kinds_are_kept_and_change_with_a_resize(client: TestClient, assess_all) -> None:
    asked = client.post("/v1/capacity-requests", json=create(spec=SPEC | {"survives_loss_of": [*KINDS, KINDS[0]]}))
    assert asked.status_code == 201, asked.text
    assert asked.json()["spec"]["survives_loss_of"] == list(KINDS)
    assess_all()
    decided = client.get(asked.headers["location"]).json()
    assert decided["status"]["phase"] == "granted", decided
    assert "the loss of any one MSB or network_block or power_row" in decided["status"]["message"]
    url = f"/v1/reservations/{decided['reservation_id']}"
    assert spec_of(client, url)["survives_loss_of"] == list(KINDS)
    for change, kinds in (({"capacity_rru": 5}, list(KINDS)), ({"survives_loss_of": [KINDS[1]]}, [KINDS[1]])):
        generation = client.get(url).headers["etag"]
        assert client.patch(url, json={"spec": change}, headers={"If-Match": generation}).status_code == 202
        assess_all()
        assert spec_of(client, url)["survives_loss_of"] == kinds
    losses = client.get(url).json()["status"]["held_after_further_losses"]
    assert losses == [{"kind": "power_row", "domain": None, "held_after_rru": 0.0}], "no server has joined yet"


@pytest.mark.parametrize("path", ["/v1/capacity-requests", "/v1/reservations", "/v1/reservations?dry_run=true"])
def test_an_unknown_kind_is_refused_with_those_of_the_region(client: TestClient, path: str) -> None:
    body = create(spec=SPEC | {"survives_loss_of": ["network_blok"]})
    if path != "/v1/capacity-requests":
        body = {"region": "west", "name": "web", "owner": "me", "spec": body["spec"]}
    answer = client.post(path, json=body)
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["field"], error["code"], error["known"]) == ("spec.survives_loss_of", "unknown_name", list(KINDS))
    assert error["message"] == "west has no kind of domain called network_blok: it has network_block, power_row"


def test_the_msb_is_no_further_kind(client: TestClient) -> None:
    answer = client.post("/v1/capacity-requests", json=create(spec=SPEC | {"survives_loss_of": ["msb"]}))
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, "spec.survives_loss_of")
    assert error["message"] == "names further kinds only: leave out msb, and let survives_msb_loss be true"


def test_a_kind_without_places_is_refused(client: TestClient, database: Database) -> None:
    with database.write() as tx:
        tx.execute(sa.text("DELETE FROM server_domains WHERE kind = 'network_block'"))
    answer = client.post("/v1/capacity-requests", json=create(spec=SPEC))
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["field"], error["code"]) == ("spec.survives_loss_of", "no_places")
    assert error["message"].startswith("no server of west has a place of the kind network_block")


def test_no_more_kinds_than_a_region_may_have(client: TestClient) -> None:
    body = create(spec=SPEC | {"survives_loss_of": [f"kind_{k}" for k in range(9)]})
    answer = client.post("/v1/capacity-requests", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "too_long")


def test_a_further_kind_asks_for_more_and_needs_an_approval(client: TestClient, admin: TestClient, assess_all) -> None:
    asked = client.post("/v1/capacity-requests", json=create(spec=SPEC | {"survives_loss_of": []}))
    assess_all()
    url = f"/v1/reservations/{client.get(asked.headers['location']).json()['reservation_id']}"
    limits = {"size_cost_units": 5, "four_eyes": False}
    put = admin.put("/v1/regions/west/approval-limits", json=limits, headers={"If-Match": '"0"'})
    assert put.is_success, put.text
    change = {"spec": {"survives_loss_of": ["power_row"]}}
    grown = client.patch(url, json=change, headers={"If-Match": client.get(url).headers["etag"]})
    assess_all()
    status = client.get(grown.headers["location"]).json()["status"]
    assert status["phase"] == "awaiting_approval", status
    assert "8 cost units" in status["message"], "4 in each of two rows, of which one may be lost"

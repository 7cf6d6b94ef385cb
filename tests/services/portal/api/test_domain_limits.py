"""A request names limits per kind of domain."""

from collections.abc import Iterator

import numpy as np
import pytest
from fastapi.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from tests.builders.region import region_image
from tests.builders.stored import read
from tests.services.portal.conftest import create

NONE = {"domains_max": None, "servers_max": None, "share_max": None, "domains_preferred": None}
WITHIN = NONE | {"kind": "network_block", "domains_max": 1}
SPREAD = NONE | {"kind": "msb", "servers_max": 3, "share_max": 0.75}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Three MSBs of 8 servers, in three blocks that cross them."""
    database = Database(database_url)
    blocks = {f"server-{i:02d}": f"block-{i % 3}" for i in range(24)}
    image = region_image("west", msbs=3, servers_per_rack=8, domains={"network_block": blocks})
    with database.write() as tx:
        import_region(tx, image, actor="test", now=SystemClock().now())
    yield database
    database.close()


def asking(*limits: dict) -> dict:
    spec = {"capacity_rru": 4, "rru": {"hw-a": 1}, "survives_msb_loss": False, "domain_limits": list(limits)}
    return create(spec=spec)


def test_limits_are_kept_and_change_with_a_resize(client: TestClient, database: Database, assess_all) -> None:
    given = [{key: value for key, value in limit.items() if value is not None} for limit in (WITHIN, SPREAD)]
    asked = client.post("/v1/capacity-requests", json=asking(*given))
    assert asked.status_code == 201, asked.text
    assert asked.json()["spec"]["domain_limits"] == [SPREAD, WITHIN]
    assess_all()
    decided = client.get(asked.headers["location"]).json()
    assert decided["status"]["phase"] == "granted", decided
    url = f"/v1/reservations/{decided['reservation_id']}"
    region = read(database)
    wanted = np.flatnonzero(region.servers.target == 0)
    assert len(wanted) == 4
    assert len(set(region.servers.domain[wanted, 0])) == 1
    assert np.bincount(region.server_msb[wanted]).max() <= 3
    for change, limits in (({"capacity_rru": 5}, [SPREAD, WITHIN]), ({"domain_limits": []}, [])):
        generation = client.get(url).headers["etag"]
        assert client.patch(url, json={"spec": change}, headers={"If-Match": generation}).status_code == 202
        assess_all()
        assert client.get(url).json()["spec"]["domain_limits"] == limits


def test_an_unknown_kind_is_refused_with_all_that_have_limits(client: TestClient) -> None:
    answer = client.post("/v1/capacity-requests", json=asking({"kind": "rack", "servers_max": 1}))
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["known"]) == (422, ["datacenter", "msb", "network_block"])
    assert error["message"] == "west has no kind of domain called rack: it has datacenter, msb, network_block"


def test_a_request_beyond_its_limits_is_refused_with_the_ways_out(client: TestClient, assess_all) -> None:
    body = asking({"kind": "network_block", "domains_max": 1})
    body["spec"]["capacity_rru"] = 9
    asked = client.post("/v1/capacity-requests", json=body)
    assess_all()
    status = client.get(asked.headers["location"]).json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "BeyondHardLimits"), status
    assert "Either raise domains_max of network_block to 2, or ask for at most 8 RRU." in status["message"]


def test_a_preference_gives_few_domains_and_refuses_nothing(client: TestClient, database: Database, assess_all) -> None:
    wish = {"kind": "network_block", "domains_preferred": 1}
    for capacity, blocks in ((4, 1), (9, 2)):
        body = asking(wish)
        body["reservation"], body["spec"]["capacity_rru"] = f"web-{capacity}", capacity
        asked = client.post("/v1/capacity-requests", json=body)
        assess_all()
        decided = client.get(asked.headers["location"]).json()
        assert decided["status"]["phase"] == "granted", decided
        assert decided["spec"]["domain_limits"] == [NONE | wish]
        region = read(database)
        row = int(np.flatnonzero(region.reservations.name == body["reservation"])[0])
        held = np.flatnonzero(region.servers.target == row)
        assert (len(held), len(set(region.servers.domain[held, 0]))) == (capacity, blocks)


@pytest.mark.parametrize(
    ("limits", "field", "told"),
    [
        ([{"kind": "network_blok", "domains_max": 1}], "spec.domain_limits", "it has datacenter, msb, network_block"),
        ([{"kind": "msb"}], "spec.domain_limits.0", "give at least one of domains_max, servers_max, share_max"),
        ([{"kind": "msb", "domains_max": 0}], "spec.domain_limits.0.domains_max", "at least 1"),
        (
            [{"kind": "msb", "domains_max": 1, "domains_preferred": 2}],
            "spec.domain_limits.0.domains_preferred",
            "is 2, above the hard limit domains_max 1: give at most 1, or leave it out",
        ),
        (
            [{"kind": "msb", "domains_preferred": 0}],
            "spec.domain_limits.0.domains_preferred",
            "at least 1",
        ),
        ([{"kind": "msb", "share_max": 1.5}], "spec.domain_limits.0.share_max", "at most 1"),
        (
            [{"kind": "msb", "servers_max": 2}, {"kind": "msb", "share_max": 0.5}],
            "spec.domain_limits",
            "names the kind msb twice: give all of its limits in one entry",
        ),
    ],
)
def test_wrong_limits_are_refused_with_their_field(client: TestClient, limits: list, field: str, told: str) -> None:
    answer = client.post("/v1/capacity-requests", json=asking(*limits))
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == field, error
    assert told in error["message"], error

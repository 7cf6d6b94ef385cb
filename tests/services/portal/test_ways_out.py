"""A dry run that is not granted offers changes. A request with such a change gets the answer that was offered."""

import pytest
from fastapi.testclient import TestClient

from libs.store.capacity.quotas import load_quota, set_quota
from libs.store.platform.database import Database
from tests.services.portal.conftest import WEB, create


def dry_run(client: TestClient, spec: dict) -> dict:
    answer = client.post("/v1/capacity-requests?dry_run=true", json=create("web", spec))
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("change", "phase", "ways"),
    [
        ({"capacity_rru": 6}, "granted", []),
        ({"capacity_rru": 60}, "rejected", [{"survives_msb_loss"}]),
        ({"capacity_rru": 400}, "rejected", [{"capacity_rru"}]),
        ({"capacity_rru": 12, "datacenters": ["dc-00"], "msb_share_max": 0.25}, "rejected", [{"msb_share_max"}]),
    ],
)
def test_each_offered_change_gets_the_answer_that_was_offered(client, change, phase, ways) -> None:
    spec = WEB | change
    said = dry_run(client, spec)
    assert said["status"]["phase"] == phase
    offered = [set(one["change"]) for one in said["ways_out"]]
    assert all(way in offered for way in ways), offered
    assert (offered == []) == (ways == [])
    ranks = [("granted", "degraded").index(one["phase"]) for one in said["ways_out"]]
    assert ranks == sorted(ranks)
    for one in said["ways_out"]:
        other = dry_run(client, spec | one["change"])
        assert (other["status"]["phase"], other["status"]["message"]) == (one["phase"], one["message"])
        assert one["change"].get("capacity_rru", 0) < spec["capacity_rru"]


@pytest.mark.parametrize(
    "change",
    [
        {"capacity_rru": 25, "domain_limits": [{"kind": "msb", "domains_max": 2}]},
        {"capacity_rru": 16, "domain_limits": [{"kind": "msb", "domains_max": 2}]},
        {"capacity_rru": 60},
        {"capacity_rru": 48},
        {"capacity_rru": 30, "datacenters": ["dc-00"]},
        {  # sums of 1.7 leave remainders
            "capacity_rru": 31.7,
            "survives_msb_loss": False,
            "rru": {"hw-a": 1.0, "hw-b": 1.7},
            "datacenters": ["dc-00"],
            "domain_limits": [{"kind": "msb", "domains_max": 2}],
        },
    ],
)
def test_a_size_that_is_offered_is_granted(client: TestClient, assess_all, change: dict) -> None:
    """Others hold servers, so the region has less to grant than it could give in some other state."""
    client.post("/v1/capacity-requests", json=create("big", WEB | {"capacity_rru": 12}))
    assess_all()
    said = dry_run(client, WEB | change)
    assert said["status"]["phase"] in ("rejected", "degraded")
    [size] = [one for one in said["ways_out"] if "capacity_rru" in one["change"]]
    other = dry_run(client, WEB | change | size["change"])
    assert (size["phase"], other["status"]["phase"]) == ("granted", "granted"), size


def test_a_capacity_in_servers_is_offered_as_a_count(client: TestClient) -> None:
    spec = {"count": 60, "hardware_types": ["hw-a"]}
    [size] = [one for one in dry_run(client, spec)["ways_out"] if "count" in one["change"]]
    assert size["phase"] == "granted"
    assert dry_run(client, spec | size["change"])["status"]["phase"] == "granted"


def test_a_quota_offers_a_capacity_that_fits(client: TestClient, database: Database) -> None:
    spec = WEB | {"survives_msb_loss": False}
    whole = dry_run(client, spec)["status"]["numbers"]["cost_units"]
    with database.write() as tx:
        set_quota(tx, "west", "team", whole / 2, generation=load_quota(tx, "west", "team").generation)
    said = dry_run(client, spec)
    assert said["status"]["reason"] == "QuotaExceeded"
    [way] = said["ways_out"]
    assert way["phase"] == "granted"
    assert 0 < way["change"]["capacity_rru"] < spec["capacity_rru"]
    assert way["cost_units"] <= whole / 2


def test_a_stored_request_offers_nothing(client: TestClient) -> None:
    assert (
        client.post("/v1/capacity-requests", json=create("web", WEB | {"capacity_rru": 400})).json()["ways_out"] == []
    )

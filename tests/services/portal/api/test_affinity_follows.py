"""A request may take its shares of datacenters from another reservation."""

from collections import Counter
from datetime import timedelta

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.reconcile.errors import Overtaken
from libs.store.capacity.reservations import create_reservation
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from tests.builders.stored import read
from tests.services.portal.conftest import create


def following(other: str | None = "old", **spec: object) -> dict:
    return create(
        spec={"capacity_rru": 4, "rru": {"hw-a": 1}, "survives_msb_loss": False, "affinity_follows": other, **spec}
    )


def refusal(client: TestClient, body: dict) -> dict:
    answer = client.post("/v1/capacity-requests", json=body)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    return error


def granted(client: TestClient, assess_all, body: dict) -> dict:
    asked = client.post("/v1/capacity-requests", json=body)
    assert asked.status_code == 201, asked.text
    assess_all()
    request = client.get(asked.headers["location"]).json()
    assert request["status"]["phase"] == "granted", request
    [found] = client.get("/v1/reservations", params={"region": "west", "name": request["reservation"]}).json()["items"]
    return found


def places(database: Database, name: str) -> Counter[str]:
    """Return the number of servers of a reservation in each datacenter, by target."""
    region = read(database)
    row = region.reservations.name.tolist().index(name)
    return Counter(region.topology.datacenters[region.server_datacenter[region.servers.target == row]].tolist())


def test_its_servers_come_where_those_of_the_other_one_are(client: TestClient, database: Database, assess_all) -> None:
    found = granted(client, assess_all, following())
    assert found["spec"]["affinity"] == {"dc-00": 1.0, "dc-01": 0.0}
    assert found["spec"]["affinity_follows"] == "old"
    assert places(database, "web") == {"dc-00": 4}


def test_a_resize_keeps_following_and_own_shares_end_it(client: TestClient, assess_all) -> None:
    found = granted(client, assess_all, following())

    def resized(spec: dict) -> dict:
        url = f"/v1/reservations/{found['reservation_id']}"
        answer = client.patch(url, json={"spec": spec}, headers={"If-Match": client.get(url).headers["etag"]})
        assert answer.status_code == 202, answer.text
        assess_all()
        return client.get(url).json()["spec"]

    assert resized({"capacity_rru": 5})["affinity_follows"] == "old"
    own = resized({"affinity": {"dc-01": 0.5}})
    assert (own["affinity_follows"], own["affinity"]) == (None, {"dc-01": 0.5})
    again = resized({"affinity_follows": "old"})
    assert (again["affinity_follows"], again["affinity"]) == ("old", {"dc-00": 1.0, "dc-01": 0.0})
    left = resized({"affinity_follows": None})
    assert (left["affinity_follows"], left["affinity"]) == (None, {"dc-00": 1.0, "dc-01": 0.0})


@pytest.mark.parametrize(
    ("body", "field", "told"),
    [
        (following("olt"), "spec.affinity_follows", "did you mean old?"),
        (following("web"), "spec.affinity_follows", "this reservation itself"),
        (following("shared-buffer-hw-a"), "spec.affinity_follows", "no reservation is called"),
        (following(affinity={"dc-00": 1}), "spec.affinity", "either affinity, or affinity_follows"),
    ],
)
def test_what_it_cannot_follow_is_told(client: TestClient, body: dict, field: str, told: str) -> None:
    error = refusal(client, body)
    assert error["field"] == field
    assert told in error["message"], error


def test_only_those_that_hold_servers_are_named(client: TestClient, database: Database, assess_all) -> None:
    granted(client, assess_all, following(None))
    later = SystemClock().now() + timedelta(days=9)
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, starts_at=later)
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        create_reservation(tx, region_id, name="later", owner="team", spec=spec, now=later, scheduled=True)
        create_reservation(tx, region_id, name="spare", owner="us", spec=spec, now=later)
        tx.execute(sa.text("UPDATE reservations SET kind = 'shared_buffer' WHERE name = 'spare'"))
    assert refusal(client, following("nope") | {"reservation": "third"})["known"] == ["old", "web"]


def test_there_are_no_chains(client: TestClient, assess_all) -> None:
    granted(client, assess_all, following())
    third = following("web") | {"reservation": "third"}
    assert "follows old itself: name old" in refusal(client, third)["message"]
    resize = {"kind": "resize", "region": "west", "reservation": "old", "spec": {"affinity_follows": "other"}}
    granted(client, assess_all, create("other"))
    assert "web follows old" in refusal(client, resize)["message"]


def test_an_undecided_request_is_amended_to_follow_another_one(client: TestClient, assess_all) -> None:
    asked = client.post("/v1/capacity-requests", json=following(None))
    url, match = asked.headers["location"], {"If-Match": asked.headers["etag"]}
    amended = client.patch(url, json={"spec": {"affinity_follows": "old"}}, headers=match)
    assert amended.status_code == 200, amended.text
    assert amended.json()["spec"]["affinity"] == {"dc-00": 1.0, "dc-01": 0.0}
    assess_all()
    assert client.get(url).json()["status"]["phase"] == "granted"


def test_requests_that_wait_together_make_no_chain(client: TestClient, assess_all) -> None:
    for name in ("first", "second"):
        granted(client, assess_all, create(name))
    asked = [
        client.post(
            "/v1/capacity-requests",
            json={"kind": "resize", "region": "west", "reservation": one, "spec": {"affinity_follows": other}},
        )
        for one, other in (("first", "second"), ("second", "first"))
    ]
    assess_all()
    status = [client.get(one.headers["location"]).json()["status"] for one in asked]
    assert [one["phase"] for one in status] == ["granted", "rejected"]
    assert status[1]["reason"] == "CannotFollow"
    assert "that one follows second: let it follow none" in status[1]["message"]


def test_a_reservation_that_began_to_follow_meanwhile_is_not_followed(
    client: TestClient, database: Database, assess_all
) -> None:
    granted(client, assess_all, following())
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, affinity_follows="web")
    with database.snapshot() as tx:
        region_id = load_region(tx, "west").region_id
    with pytest.raises(Overtaken, match="follows old itself"), database.write() as tx:
        create_reservation(tx, region_id, name="third", owner="team", spec=spec, now=SystemClock().now())


def test_it_can_be_resized_once_the_other_one_is_gone(client: TestClient, assess_all) -> None:
    found = granted(client, assess_all, following())
    gone = {"kind": "delete", "region": "west", "reservation": "old"}
    assert client.post("/v1/capacity-requests", json=gone).status_code == 201
    url = f"/v1/reservations/{found['reservation_id']}"
    answer = client.patch(
        url, json={"spec": {"capacity_rru": 5}}, headers={"If-Match": client.get(url).headers["etag"]}
    )
    assert answer.status_code == 202, answer.text
    assess_all()
    spec = client.get(url).json()["spec"]
    assert (spec["capacity_rru"], spec["affinity"]) == (5, {"dc-00": 1.0, "dc-01": 0.0})
    assert "no reservation is called old" in refusal(client, following() | {"reservation": "other"})["message"]


def test_shares_of_another_one_that_cannot_be_had_say_whose_they_are(client: TestClient) -> None:
    """`old` is in dc-00 alone, which has 12 servers of the type."""
    asked = client.post("/v1/capacity-requests?dry_run=true", json=following(capacity_rru=15)).json()["status"]
    assert (asked["phase"], asked["reason"]) == ("rejected", "BeyondAffinity"), asked
    assert asked["message"].endswith(" Its shares are those of old: to have others, name shares instead.")

"""A request asks for resources beside its RRU, and each of them is there."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from tests.builders.region import region_image
from tests.builders.stored import read
from tests.services.portal.conftest import create

AMOUNTS = {"hw-a": {"cores": 64, "memory_gib": 128}, "hw-b": {"cores": 16, "memory_gib": 1024}}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Three MSBs, each with a rack of 4 hw-a and one of 4 hw-b."""
    database = Database(database_url)
    image = region_image("west", msbs=3, racks_per_msb=2, servers_per_rack=4, hardware_types=("hw-a", "hw-b"))
    with database.write() as tx:
        import_region(tx, image, actor="test", now=SystemClock().now())
        for name, said in AMOUNTS.items():
            values = {"name": name, "said": json.dumps(said)}
            tx.execute(sa.text("UPDATE hardware_types SET attributes = :said WHERE name = :name"), values)
    yield database
    database.close()


def asking(**resources: float) -> dict:
    return create(spec={"capacity_rru": 2, "rru": {"hw-a": 1, "hw-b": 1}, "resources": resources})


def decided(client: TestClient, assess_all, body: dict) -> dict:
    asked = client.post("/v1/capacity-requests", json=body)
    assert asked.status_code == 201, asked.text
    assess_all()
    return client.get(asked.headers["location"]).json()


def left_after_worst(database: Database, resource: str) -> float:
    """Return what the targets of the only reservation give of a resource without any one MSB."""
    region = read(database)
    amounts = np.array([AMOUNTS[str(t)][resource] for t in region.hardware_types])
    held = amounts[region.servers.hardware_type] * (region.servers.target == 0)
    return min(held[region.server_msb != lost].sum() for lost in range(3))


def test_a_granted_request_has_each_resource_after_the_loss_of_any_msb(
    client: TestClient, database: Database, assess_all
) -> None:
    found = decided(client, assess_all, asking(cores=200, memory_gib=3000))
    assert found["status"]["phase"] == "granted", found
    assert found["spec"]["resources"] == {"cores": 200, "memory_gib": 3000}
    assert "cover 2 RRU and 200 cores and 3000 memory_gib" in found["status"]["message"]
    assert left_after_worst(database, "cores") >= 200
    assert left_after_worst(database, "memory_gib") >= 3000
    url = f"/v1/reservations/{found['reservation_id']}"
    status = client.get(url).json()["status"]
    assert [(one["resource"], one["asked"], one["short"]) for one in status["resources"]] == [
        ("cores", 200, 0),
        ("memory_gib", 3000, 0),
    ]
    assert all(one["target"] > one["asked"] and one["held"] == 0 for one in status["resources"])
    ready = next(one for one in status["conditions"] if one["type"] == "Ready")
    assert ready["status"] == "False"
    assert "Holds 0 of 200 cores" in ready["message"] or "Holds 0 of 2 RRU" in ready["message"]


def test_a_resize_keeps_the_resources_that_it_does_not_name(client: TestClient, database: Database, assess_all) -> None:
    found = decided(client, assess_all, asking(memory_gib=2000))
    url = f"/v1/reservations/{found['reservation_id']}"
    for change, resources in (
        ({"capacity_rru": 3}, {"memory_gib": 2000}),
        ({"resources": {"cores": 100}}, {"cores": 100}),
        ({"resources": {}}, {}),
    ):
        generation = client.get(url).headers["etag"]
        assert client.patch(url, json={"spec": change}, headers={"If-Match": generation}).status_code == 202
        assess_all()
        after = client.get(url).json()
        assert after["spec"]["resources"] == resources
        assert [one["resource"] for one in after["status"]["resources"]] == sorted(resources)
        assert after["status"]["phase"] == "granted"


def test_a_request_for_more_than_the_region_has_names_the_resource(client: TestClient, assess_all) -> None:
    # Two of three MSBs have 8 * (128 + 1024) GiB.
    status = decided(client, assess_all, asking(memory_gib=9300))["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "BeyondResource"), status
    assert "could give it 9216 of 9300 memory_gib after its worst loss" in status["message"]
    assert status["numbers"]["most_memory_gib"] == pytest.approx(9216)


def test_a_request_that_others_leave_too_little_memory_says_how_much_it_lacks(client: TestClient, assess_all) -> None:
    first = decided(client, assess_all, {**asking(memory_gib=6000), "reservation": "first"})
    assert first["status"]["phase"] == "granted", first
    status = decided(client, assess_all, {**asking(memory_gib=6000), "reservation": "second"})["status"]
    assert status["phase"] == "degraded", status
    short = status["numbers"]["short_memory_gib"]
    assert 0 < short < 6000
    assert f"Short of {short:.4g} of 6000 memory_gib" in status["message"]


@pytest.mark.parametrize(
    ("resources", "field", "told"),
    [
        ({"memory_gb": 1}, "spec.resources.memory_gb", "did you mean memory_gib?"),
        ({"cores": 0}, "spec.resources.cores", "at least 0.000001"),
        ({"cores": 1e16}, "spec.resources.cores", "at most"),
        ({f"r{k}": 1 for k in range(9)}, "spec.resources", "at most 8 items"),
    ],
)
def test_wrong_resources_are_refused_with_their_field(
    client: TestClient, resources: dict, field: str, told: str
) -> None:
    answer = client.post("/v1/capacity-requests", json=asking(**resources))
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == field, error
    assert told in error["message"], error


def test_resources_count_toward_the_quota(client: TestClient, assess_all) -> None:
    """2 RRU take 2 servers and 1 as a buffer. 3000 GiB may take 24 of those with least memory, and 12 as a buffer.
    The capacity may take 3 of the other type beside them.
    """
    small, large = (
        client.post("/v1/capacity-requests?dry_run=true", json=body).json()["status"]["numbers"]["cost_units"]
        for body in (asking(), asking(memory_gib=3000))
    )
    assert small == 3.0
    assert large == 24 + 12 + 3


def test_a_reservation_without_a_server_hears_that_none_is_on_its_way(client: TestClient, assess_all) -> None:
    alone = {"rru": {"hw-a": 1, "hw-b": 1}, "survives_msb_loss": False}
    for name, capacity in (("all", 24), ("late", 1)):
        client.post("/v1/capacity-requests", json=create(name, spec={"capacity_rru": capacity, **alone}))
        assess_all()
    [late] = client.get("/v1/reservations", params={"region": "west", "name": "late"}).json()["items"]
    [ready] = [one for one in late["status"]["conditions"] if one["type"] == "Ready"]
    assert late["status"]["phase"] == "degraded"
    assert "It has no server by target, so none is on its way." in ready["message"]

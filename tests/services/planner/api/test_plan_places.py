"""A plan by place has the capacity, traffic and shifts of the plan, and sums for the services that are not listed."""

import pytest

from tests.builders.flux_world import made_up_plan, store_made_up_plan
from tests.services.planner.conftest import DAY_ZERO


@pytest.fixture
def plan_id(database) -> int:
    return store_made_up_plan(database, made_up_plan(3, services=12), now=DAY_ZERO)


def test_places_are_those_of_the_plan(client, plan_id) -> None:
    path = f"/v1/placement-plans/{plan_id}"
    found = client.get(f"{path}/places").json()
    step = client.get(path).json()["steps"][0]
    assert found["step"] == step["step"]
    assert {one["service"]: one["planned"] for one in found["services"]} == {
        service: pytest.approx(list(by.values()), abs=1e-5) for service, by in step["capacity"].items()
    }
    assert {one["product"]: one["planned"] for one in found["products"]} == {
        product: pytest.approx(list(by.values()), abs=1e-5) for product, by in step["traffic"].items()
    }
    sizes = [max(sum(one["now"]), sum(one["planned"])) for one in found["services"]]
    assert sizes == sorted(sizes, reverse=True)
    nodes = client.get(f"{path}/dag").json()["nodes"]
    shifts = [one for one in nodes if one["phase"] == "shift"]
    assert len(found["shifts"]) == len(shifts) > 0
    assert sum(one["share"] for one in found["shifts"]) == pytest.approx(sum(one["after"] for one in shifts), abs=1e-4)
    assert found["others"] == []


def test_services_beyond_the_largest_are_summed_by_type(client, plan_id) -> None:
    path = f"/v1/placement-plans/{plan_id}/places"
    whole = client.get(path).json()["services"]
    found = client.get(path, params={"services_max": 5}).json()
    assert (found["services"], found["services_found"]) == (whole[:5], 12)
    assert sum(one["services"] for one in found["others"]) == 7
    for other in found["others"]:
        rest = [one for one in whole[5:] if one["hardware_type"] == other["hardware_type"]]
        for name in ("now", "planned", "growth"):
            assert other[name] == pytest.approx(
                [sum(values) for values in zip(*(one[name] for one in rest), strict=True)]
            )


def test_places_are_filtered_by_type_and_name(client, plan_id) -> None:
    path = f"/v1/placement-plans/{plan_id}/places"
    kind = client.get(path).json()["services"][0]["hardware_type"]
    some = client.get(path, params={"hardware_type": kind}).json()
    assert {one["hardware_type"] for one in some["services"]} == {kind}
    [one] = client.get(path, params={"name_contains": "SERVICE-07"}).json()["services"]
    assert one["service"] == "service-07"
    assert client.get("/v1/placement-plans/999/places").status_code == 404


def test_a_misspelt_name_is_no_plan_without_changes(client, plan_id) -> None:
    path = f"/v1/placement-plans/{plan_id}"
    place = client.get(f"{path}/changes").json()["changes"][0]
    some = client.get(f"{path}/changes", params={name: place[name] for name in ("service", "region")})
    assert place in some.json()["changes"]
    for query, near in (
        ({"service": "servic-07"}, {"service": "service-07"}),
        ({"region": "ahs"}, {"region": "ash"}),
        ({"service": "servic-07", "region": "ahs"}, {"service": "service-07", "region": "ash"}),
    ):
        answer = client.get(f"{path}/changes", params=query)
        assert answer.status_code == 422
        told = {one["field"]: one for one in answer.json()["errors"]}
        assert {field: one["location"] for field, one in told.items()} == dict.fromkeys(near, "query")
        assert all(name in told[field]["known"] for field, name in near.items())
    (error,) = client.get(f"{path}/places", params={"hardware_type": "comptue"}).json()["errors"]
    assert (error["field"], error["known"]) == ("hardware_type", ["compute"])


def test_brief_models_leave_out_what_grows_with_regions(client, plan_id) -> None:
    models = client.get("/v1/service-models").json()["items"]
    brief = client.get("/v1/service-models", params={"brief": True}).json()["items"]
    left_out = {"attribution", "baseline", "residual", "elsewhere"}
    assert [one["document"] for one in brief] == [
        {name: value for name, value in one["document"].items() if name not in left_out} for one in models
    ]

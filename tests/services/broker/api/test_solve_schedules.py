"""Test `/v1/regions/{region}/schedule`: roles, bounds and answers."""

import pytest
from fastapi.testclient import TestClient

from libs.domain.policy import RegionPolicy
from libs.store.fleet.regions import create_region
from libs.store.platform.database import Database
from tests.builders.stored import NOW

PATH = "/v1/regions/west/schedule"


@pytest.fixture(autouse=True)
def west(database: Database) -> None:
    with database.write() as tx:
        create_region(tx, "west", RegionPolicy(), now=NOW)


def put(client: TestClient, body: object, generation: int = 1):
    return client.put(PATH, json=body, headers={"If-Match": f'"{generation}"'})


def test_an_operator_says_how_often_a_region_is_solved(operator: TestClient, viewer: TestClient) -> None:
    hourly = {"region": "west", "solve_every_s": None, "period_s": 3600.0, "solve_due_at": None, "generation": 1}
    assert viewer.get(PATH).json() == hourly
    assert viewer.get("/v1/regions/west").json()["solve_every_s"] is None

    answer = put(operator, {"solve_every_s": 1800, "reason": "a busy week"})
    assert answer.status_code == 200, answer.text
    wanted = {**hourly, "solve_every_s": 1800.0, "period_s": 1800.0, "generation": 2}
    assert answer.json() == wanted
    assert answer.headers["ETag"] == '"2"'
    assert viewer.get(PATH).json() == wanted
    assert viewer.get("/v1/regions/west").json()["solve_every_s"] == 1800.0
    [entry] = [e for e in operator.get("/v1/audit-entries").json()["items"] if e["action"] == "set_solve_period"]
    assert (entry["actor"], entry["reason"], entry["after"]) == ("olga", "a busy week", {"solve_every_s": 1800.0})

    assert put(operator, {"solve_every_s": None}, 2).json() == {**hourly, "generation": 3}


def test_it_is_compared_and_swapped_by_an_operator(operator: TestClient, viewer: TestClient) -> None:
    assert put(viewer, {"solve_every_s": 1800}).status_code == 403
    assert operator.put(PATH, json={"solve_every_s": 1800}).status_code == 428
    assert put(operator, {"solve_every_s": 1800}, 7).status_code == 409
    assert (
        operator.put("/v1/regions/wset/schedule", json={"solve_every_s": 60}, headers={"If-Match": '"1"'}).status_code
        == 404
    )
    assert viewer.get("/v1/regions/wset/schedule").status_code == 404
    # A policy read before the change of the period is stale too, because both belong to one region.
    assert put(operator, {"solve_every_s": 1800}).status_code == 200
    patched = operator.patch("/v1/regions/west", json={"policy": {"buffer_cost": 2}}, headers={"If-Match": '"1"'})
    assert patched.status_code == 409


@pytest.mark.parametrize("solve_every_s", [0, 59.9, 604_801, -1800, "1800", "30m", True])
def test_a_period_out_of_bounds_is_refused_by_name(operator: TestClient, solve_every_s: object) -> None:
    answer = put(operator, {"solve_every_s": solve_every_s})
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["solve_every_s"]


@pytest.mark.parametrize("solve_every_s", [60, 604_800])
def test_the_bounds_themselves_are_taken(operator: TestClient, solve_every_s: float) -> None:
    assert put(operator, {"solve_every_s": solve_every_s}).json()["period_s"] == solve_every_s


def test_the_period_must_be_said(operator: TestClient) -> None:
    """If omitted, it would become the default by accident."""
    assert put(operator, {"reason": "none"}).status_code == 422

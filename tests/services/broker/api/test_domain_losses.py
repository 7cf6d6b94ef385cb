"""The loss of each domain of each kind, against one that takes its servers away one by one."""

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.domain_kind import PLACE_KINDS, unplaced_name
from libs.domain.principal import Role
from libs.store.platform.database import Database
from services.portal.api import ROUTERS as PORTAL
from tests.builders.survived import KINDS, stored_with_kinds, stored_with_resources, survive
from tests.libs.web.conftest import bearer

PATH = "/v1/regions/west/domain-losses"


@pytest.fixture
def told(app: FastAPI, database: Database) -> TestClient:
    for router in PORTAL:
        app.include_router(router)
    return TestClient(app, headers=bearer(database, Role.VIEWER, "vera"))


def facts_of(client: TestClient) -> tuple[list[dict], list[dict], dict[str, dict]]:
    """Return the servers, the reservations and the attributes of the hardware types, as lists of the API have them."""
    servers = client.get("/v1/servers", params={"region": "west", "limit": 1000}).json()["items"]
    reservations = client.get("/v1/reservations", params={"region": "west"}).json()["items"]
    types = client.get("/v1/hardware-types").json()["items"]
    return servers, reservations, {one["name"]: one["attributes"] for one in types}


def held_rru(reservation: dict, servers: list[dict], attributes: dict[str, dict]) -> float:
    """Return what servers give a reservation: the least of its RRU and of each resource, as a share of its RRU."""
    spec, found = reservation["spec"], [0.0]
    for one in servers:
        found[0] += spec["rru"].get(one["hardware_type"], 0.0)
    for name, asked in spec["resources"].items():
        has = sum(attributes[one["hardware_type"]][name] for one in servers)
        found.append(has / asked * spec["capacity_rru"])
    return min(found)


def place_of(server: dict, kind: str) -> str:
    return str(server[kind] if kind in PLACE_KINDS else server["domains"].get(kind, unplaced_name(kind)))


@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_the_loss_of_each_server(told: TestClient, database: Database, seed: int) -> None:
    rng = np.random.default_rng(seed)
    (stored_with_resources if seed % 2 else stored_with_kinds)(database, rng)
    servers, reservations, attributes = facts_of(told)
    for kind in (*PLACE_KINDS, *KINDS):
        answer = told.get(PATH, params={"kind": kind}).json()
        found = {one["domain"]: one for one in answer["items"]}
        assert found.keys() == {place_of(one, kind) for one in servers}
        for domain, one in found.items():
            there = [each for each in servers if place_of(each, kind) == domain]
            assert (one["servers"], one["in_use"]) == (len(there), sum(each["in_use"] for each in there))
            assert one["down"] == sum(each["unavailability"] == "unplanned" for each in there)
            lacks, broken = {}, 0
            for each in reservations:
                spec, status = each["spec"], each["status"]
                mine = [
                    s for s in servers if s["current_reservation"] == each["name"] and s["unavailability"] == "none"
                ]
                rest = [s for s in mine if place_of(s, kind) != domain]
                missing = status["granted_rru"] - held_rru(each, rest, attributes)
                if len(rest) < len(mine) and missing > 1e-6:
                    lacks[each["name"]] = pytest.approx(missing)
                    survives = spec["survives_msb_loss"] if kind == "msb" else kind in spec["survives_loss_of"]
                    assert survives == next(s["survives"] for s in one["short"] if s["reservation"] == each["name"])
                    broken += survives
            assert {short["reservation"]: short["missing_rru"] for short in one["short"]} == lacks, (kind, domain)
            assert (one["broken"], one["reservations_short"]) == (broken, len(lacks))
        assert answer["kinds"] == [*PLACE_KINDS, *KINDS]
        assert answer["servers"] == len(servers)
        assert answer["down"] == sum(one["unavailability"] == "unplanned" for one in servers)
        assert answer["domains_breaking"] == sum(one["broken"] > 0 for one in found.values())


def test_the_worst_come_first_and_only_as_many_as_wanted(told: TestClient, database: Database) -> None:
    stored_with_kinds(database, np.random.default_rng(3))
    survive(database, "r0", ["network_block"])
    whole = told.get(PATH, params={"kind": "network_block"}).json()
    worst = [(-one["broken"], -one["missing_rru"]) for one in whole["items"]]
    assert worst == sorted(worst)
    few = told.get(PATH, params={"kind": "network_block", "limit": 1, "named_max": 0}).json()
    assert few["items"] == [whole["items"][0] | {"short": []}]
    assert (few["domains"], few["domains_breaking"]) == (len(whole["items"]), whole["domains_breaking"])


def test_msb_losses_say_the_same_of_msbs(told: TestClient, database: Database) -> None:
    stored_with_kinds(database, np.random.default_rng(5))
    items = told.get(PATH).json()["items"]
    assert {short["survives"] for one in items for short in one["short"]} == {True, False}
    msbs = told.get("/v1/regions/west/msb-losses").json()["items"]
    assert [one["msb"] for one in msbs] == sorted(one["domain"] for one in items)
    renamed = {"domain": "msb", "survives": "survives_msb_loss"}
    for one in items:
        one["short"] = [{renamed.get(name, name): value for name, value in short.items()} for short in one["short"]]
    expected = {one["domain"]: {renamed.get(name, name): value for name, value in one.items()} for one in items}
    assert {one["msb"]: one for one in msbs} == expected


def test_a_kind_that_the_region_lacks_is_named_with_those_that_it_has(told: TestClient, database: Database) -> None:
    stored_with_kinds(database, np.random.default_rng(0))
    refused = told.get(PATH, params={"kind": "network_blok"})
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["field"], error["location"]) == (422, "kind", "query")
    assert error["known"] == [*PLACE_KINDS, *KINDS]
    assert "it has datacenter, msb, rack, network_block, power_row" in error["message"]
    assert told.get("/v1/regions/nowhere/domain-losses", params={"kind": "power_row"}).status_code == 404

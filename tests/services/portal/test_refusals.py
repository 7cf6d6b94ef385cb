"""Every refusal names the field and a correct value."""

import pytest
from fastapi.testclient import TestClient

from libs.web import solving_slots as slots
from libs.web.problems import Problem
from tests.services.portal.conftest import WEB, create

RESIZE = {"kind": "resize", "region": "west", "reservation": "old"}
REFUSED = [
    (create(kind="grow"), "kind", "enum", []),
    (create(region="wst"), "region", "unknown_name", ["west"]),
    (create() | {"owner": None}, "owner", "missing", []),
    (create() | {"spec": None}, "spec", "missing", []),
    (create(reservation_generation=1), "reservation_generation", "not_expected", []),
    (create("shared-buffer-mine"), "reservation", "reserved_name", []),
    (create("white space"), "reservation", "string_pattern_mismatch", []),
    (create("x" * 101), "reservation", "string_too_long", []),
    (create(spec={}), "spec.capacity_rru", "missing", []),
    (create(spec={"capacity_rru": 1}), "spec.rru", "missing", []),
    (create(spec={"count": 1}), "spec.hardware_types", "missing", []),
    (create(spec={"count": 1.5, "hardware_types": ["hw-a"]}), "spec.count", "int_type", []),
    (create(spec=WEB | {"count": 1}), "spec.count", "conflict", []),
    (create(spec=WEB | {"capacity_rru": 0}), "spec.capacity_rru", "greater_than_equal", []),
    (create(spec=WEB | {"capacity_rru": 1e300}), "spec.capacity_rru", "less_than_equal", []),
    (create(spec=WEB | {"rru": {}}), "spec.rru", "too_short", []),
    (create(spec=WEB | {"rru": {"hw-a": -1}}), "spec.rru.hw-a", "greater_than_equal", []),
    (create(spec=WEB | {"rru": {"hw-aa": 1}}), "spec.rru.hw-aa", "unknown_name", ["hw-a", "hw-b"]),
    (create(spec={"count": 1, "hardware_types": ["gpu"]}), "spec.hardware_types", "unknown_name", ["hw-a", "hw-b"]),
    (create(spec=WEB | {"affinity": {"dc-1": 1}}), "spec.affinity.dc-1", "unknown_name", ["dc-01", "dc-00"]),
    (create(spec=WEB | {"affinity": {"dc-00": 10.5}}), "spec.affinity.dc-00", "less_than_equal", []),
    (create(spec=WEB | {"affinity": {"dc-00": -0.5}}), "spec.affinity.dc-00", "greater_than_equal", []),
    (create(spec=WEB | {"msb_spread_limit": 2}), "spec.msb_spread_limit", "less_than_equal", []),
    (create(spec=WEB | {"capacty_rru": 2}), "spec.capacty_rru", "unknown_field", ["capacity_rru"]),
    (create(regoin="west"), "regoin", "unknown_field", ["region"]),
    (RESIZE, "spec", "missing", []),
    (RESIZE | {"spec": WEB, "owner": "me"}, "owner", "not_expected", []),
    (RESIZE | {"spec": WEB, "reservation": "odl"}, "reservation", "unknown_name", ["old"]),
    ({"kind": "delete", "region": "west", "reservation": "old", "spec": WEB}, "spec", "not_expected", []),
]


@pytest.mark.parametrize(("body", "field", "code", "known"), REFUSED, ids=[f"{f}-{c}" for _, f, c, _ in REFUSED])
def test_the_field_is_named(client: TestClient, body, field: str, code: str, known: list[str]) -> None:
    answer = client.post("/v1/capacity-requests", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), answer.text
    errors = answer.json()["errors"]
    assert [(e["field"], e["code"]) for e in errors] == [(field, code)], errors
    assert sorted(errors[0]["known"]) == sorted(known)
    assert field in answer.json()["detail"]
    assert client.get("/v1/capacity-requests").json()["items"] == []


def test_a_name_is_described_in_words(client: TestClient) -> None:
    (error,) = client.post("/v1/capacity-requests", json=create("white space")).json()["errors"]
    said = "must have only letters, digits and . _ : / - , and begin with a letter or a digit"
    assert (error["field"], error["message"]) == ("reservation", said)


def test_an_amount_in_the_other_unit(client: TestClient, assess_all) -> None:
    """A resize says how the capacity of this reservation is given, and not only which field lacks."""
    counted = create("nodes", spec={"count": 2, "hardware_types": ["hw-a"]})
    assert client.post("/v1/capacity-requests", json=counted).status_code == 201
    assess_all()
    for name, spec, field, said in (
        ("old", {"count": 3}, "spec.count", "counts RRU. Give capacity_rru (--capacity) instead, or hardware_types"),
        ("nodes", {"capacity_rru": 3}, "spec.capacity_rru", "counts servers. Give count (--count) instead, or rru or"),
    ):
        answer = client.post("/v1/capacity-requests", json=RESIZE | {"reservation": name, "spec": spec})
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["field"], error["code"]) == (422, field, "other_unit")
        assert said in error["message"]
    for spec in ({"count": 3, "hardware_types": ["hw-a"]}, {"count": 3, "workload_class": "web"}):
        answer = client.post("/v1/capacity-requests", json=RESIZE | {"spec": spec})
        assert "other_unit" not in answer.text


def test_a_name_that_is_taken(client: TestClient) -> None:
    for url, body, field in (
        ("/v1/capacity-requests", create("old"), "reservation"),
        ("/v1/reservations", {"region": "west", "name": "old", "owner": "me", "spec": WEB}, "name"),
    ):
        answer = client.post(url, json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_name")
        assert answer.json()["errors"][0]["field"] == field
        assert answer.json()["detail"].startswith("There is a reservation old in west already: ")


def test_a_region_in_a_filter(client: TestClient) -> None:
    for url in ("/v1/capacity-requests", "/v1/reservations"):
        (error,) = client.get(url, params={"region": "wets"}).json()["errors"]
        assert (error["field"], error["location"], error["known"]) == ("region", "query", ["west"])


def test_what_is_not_there(client: TestClient, admin: TestClient) -> None:
    for url in ("/v1/capacity-requests/99", "/v1/reservations/99", "/v1/reservations/99/servers"):
        answer = client.get(url)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert "99" in answer.json()["detail"]
    match = {"If-Match": '"1"'}
    assert client.patch("/v1/reservations/99", json={"spec": WEB}, headers=match).status_code == 404
    assert client.delete("/v1/reservations/99", headers=match).status_code == 404
    assert client.delete("/v1/capacity-requests/99", headers=match).status_code == 404
    assert admin.delete("/v1/tokens/99").status_code == 404
    for bad in ("0", "x", "9" * 30):
        answer = client.get(f"/v1/reservations/{bad}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "reservation_id")


def test_a_shared_buffer_is_the_policys(client: TestClient) -> None:
    buffer = client.get("/v1/reservations?kind=shared_buffer").json()["items"][0]
    url, match = f"/v1/reservations/{buffer['reservation_id']}", {"If-Match": f'"{buffer["generation"]}"'}
    for answer in (
        client.delete(url, headers=match),
        client.patch(url, json={"spec": {"capacity_rru": 3}}, headers=match),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "managed_by_policy"), answer.text


def test_every_operation_documents_how_it_fails(app) -> None:
    document = app.openapi()
    identifiers = set()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            identifiers.add(operation["operationId"])
            if path in ("/healthz", "/readyz", "/v1/issuers"):  # they need no token
                continue
            assert {"401", "403", "422", "500", "503"} <= set(operation["responses"]), (method, path)
            assert operation["security"] == [{"token": []}]
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"]
    assert len(identifiers) == sum(len(item) for item in document["paths"].values())


def test_more_dry_runs_than_it_can_bear_are_turned_away(client) -> None:
    with slots.solving_slot(-1), slots.solving_slot(-2):
        answer = client.post("/v1/capacity-requests", params={"dry_run": "true"}, json=create())
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (429, "rate_limited", "2")
    assert client.post("/v1/capacity-requests", params={"dry_run": "true"}, json=create()).status_code == 200


def test_one_token_has_one_dry_run_at_a_time() -> None:
    with slots.solving_slot(1):
        with pytest.raises(Problem, match="of yours"), slots.solving_slot(1):
            pass
        with slots.solving_slot(2):
            pass
    with slots.solving_slot(1):
        pass

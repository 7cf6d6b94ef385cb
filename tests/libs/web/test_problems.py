"""For any error, the answer is a problem document that names the field."""

import io
import json

import pytest
from fastapi.testclient import TestClient

from libs.observability.logs import configure_logging
from libs.web.bodies import BODY_BYTES_MAX
from libs.web.problems import ERRORS_MAX

JSON = {"Content-Type": "application/json"}


def problem(response, status: int, code: str) -> dict:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], body["code"]) == (status, code)
    assert body["type"] == f"urn:plimsoll:problem:{code}"
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    return body


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "name", "missing"),
        ({"name": ""}, "name", "string_too_short"),
        ({"name": 5}, "name", "string_type"),
        ({"name": "a", "tonnage": -1}, "tonnage", "greater_than_equal"),
        ({"name": "a", "tonnage": "5"}, "tonnage", "float_type"),
        ({"name": "a", "tonnage": True}, "tonnage", "float_type"),
        ({"name": "a", "sails": {"jib": {"area_m2": 0}}}, "sails.jib.area_m2", "greater_than"),
        ([], "body", "model_attributes_type"),
    ],
)
def test_a_field_that_is_not_valid_is_named(client: TestClient, body, field: str, code: str) -> None:
    errors = problem(client.post("/v1/ships", json=body), 422, "invalid_request")["errors"]
    assert [(e["field"], e["location"], e["code"]) for e in errors] == [(field, "body", code)]


def test_a_value_of_none_of_several_types_is_one_error_of_its_field(client: TestClient) -> None:
    """The library names a field for each type, such as marks.keel.bool."""
    body = {"name": "a", "marks": {"keel": None, "mast": 1}}
    [error] = problem(client.post("/v1/ships", json=body), 422, "invalid_request")["errors"]
    assert error["field"] == "marks.keel"
    assert error["message"] == "must be true or false, or must be a number, or must be a text"


def test_a_name_that_is_not_valid_is_told_by_the_field_that_has_it(client: TestClient) -> None:
    body = {"name": "a", "sails": {"": {"area_m2": 1}}}
    [error] = problem(client.post("/v1/ships", json=body), 422, "invalid_request")["errors"]
    assert (error["field"], error["message"]) == ("sails", "a name in it must have at least 1 character")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_are_finite(client: TestClient, number: str) -> None:
    body = f'{{"name": "a", "tonnage": {number}}}'
    answer = client.post("/v1/ships", content=body, headers=JSON)
    assert problem(answer, 422, "invalid_request")["errors"][0]["field"] == "tonnage"


def test_no_answer_names_every_field_of_a_flood(client: TestClient) -> None:
    body = problem(client.post("/v1/ships", json={f"f{k}": 1 for k in range(5000)}), 422, "invalid_request")
    assert len(body["errors"]) == ERRORS_MAX
    assert body["detail"].endswith("(and 4998 more)")


def test_unknown_fields_are_answered_with_the_nearest_right_name(client: TestClient) -> None:
    body = {"name": "a", "tonage": 3, "sails": {"jib": {"area_m2": 1, "areas": 2}}}
    errors = problem(client.post("/v1/ships", json=body), 422, "invalid_request")["errors"]
    assert {(e["field"], e["code"], tuple(e["known"])) for e in errors} == {
        ("tonage", "unknown_field", ("tonnage",)),
        ("sails.jib.areas", "unknown_field", ("area_m2",)),
    }


def test_unknown_query_parameters_are_refused(client: TestClient) -> None:
    errors = problem(client.get("/v1/ships?tonage=3"), 422, "invalid_request")["errors"]
    assert [(e["field"], e["location"], e["known"]) for e in errors] == [("tonage", "query", ["tonnage"])]


def test_a_query_parameter_that_takes_one_value_is_refused_twice(client: TestClient) -> None:
    """Only the last one would count: a list of region=north&region=west would lack all of north."""
    [error] = problem(client.get("/v1/ships?tonnage=3&tonnage=4"), 422, "invalid_request")["errors"]
    assert (error["field"], error["location"], error["code"]) == ("tonnage", "query", "repeated")
    assert client.get("/v1/ships?mast=3&mast=4").status_code == 200, "it takes a list"


def test_json_that_is_called_something_else_is_told_so(client: TestClient) -> None:
    """`curl -d` calls each body a form."""
    form = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    [error] = problem(client.post("/v1/ships", content=b'{"name": "a"}', headers=form), 422, "invalid_request")[
        "errors"
    ]
    said = "with Content-Type: application/json and not application/x-www-form-urlencoded"
    assert (error["field"], error["message"]) == ("body", f"a JSON object is required, {said}")


@pytest.mark.parametrize("launched_at", [1799999999, 1799999999000, "1799999999", "1.8e9", 1.5, True])
def test_a_number_is_no_time(client: TestClient, launched_at: object) -> None:
    body = {"name": "a", "launched_at": launched_at}
    [error] = problem(client.post("/v1/ships", json=body), 422, "invalid_request")["errors"]
    assert error["field"] == "launched_at"
    assert error["message"] == "must be a time with its offset from UTC, such as 2026-11-02T09:30:00Z"


def test_a_body_that_is_no_json(client: TestClient) -> None:
    for bad in (b'{"name": ', b"\xff\xfe", b'{"name":' + b"[" * 200_000):
        answer = client.post("/v1/ships", content=bad, headers=JSON)
        problem(answer, 400, "bad_request")
    problem(client.post("/v1/ships"), 422, "invalid_request")
    problem(client.post("/v1/ships", content=b"name=a", headers={"Content-Type": "text/plain"}), 422, "invalid_request")


def test_a_body_that_is_too_large(client: TestClient) -> None:
    large = b'{"name": "' + b"a" * BODY_BYTES_MAX + b'"}'
    problem(client.post("/v1/ships", content=large, headers=JSON), 413, "too_large")

    def chunks():
        yield large[:1000]
        yield large[1000:]

    problem(client.post("/v1/ships", content=chunks(), headers=JSON), 413, "too_large")


def test_routes_and_methods_that_are_not_there(client: TestClient) -> None:
    assert "/v1/boats" in problem(client.get("/v1/boats"), 404, "not_found")["detail"]
    problem(client.get("/v1/ships/"), 404, "not_found")
    answer = client.put("/v1/ships", json={})
    problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"]


def test_our_own_mistake_tells_nothing_and_is_in_the_log_under_its_id(client: TestClient) -> None:
    log = io.StringIO()
    configure_logging("test", stream=log)
    answer = client.post("/v1/ships", json={"name": "wreck"}, headers={"X-Request-Id": "mayday-1"})
    body = problem(answer, 500, "internal_error")
    assert body["request_id"] == "mayday-1"
    assert "sank" not in answer.text
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert {line["event"] for line in lines if line.get("request_id") == "mayday-1"} == {
        "request.failed",
        "request.done",
    }
    assert "sank" in log.getvalue()
    assert "plim_AAAA" not in log.getvalue()
    assert "hidden" not in log.getvalue()


def test_a_request_id_that_could_forge_a_log_line_is_replaced(client: TestClient) -> None:
    assert client.get("/healthz", headers={"X-Request-Id": 'a b"'}).headers["x-request-id"] != 'a b"'


def test_the_generation_that_was_read(client: TestClient) -> None:
    ship = {"name": "a"}
    body = problem(client.patch("/v1/ships/1", json=ship), 428, "precondition_required")
    assert body["errors"][0]["field"] == "If-Match"
    for bad in ("7", "*", '"x"', 'W/"7"', '"99999999999999999999"', '"1", "2"'):
        body = problem(client.patch("/v1/ships/1", json=ship, headers={"If-Match": bad}), 400, "bad_request")
        assert body["errors"][0]["field"] == "If-Match"
    body = problem(client.patch("/v1/ships/1", json=ship, headers={"If-Match": '"6"'}), 409, "stale_generation")
    assert (body["expected_generation"], body["found_generation"]) == (6, 7)
    assert client.patch("/v1/ships/1", json=ship, headers={"If-Match": '"7"'}).status_code == 204


def test_pages(client: TestClient) -> None:
    first = client.get("/v1/ships?limit=6").json()
    assert first["items"] == [1, 2, 3, 4, 5, 6]
    rest = client.get("/v1/ships", params={"cursor": first["next_cursor"]}).json()
    assert rest == {"items": [7, 8, 9, 10], "next_cursor": None}
    for bad in ("!", "c2hpcHM6", "Ym9hdHM6Mw==", "x" * 300, "c2hpcHM6OTk5OTk5OTk5OTk5OTk5OTk5OTk="):
        body = problem(client.get("/v1/ships", params={"cursor": bad}), 422, "invalid_request")
        assert body["errors"][0]["field"] == "cursor"
    for limit in ("0", "1001", "x"):
        body = problem(client.get("/v1/ships", params={"limit": limit}), 422, "invalid_request")
        assert body["errors"][0]["field"] == "limit"

"""Hostile or impossible bodies are refused in words, and none causes an error of ours."""

import gzip
import json

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.telemetry.span_batches import count_waiting
from tests.libs.web.conftest import bearer
from tests.services.planner.intake.exports import as_proto, export, shop_trace, span

PROTO, JSON = {"Content-Type": "application/x-protobuf"}, {"Content-Type": "application/json"}


def waiting(database):
    with database.snapshot() as tx:
        return count_waiting(tx).spans


@pytest.mark.parametrize("path", ["/v1/trace-files", "/v1/usage", "/v1/traffic"])
@pytest.mark.parametrize(
    ("media", "content"),
    [
        ("application/x-www-form-urlencoded", b"a=b"),
        ("Multipart/form-data; boundary=b", b"--b--\r\n"),
        ("Multipart/Form-Data", b"a=b"),
    ],
)
def test_a_form_that_is_no_upload_is_refused(reporter, path, media, content):
    answer = reporter.post(path, content=content, headers={"Content-Type": media})
    assert answer.status_code in (400, 415, 422), answer.text


def test_a_time_that_no_float_holds_is_one_span_left_out(reporter, database):
    far = span(1, 9, 0, "far") | {"endTimeUnixNano": "9" * 400}
    answer = reporter.post("/v1/traces", json=export(front=[far, span(1, 1, 0, "GET /")]))
    assert (answer.status_code, answer.json()["partialSuccess"]["rejectedSpans"]) == (200, "1")
    assert waiting(database) == 1


def test_every_member_of_a_gzip_counts(reporter, database):
    # Of two protobuf messages one behind the other, both are read.
    packed = b"".join(gzip.compress(as_proto(shop_trace(trace))) for trace in (1, 2))
    answer = reporter.post("/v1/traces", content=packed, headers=PROTO | {"Content-Encoding": "gzip"})
    assert answer.status_code == 200
    assert waiting(database) == 6


def test_half_of_a_surrogate_pair_is_told_back(operator):
    body, match = b'{"rows":[{"\\ud800":1}]}', {"If-Match": '"0"'}
    answer = operator.put("/v1/planning-inputs/growth", content=body, headers=JSON | match)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("text", ["\\u0000", "a\\u0000b", "\\ud800"])
def test_a_query_that_cannot_be_kept_is_refused(operator, text):
    source = {"fills": "traffic", "query": "up", "labels": {"product": "product", "region": "region"}}
    body = json.dumps(source).replace('"up"', f'"{text}"')
    answer = operator.put("/v1/metric-sources/x", content=body, headers=JSON | {"If-Match": '"0"'})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_what_can_never_be_decoded_is_413_and_leaves_nothing_counted(make_app, database, gateways, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_DECODING_BYTES", str(1 << 20))
    app = make_app()
    with TestClient(app, headers=bearer(database, Role.TELEMETRY)) as client:
        objects = b'{"resourceSpans":[' + b"{}," * 10_000 + b"{}]}"
        assert client.post("/v1/traces", content=objects, headers=JSON).status_code == 413
        files = {"file": ("x.zipkin.json", b"[" + b"{}," * 10_000 + b"{}]")}
        answer = client.post("/v1/trace-files", files=files)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert app.state.decoding.used == 0
        assert client.post("/v1/traces", json=shop_trace(1)).status_code == 200


def test_an_export_of_too_many_spans_is_413_however_few_bytes_it_is(reporter, database):
    spans = b"\x12\x00" * 100_001
    for tag in (b"\x12", b"\x0a"):
        spans = tag + bytes([len(spans) & 127 | 128, len(spans) >> 7 & 127 | 128, len(spans) >> 14]) + spans
    answer = reporter.post("/v1/traces", content=spans, headers=PROTO)
    assert answer.status_code == 413
    assert b"more than 100,000 resources, scopes and spans" in answer.content
    objects = b'{"resourceSpans":[' + b"1," * 100_001 + b"1]}"
    answer = reporter.post("/v1/traces", content=objects, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, 8)
    assert waiting(database) == 0


def test_what_does_not_fit_now_is_429_and_goes_in_later(make_app, database, gateways):
    app = make_app()
    usage = {"content": "minute,service,region,hardware_type,used\n", "headers": {"Content-Type": "text/csv"}}
    with TestClient(app, headers=bearer(database, Role.TELEMETRY)) as client:
        budget = app.state.decoding
        budget.take(budget.bytes_max)
        for answer in (client.post("/v1/usage", **usage), client.post("/v1/traces", json=shop_trace(1))):
            assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")
        budget.give(budget.bytes_max)
        assert client.post("/v1/usage", **usage).status_code == 200


def test_no_more_bodies_are_decoded_at_a_time_than_there_are_slots(make_app, database, gateways, monkeypatch):
    monkeypatch.setattr("libs.web.decoding.SLOT_S_MAX", 0.0)
    app = make_app()
    usage = {"content": "minute,service,region,hardware_type,used\n", "headers": {"Content-Type": "text/csv"}}
    with TestClient(app, headers=bearer(database, Role.TELEMETRY)) as client:
        taken = 0
        while app.state.decoding.slots.acquire(blocking=False):
            taken += 1
        assert taken == 4
        answer = client.post("/v1/usage", **usage)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")
        app.state.decoding.slots.release()
        assert client.post("/v1/usage", **usage).status_code == 200


def test_every_error_of_the_protocol_is_documented_in_its_form(make_app):
    responses = make_app().openapi()["paths"]["/v1/traces"]["post"]["responses"]
    failures = {status: set(said["content"]) for status, said in responses.items() if status >= "400"}
    assert failures.keys() >= {"400", "401", "403", "408", "413", "415", "422", "429", "500", "503"}
    assert set(map(frozenset, failures.values())) == {frozenset({"application/json", "application/x-protobuf"})}

"""Spans over OTLP are stored. Invalid ones are named, too many are refused, and acknowledged ones are never lost."""

import gzip
import json
from datetime import date

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

import services.planner.span_intake as span_intake
from libs.domain.principal import Role
from libs.flux.attribution.span_sums import sum_waiting_spans
from libs.reconcile.clock import SystemClock
from libs.store.planner.planning_inputs import append_version
from libs.store.telemetry.span_batches import StaleSpans, count_waiting, load_waiting_spans, settle_spans
from libs.store.telemetry.span_sums import load_demand
from libs.web.problems import Problem
from services.planner.reconcilers.sum_spans import SumSpans
from services.planner.span_intake import SpanIntake
from services.planner.telemetry_settings import TelemetrySettings
from tests.libs.web.conftest import bearer
from tests.services.planner.intake.conftest import NOW, WORDS, gateways_content
from tests.services.planner.intake.exports import as_proto, export, shop_trace, span

PROTO = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
GZIP = {"Content-Encoding": "gzip"}
STORE, FRONT, FINDER, UNHEARD = range(4)
SHOP, SEARCH, UNSEEN = range(3)


def sweep(database, window_s=0.0):
    return SumSpans(database, SystemClock(), window_s).reconcile()


def demand(database):
    with database.snapshot() as tx:
        return load_demand(tx, WORDS, date(2026, 1, 1), date(2100, 1, 1))


def waiting(database):
    with database.snapshot() as tx:
        return count_waiting(tx).spans


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", ["json", "proto"])
def test_spans_in_either_form_become_sums_by_product(reporter, database, form, packed):
    found = export(finder=[span(2, 1, 0, "GET /find", cpu=10)], store=[span(2, 2, 1, "Get", cpu=500)])
    for document in (shop_trace(1), found):
        body = as_proto(document) if form == "proto" else json.dumps(document).encode()
        headers = (PROTO if form == "proto" else JSON) | (GZIP if packed else {})
        response = reporter.post("/v1/traces", content=gzip.compress(body) if packed else body, headers=headers)
        assert response.status_code == 200, response.content
        assert response.headers["Content-Type"] == headers["Content-Type"]
        assert response.content == (b"" if form == "proto" else b"{}")
    assert waiting(database) == 5
    sweep(database)
    assert waiting(database) == 0
    sums, unknown = demand(database)
    assert unknown == 0
    assert sums.cost["cpu"].sum(0)[:, :2].tolist() == [[4000, 500], [1000, 0], [0, 10], [0, 0]]
    assert sums.cost["calls"].sum(0)[:, :2].tolist() == [[2, 1], [1, 0], [0, 1], [0, 0]]
    assert sums.cost["self_time"].sum(0)[STORE, SHOP] == pytest.approx(0.002)
    assert sums.gateway.sum(0).tolist() == [1, 1, 0]
    assert sums.spans.tolist() == sums.attributed.tolist() == sums.cpu_stated.tolist() == [3, 1, 1, 0]
    assert sums.edges.between(FRONT, STORE) == 2
    assert sums.edges.between(FINDER, STORE) == 1


def test_a_trace_in_pieces_waits_until_it_is_silent(reporter, database):
    whole = shop_trace(7)
    front, store = ({"resourceSpans": [part]} for part in whole["resourceSpans"])
    assert reporter.post("/v1/traces", json=store).status_code == 200
    sweep(database, window_s=3600)
    assert waiting(database) == 2
    assert reporter.post("/v1/traces", json=front).status_code == 200
    sweep(database)
    assert demand(database)[0].cost["cpu"].sum(0)[STORE, SHOP] == 4000


def test_sweeps_add_up_and_count_what_is_late_orphaned_or_double(reporter, database):
    for trace in (1, 2):
        reporter.post("/v1/traces", json=shop_trace(trace))
        sweep(database)
    reporter.post("/v1/traces", json=shop_trace(2))
    assert sweep(database).late == 3
    again = shop_trace(3)
    again["resourceSpans"][0]["scopeSpans"][0]["spans"] *= 2
    reporter.post("/v1/traces", json=again)
    assert sweep(database).demand.duplicates == 1
    reporter.post("/v1/traces", json=export(store=[span(4, 9, 8, "Get")]))
    sweep(database)
    sums, _ = demand(database)
    assert sums.cost["cpu"].sum(0)[STORE, SHOP] == 3 * 4000
    assert sums.gateway.sum(0)[SHOP] == 3
    assert sums.orphaned.tolist() == [1, 0, 0, 0]
    assert sums.duplicates == 1
    with database.snapshot() as tx:
        days = tx.execute(sa.text("SELECT sum(received), sum(late), sum(duplicates) FROM trace_days")).one()
    assert tuple(days) == (3 + 3 + 3 + 4 + 1, 3, 1)


def test_the_rest_of_a_batch_waits_when_one_of_its_traces_is_summed(reporter, database):
    """Two traces in one batch; a second batch keeps the second trace open."""
    both = shop_trace(1)
    both["resourceSpans"] += shop_trace(2)["resourceSpans"]
    reporter.post("/v1/traces", json=both)
    with database.write() as tx:
        tx.execute(sa.text("UPDATE span_batches SET arrived_at = now() - interval '90 seconds'"))
    reporter.post("/v1/traces", json=export(store=[span(2, 4, 1, "Get", cpu=7)]))
    sweep(database, window_s=60)
    assert demand(database)[0].cost["cpu"].sum(0)[STORE, SHOP] == 4000
    assert waiting(database) == 4
    sweep(database)
    assert demand(database)[0].cost["cpu"].sum(0)[STORE, SHOP] == 4000 + 4007


@pytest.mark.parametrize("form", ["json", "proto"])
def test_the_good_part_is_taken_and_the_bad_part_named(reporter, database, form):
    document = shop_trace(1)
    spans = document["resourceSpans"][1]["scopeSpans"][0]["spans"]
    spans[1:1] = [span(1, 5, 1, "Get") | {"spanId": "ab"}, span(1, 6, 1, "Get") | {"traceId": "abcd"}]
    if form == "json":
        answer = reporter.post("/v1/traces", json=document).json()["partialSuccess"]
        rejected, message = int(answer["rejectedSpans"]), answer["errorMessage"]
        assert "resourceSpans[1].scopeSpans[0].spans[1]" in message
    else:
        content = reporter.post("/v1/traces", content=as_proto(document), headers=PROTO).content
        partial = ExportTraceServiceResponse.FromString(content).partial_success
        rejected, message = partial.rejected_spans, partial.error_message
        assert "resource_spans[1].scope_spans[0].spans[1]" in message
    assert rejected == 2
    assert "spanId of 8" in message
    sweep(database)
    assert demand(database)[0].cost["cpu"].sum(0)[STORE, SHOP] == 4000
    with database.snapshot() as tx:
        assert tx.execute(sa.text("SELECT sum(rejected) FROM trace_days")).scalar_one() == 2


def test_a_broken_resource_does_not_take_the_others_with_it(reporter, database):
    document = shop_trace(1)
    document["resourceSpans"][:0] = [{"resource": {"attributes": [{"value": {}}]}, "scopeSpans": [{"spans": []}]}, 7]
    answer = reporter.post("/v1/traces", json=document).json()["partialSuccess"]
    assert "resourceSpans[0], resourceSpans[1]" in answer["errorMessage"]
    assert waiting(database) == 3


def test_services_beyond_the_limit_are_left_out_and_named(make_app, database, gateways, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_TRACED_SERVICES_MAX", "4")  # of one token: half
    with TestClient(make_app(), headers=bearer(database, Role.TELEMETRY)) as client:
        assert client.post("/v1/traces", json=shop_trace(1)).json() == {}
        more = export(third=[span(9, 1, 0, "x")], **{"no\nname": [span(9, 2, 0, "x")], "front": [span(9, 3, 0, "x")]})
        answer = client.post("/v1/traces", json=more).json()["partialSuccess"]
    assert answer["rejectedSpans"] == "2"
    assert "'third'" in answer["errorMessage"]
    assert waiting(database) == 4


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"\xff\xff\xff", PROTO, 400, 3),
        (b"no gzip", PROTO | GZIP, 400, 3),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], PROTO | GZIP, 400, 3),
        (gzip.compress(bytes(65 << 20)), PROTO | GZIP, 413, 8),
        (bytes((16 << 20) + 1), PROTO, 413, 8),
        (b"", {"Content-Type": "text/plain"}, 415, 3),
        (b"", PROTO | {"Content-Encoding": "br"}, 415, 3),
    ],
    ids=["no protobuf", "no gzip", "cut off", "unpacks to too much", "too large", "another type", "another packing"],
)
def test_what_cannot_be_read_is_refused_in_the_form_of_the_protocol(reporter, database, content, headers, status, code):
    response = reporter.post("/v1/traces", content=content, headers=headers)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/x-protobuf"
    said = Status.FromString(response.content)
    assert said.code == code
    assert said.message
    assert waiting(database) == 0


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"resourceSpans": 7}', b'{"resourceMetrics": []}'])
def test_json_that_is_no_export_is_refused_in_json(reporter, content):
    response = reporter.post("/v1/traces", content=content, headers=JSON)
    assert (response.status_code, response.json()["code"]) == (400, 3)


@pytest.mark.parametrize(("content", "headers"), [(b"{}", JSON), (b'{"resourceSpans": []}', JSON), (b"", PROTO)])
def test_an_export_of_nothing_succeeds(reporter, database, content, headers):
    assert reporter.post("/v1/traces", content=content, headers=headers).status_code == 200
    assert waiting(database) == 0


def test_who_may_not_report_is_told_so_in_the_form_of_the_protocol(operator, make_app, database):
    assert operator.post("/v1/traces", json=shop_trace(1)).status_code == 200  # stands in for the machines
    for headers, status, code in (({}, 401, 16), (bearer(database, Role.VIEWER, "vera"), 403, 7)):
        with TestClient(make_app(), headers=headers) as client:
            response = client.post("/v1/traces", json=shop_trace(1))
        assert (response.status_code, response.json()["code"]) == (status, code)


def test_a_flood_is_told_to_come_back(make_app, database, gateways, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_SPANS_WAITING_MAX", "4")
    with TestClient(make_app(), headers=bearer(database, Role.TELEMETRY)) as client:
        assert client.post("/v1/traces", json=shop_trace(1)).status_code == 200
        response = client.post("/v1/traces", json=shop_trace(2))
        assert response.status_code == 429
        assert int(response.headers["Retry-After"]) > 0
        assert response.json()["code"] == 8
    assert waiting(database) == 3
    sweep(database)
    with TestClient(make_app(), headers=bearer(database, Role.TELEMETRY, "again")) as client:
        assert client.post("/v1/traces", json=shop_trace(2)).status_code == 200


def test_bodies_that_are_read_at_a_time_are_bounded(make_app, database, gateways, monkeypatch):
    door = SpanIntake(database, TelemetrySettings(PLIMSOLL_TRACE_BODIES_BYTES=1000))
    door.enter(900)
    with pytest.raises(Problem) as caught:
        door.enter(200)
    assert (caught.value.status_code, caught.value.headers["Retry-After"]) == (429, "1")
    door.leave(900)
    door.enter(5000)  # alone, a body may be as large as its route allows


def test_two_sweeps_at_once_count_every_span_once(reporter, database):
    reporter.post("/v1/traces", json=shop_trace(1))
    slow, fast = SumSpans(database, SystemClock(), 0.0), SumSpans(database, SystemClock(), 0.0)
    with database.snapshot() as tx:
        seen = load_waiting_spans(tx)
    assert fast.reconcile() is not None
    with pytest.raises(StaleSpans), database.write() as tx:
        settle_spans(tx, seen, sum_waiting_spans(seen, 0.0))
    assert slow.reconcile() is None
    assert demand(database)[0].cost["cpu"].sum(0)[STORE, SHOP] == 4000


def test_new_entry_points_hold_for_what_comes_after(make_app, database, monkeypatch, gateways):
    monkeypatch.setattr(span_intake, "KNOWN_S", 0.0)
    with TestClient(make_app(), headers=bearer(database, Role.TELEMETRY)) as client:
        client.post("/v1/traces", json=export(store=[span(1, 1, 0, "Get")]))
        content = gateways_content({"product": ["unseen"], "service": ["store"], "operation": ["Get"]})
        with database.write() as tx:
            append_version(tx, "gateways", content, rows=1, generation=1, comment=None, created_by="olga", now=NOW)
        client.post("/v1/traces", json=export(store=[span(2, 1, 0, "Get")]))
    sweep(database)
    sums, _ = demand(database)
    assert sums.gateway.sum(0).tolist() == [0, 0, 1]
    assert sums.spans[STORE] == 2
    assert sums.attributed[STORE] == 1

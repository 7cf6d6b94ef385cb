"""Read one trace in every format: the readers must agree, and survive invalid input."""

import gzip
import json

import numpy as np
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from libs.domain.spans import SERVER
from libs.flux.attribution.attributor import Attributor
from libs.interchange.files.errors import InterchangeError
from libs.interchange.traces.intake import SERVICES_MAX, Intake, Rows, TooManyServicesError, probability_of
from libs.interchange.traces.otlp_json import OTLP_JSON
from libs.interchange.traces.readers import READERS, read_traces
from libs.interchange.traces.span_csv import FIELDS
from services.cli.flux.traces import read_graph

TRACE, ROOT, CALL, INNER = (
    "0af7651916cd43dd8448eb211c80319c",
    "00000000000000a1",
    "00000000000000a2",
    "00000000000000a3",
)
"""front (gateway) calls store through a client's span; the store's span has an inner one."""


def otlp():
    def span(identifier, parent, name, kind, took, **more):
        attributes = [{"key": key.replace("_", "."), "value": value} for key, value in more.items()]
        found = {"traceId": TRACE, "spanId": identifier, "name": name, "kind": kind, "attributes": attributes}
        found |= {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": str(1700000000000000000 + took)}
        return found | ({"parentSpanId": parent} if parent else {})

    def resource(service, spans):
        attributes = [{"key": "service.name", "value": {"stringValue": service}}]
        return {"resource": {"attributes": attributes}, "scopeSpans": [{"spans": spans}]}

    cpu = {"cpu_instructions": {"intValue": "3000"}}
    root = span(ROOT, "", "GET /", 2, 9_000_000, **cpu, sampling_probability={"doubleValue": 0.25})
    return {
        "resourceSpans": [
            resource("front", [root, span(CALL, ROOT, "call", 3, 8_000_000)]),
            resource("store", [span(INNER, CALL, "Get", 2, 7_000_000, **cpu)]),
        ]
    }


def proto():
    document = otlp()
    request = ExportTraceServiceRequest()
    for resource in document["resourceSpans"]:
        into = request.resource_spans.add()
        for attribute in resource["resource"]["attributes"]:
            into.resource.attributes.add(key=attribute["key"]).value.string_value = attribute["value"]["stringValue"]
        scope = into.scope_spans.add()
        for span in resource["scopeSpans"][0]["spans"]:
            made = scope.spans.add(
                trace_id=bytes.fromhex(span["traceId"]),
                span_id=bytes.fromhex(span["spanId"]),
                parent_span_id=bytes.fromhex(span.get("parentSpanId", "")),
                name=span["name"],
                kind=span["kind"],
                start_time_unix_nano=int(span["startTimeUnixNano"]),
                end_time_unix_nano=int(span["endTimeUnixNano"]),
            )
            for attribute in span["attributes"]:
                value = made.attributes.add(key=attribute["key"]).value
                if "intValue" in attribute["value"]:
                    value.int_value = int(attribute["value"]["intValue"])
                else:
                    value.double_value = attribute["value"]["doubleValue"]
    content = request.SerializeToString()
    return len(content).to_bytes(4, "big") + content


def zipkin():
    cpu = {"cpu.instructions": "3000"}
    front, store = {"serviceName": "front"}, {"serviceName": "store"}
    root = {"id": "a1", "kind": "SERVER", "name": "GET /", "duration": 9000, "localEndpoint": front}
    root["tags"] = cpu | {"sampling.probability": "0.25"}
    call = {"id": "a2", "parentId": "a1", "kind": "CLIENT", "name": "call", "duration": 8000, "localEndpoint": front}
    server = call | {"kind": "SERVER", "duration": 7000, "localEndpoint": store, "shared": True, "tags": cpu}
    return json.dumps([span | {"traceId": TRACE} for span in (root, call, server)]).encode()


def jaeger():
    def span(identifier, parent, name, process, took, **tags):
        references = [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": parent}] if parent else []
        found = {"traceID": TRACE, "spanID": identifier, "operationName": name, "references": references}
        tags = [{"key": key.replace("_", "."), "value": value} for key, value in tags.items()]
        return found | {"duration": took, "processID": process, "tags": tags}

    cpu = {"cpu_instructions": 3000}
    sampled = {"sampler_type": "probabilistic", "sampler_param": 0.25}
    spans = [
        span(ROOT, "", "GET /", "p1", 9000, span_kind="server", **cpu, **sampled),
        span(CALL, ROOT, "call", "p1", 8000, span_kind="client"),
        span(INNER, CALL, "Get", "p2", 7000, span_kind="server", **cpu),
    ]
    processes = {"p1": {"serviceName": "front"}, "p2": {"serviceName": "store"}}
    return json.dumps({"data": [{"traceID": TRACE, "spans": spans, "processes": processes}]}).encode()


def table():
    rows = [
        (ROOT, "root", "front-579b9bff58-t2dbm", "GET /", 9_000_000),
        (CALL, ROOT, "front-579b9bff58-t2dbm", "call", 8_000_000),
        (INNER, CALL, "store-cf787dd48-vpjrd", "Get", 7_000_000),
    ]
    lines = ["TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,Duration"]
    lines += [f"{TRACE},{i},{parent},{pod},{name},0,{took},{took // 1000}" for i, parent, pod, name, took in rows]
    return "\n".join(lines).encode()


FORMATS = {
    ".jsonl": lambda: json.dumps(otlp()).encode() + b"\n",
    ".pb": proto,
    ".zipkin.json": zipkin,
    ".jaeger.json": jaeger,
    ".csv": table,
}


def read(path):
    intake = Intake(gateways={("front", "GET /"): 0})
    found = Attributor(products=1, window=100)
    for spans in read_traces(path, intake):
        found.add(spans, found.spans, len(intake.services))
    return intake, found.finish(len(intake.services))


def test_every_reader_is_tried():
    assert FORMATS.keys() == READERS.keys()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("suffix", FORMATS)
def test_the_formats_say_the_same(tmp_path, suffix, packed):
    path = tmp_path / f"traces{suffix}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(FORMATS[suffix]()) if packed else FORMATS[suffix]())
    intake, demand = read(path)
    stated = suffix != ".csv"  # CSV has neither instructions nor probabilities
    weight = 4.0 if stated else 1.0
    assert list(intake.services) == ["front", "store"]
    assert intake.malformed == 0
    assert demand.cost["calls"].sum((0, 2)).tolist() == [weight, weight]
    assert demand.cost["self_time"].sum((0, 2)) == pytest.approx([0.002 * weight, 0.007 * weight])
    assert demand.cost["cpu"].sum((0, 2)).tolist() == ([12_000.0, 12_000.0] if stated else [0.0, 0.0])
    assert demand.gateway.sum() == weight
    edges = demand.edges
    assert (edges.caller.tolist(), edges.callee.tolist(), edges.count.tolist()) == ([0], [1], [1.0])


def test_the_good_part_of_a_broken_batch_is_taken(tmp_path):
    document = otlp()
    good = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    broken = [
        {},
        good[0] | {"traceId": "xyz"},
        good[0] | {"traceId": "ab"},
        good[0] | {"spanId": ""},
        good[0] | {"endTimeUnixNano": "99999999999999999999999999"},
        good[0] | {"endTimeUnixNano": None},
        good[0] | {"kind": 17},
        good[0] | {"attributes": [{"key": "cpu.instructions", "value": {"stringValue": "many"}}]},
        "span",
    ]
    good[1:1] = broken
    path = tmp_path / "traces.jsonl"
    path.write_bytes(json.dumps(document).encode() + b"\n{not json}\n\n[]\n")
    intake, demand = read(path)
    assert intake.malformed == len(broken) + 2
    assert demand.spans.sum() == 3


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("traces.txt", b"", "no known format"),
        ("traces.pb", b"\0\0\0\x09abc", "cut off"),
        ("traces.pb", b"\xff\xff\xff\xff", "damaged"),
        ("traces.jaeger.json", b"{}", "data"),
        ("traces.zipkin.json", b"{", "cannot be read"),
        ("traces.csv", b"TraceID,SpanID\n", "lacks the columns ParentID"),
        ("traces.jsonl.gz", b"no gzip", "cannot be read"),
        ("traces.jsonl.gz", gzip.compress(b"{}" * 1000, mtime=0)[:-9], "cannot be read"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InterchangeError, match=says) as caught:
        read(tmp_path / name)
    assert caught.value.file == name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("traces.pb.gz", b"\0\0\0\0" * 300),
        ("traces.pb", b"\0\0\0\x02\x0a\0" * 300),
        ("traces.jsonl", b"\n" * 300),
        ("traces.jsonl.gz", b"{}\n" * 300),
        ("traces.csv.gz", ",".join(FIELDS).encode() + b"\n" * 300),
        ("traces.csv", ",".join(FIELDS).encode() + b"\nx" * 300),
    ],
)
def test_what_holds_no_span_is_not_read_without_end(tmp_path, name, content):
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(InterchangeError, match="more than 250 lines, messages"):
        list(read_traces(tmp_path / name, Intake(gateways={}, parts_max=250)))


def test_a_flood_of_service_names_ends():
    intake = Intake(gateways={})
    for number in range(SERVICES_MAX):
        intake.service(f"pod-{number}")
    with pytest.raises(TooManyServicesError):
        intake.service("one-more")


def test_the_probability_of_a_consistent_sampler():
    assert probability_of("vendor=1,ot=th:c;rv:1234") == 0.25
    assert probability_of("ot=th:8") == 0.5
    assert probability_of("ot=th:0") == 1.0
    assert np.isnan(probability_of("ot=rv:1234"))
    assert np.isnan(probability_of("ot=th:zz"))
    document = otlp()
    root = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    root["attributes"], root["traceState"] = [], "ot=th:c"
    intake = Intake(gateways={})
    rows = Rows(intake)
    OTLP_JSON.add_request(json.dumps(document).encode(), intake, rows)
    spans = rows.spans()
    assert spans.probability[0] == 0.25
    assert (spans.kind == SERVER).tolist() == [True, False, True]


SHOP = {
    "frontend": {"adservice", "cartservice", "checkoutservice", "currencyservice", "productcatalogservice"}
    | {"recommendationservice", "shippingservice"},
    "recommendationservice": {"productcatalogservice"},
    "checkoutservice": {"cartservice", "emailservice", "paymentservice", "productcatalogservice", "shippingservice"},
}
"""Online Boutique's documented calls, as far as these files contain them."""


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["ob_2022-08-22_trace_03_55", "ob_2022-08-22_trace_04_11", "ob_2022-08-22_trace_05_10"]
)
def test_real_spans_show_the_known_services(shared, name):
    graph = read_graph([shared / "data" / "nezha" / f"{name}_trace.csv.gz"], ["frontend:hipstershop.Frontend/Recv."])
    assert len(graph["services"]) == 10
    assert graph["attributed"] == graph["spans"] > 10_000
    assert (graph["orphaned"], graph["late"], graph["malformed"]) == (0, 0, 0)
    callees = {}
    for call in graph["calls"]:
        callees.setdefault(call["caller"], set()).add(call["callee"])
    assert callees == SHOP
    for service in graph["services"].values():
        assert list(service["products"].values()) == [1.0]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["tt_2023-01-30_11_51", "tt_2023-01-30_11_52"])
def test_real_spans_of_a_larger_shop_all_lead_up_to_its_gateway(shared, name):
    graph = read_graph([shared / "data" / "nezha" / f"{name}_trace.csv.gz"], ["ts-gateway-service:/*"])
    assert len(graph["services"]) > 20
    assert graph["attributed"] == graph["spans"] > 2_000
    assert (graph["orphaned"], graph["late"], graph["malformed"]) == (0, 0, 0)

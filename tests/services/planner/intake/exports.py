"""Make exports over OTLP, in both of its forms."""

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SERVER, CLIENT = 2, 3


def span(trace, identifier, parent, name, kind=SERVER, *, cpu=1000, took_ns=1_000_000):
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{identifier:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "kind": kind,
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": str(1_000_000_000 + took_ns),
        "attributes": [{"key": "cpu.instructions", "value": {"intValue": str(cpu)}}],
    }


def export(**services):
    """Return service -> spans, as a document of OTLP/JSON."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
                "scopeSpans": [{"spans": spans}],
            }
            for service, spans in services.items()
        ]
    }


def shop_trace(trace):
    """Return a trace in which front calls store twice for the shop: 3 spans, 4,000 instructions in store."""
    return export(
        front=[span(trace, 1, 0, "GET /")],
        store=[span(trace, 2, 1, "Get", cpu=3000), span(trace, 3, 1, "Get", cpu=1000)],
    )


def as_proto(document):
    request = ExportTraceServiceRequest()
    for resource in document["resourceSpans"]:
        made = request.resource_spans.add()
        for attribute in resource["resource"]["attributes"]:
            made.resource.attributes.add(key=attribute["key"]).value.string_value = attribute["value"]["stringValue"]
        for scope in resource["scopeSpans"]:
            spans = made.scope_spans.add().spans
            for one in scope["spans"]:
                put = spans.add(
                    trace_id=bytes.fromhex(one["traceId"]),
                    span_id=bytes.fromhex(one["spanId"]),
                    parent_span_id=bytes.fromhex(one["parentSpanId"]),
                    name=one["name"],
                    kind=one["kind"],
                    start_time_unix_nano=int(one["startTimeUnixNano"]),
                    end_time_unix_nano=int(one["endTimeUnixNano"]),
                )
                for attribute in one["attributes"]:
                    put.attributes.add(key=attribute["key"]).value.int_value = int(attribute["value"]["intValue"])
    return request.SerializeToString()

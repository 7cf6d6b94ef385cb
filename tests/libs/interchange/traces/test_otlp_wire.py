"""Compare our parser of the wire format of an export with the library's parser by schema."""

from __future__ import annotations

import json
from random import Random

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from libs.interchange.files.decoded import TooLarge
from libs.interchange.traces.intake import Intake
from libs.interchange.traces.otlp_export import read_export
from libs.interchange.traces.otlp_form import ATTRIBUTES_MAX
from libs.interchange.traces.otlp_json import OTLP_JSON
from libs.interchange.traces.otlp_proto import OTLP_PROTO
from libs.interchange.traces.otlp_wire import PART_BYTES_MAX, PARTS_MAX, split_export


def drawn(random: Random) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    for _ in range(random.randrange(4)):
        resource = request.resource_spans.add(schema_url="s" * random.randrange(300))
        for _ in range(random.randrange(3)):
            resource.resource.attributes.add(key="service.name").value.string_value = "x" * random.randrange(200)
        for _ in range(random.randrange(4)):
            scope = resource.scope_spans.add(schema_url="s" * random.randrange(2))
            scope.scope.name = "n" * random.randrange(2)
            for _ in range(random.randrange(5)):
                scope.spans.add(name="a" * random.randrange(20_000), span_id=random.randbytes(8), flags=3)
    return request


def test_it_finds_what_the_schema_finds() -> None:
    random, spans = Random(1), 0
    for _ in range(200):
        request = drawn(random)
        content = request.SerializeToString()
        # Fields of later versions: a number, eight bytes, four bytes, and bytes with a number above 15.
        content += b"\x50\x96\x01" + b"\x51" + bytes(8) + b"\x55" + bytes(4) + b"\xa2\x06\x02ab"
        found = split_export(content)
        assert [one.resource for one in found] == [r.resource.SerializeToString() for r in request.resource_spans]
        wanted = [[[s.SerializeToString() for s in c.spans] for c in r.scope_spans] for r in request.resource_spans]
        assert [one.scopes for one in found] == wanted
        spans += sum(len(scope) for resource in wanted for scope in resource)
    assert spans > 1000


def test_what_is_damaged_is_refused_or_read_as_the_library_reads_it() -> None:
    random = Random(2)
    refused = 0
    for _ in range(2000):
        content = bytearray(drawn(random).SerializeToString()[:200])
        for _ in range(3):
            if content:
                content[random.randrange(len(content))] = random.randrange(256)
        try:
            split_export(bytes(content))
        except ValueError:
            refused += 1
    assert refused > 500
    for damaged in (b"\x0a", b"\x0a\x05a", b"\x80" * 11, b"\x0b", b"\x09\x00"):
        with pytest.raises(ValueError, match=r"is cut off|unknown kind"):
            split_export(damaged)


def within(content: bytes, *fields: int) -> bytes:
    """Return bytes as the value of a field within a field within ..., the innermost first."""
    for number in fields:
        size, head = len(content), bytearray([number << 3 | 2])
        while size > 127:
            head.append(size & 127 | 128)
            size >>= 7
        content = bytes([*head, size]) + content
    return content


@pytest.mark.parametrize("fields", [(2, 2, 1), (2, 1), (1,)], ids=["spans", "scopes", "resources"])
def test_more_parts_than_are_taken_are_refused(fields: tuple[int, ...]) -> None:
    inner, *outer = fields
    some = within(within(b"", inner) * (PARTS_MAX - len(outer)), *outer)
    assert split_export(some)
    with pytest.raises(TooLarge, match="100,000 resources, scopes and spans"):
        split_export(some + within(b"", *fields))


@pytest.mark.parametrize(
    "resources",
    ["[1,%s1]", '[{"scopeSpans":[1,%s1]}]', '[{"scopeSpans":[{"spans":[1,%s1]}]}]'],
    ids=["resources", "scopes", "spans"],
)
def test_likewise_in_json(resources: str) -> None:
    content = f'{{"resourceSpans":{resources % ("1," * PARTS_MAX)}}}'.encode()
    with pytest.raises(TooLarge, match="100,000 resources, scopes and spans"):
        read_export(OTLP_JSON, content, Intake(gateways={}))
    with pytest.raises(TooLarge, match="400,000 objects"):
        read_export(OTLP_JSON, b'{"resourceSpans":[%s{}]}' % (b"{}," * 400_000), Intake(gateways={}))


@pytest.mark.parametrize(
    "span", [within(b"", 9) * (ATTRIBUTES_MAX + 1), within(b"n" * PART_BYTES_MAX, 5), b"\x0a\x05a"]
)
def test_a_span_that_is_none_is_left_out_and_named(span: bytes) -> None:
    good = ExportTraceServiceRequest()
    good.resource_spans.add().scope_spans.add().spans.add(trace_id=bytes(15) + b"1", span_id=bytes(7) + b"1", kind=2)
    content = good.SerializeToString() + within(span, 2, 2, 1)
    export = read_export(OTLP_PROTO, content, Intake(gateways={}))
    assert (len(export.spans), export.malformed) == (1, 1)
    assert export.bad == ("resource_spans[1].scope_spans[0].spans[0]",)


def test_attributes_beyond_count_are_no_span_in_json_too() -> None:
    attribute = {"key": "a", "value": {"intValue": "1"}}
    span = {"traceId": f"{1:032x}", "spanId": f"{1:016x}", "startTimeUnixNano": 1, "endTimeUnixNano": 2}
    spans = [span, span | {"attributes": [attribute] * (ATTRIBUTES_MAX + 1)}]
    content = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    export = read_export(OTLP_JSON, content, Intake(gateways={}))
    assert (len(export.spans), export.malformed) == (1, 1)

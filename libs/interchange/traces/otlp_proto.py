"""Read OTLP in protobuf: the body of an export over HTTP, or a `proto` file of the Collector's file exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from google.protobuf.message import DecodeError
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from libs.interchange.traces.intake import (
    CPU,
    KIND_OF_OTLP,
    NAN,
    PROBABILITY,
    UNKNOWN,
    Intake,
    Rows,
    probability_of,
)
from libs.interchange.traces.otlp_form import ATTRIBUTES_MAX, OtlpForm, Scope
from libs.interchange.traces.otlp_wire import PART_BYTES_MAX, ResourceParts, split_export

MESSAGE_BYTES_MAX = 16 << 20


def _scopes(request: Sequence[ResourceParts]) -> Iterator[Scope]:
    for r, parts in enumerate(request):
        service = _service(parts.resource)
        for s, spans in enumerate(parts.scopes):
            yield Scope(f"resource_spans[{r}].scope_spans[{s}]", service or UNKNOWN, None if service is None else spans)


def _service(resource: bytes) -> str | None:
    """Return the service's name; "" if it has none, None if the resource cannot be decoded."""
    try:
        found = Resource.FromString(resource)
    except DecodeError:
        return None
    return next((str(a.value.string_value) for a in found.attributes if a.key == "service.name"), "")


def messages(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the messages of a file, each after its length in four bytes. Raises ValueError if one is cut off."""
    while head := stream.read(4):
        length = int.from_bytes(head, "big")
        if len(head) < 4 or length > MESSAGE_BYTES_MAX:
            raise ValueError("a length of a message is damaged")
        content = stream.read(length)
        if len(content) < length:
            raise ValueError("the last message is cut off")
        yield content


def _add(spans: Any, service: int, operations: Mapping[str, int], intake: Intake, rows: Rows) -> None:
    for content in spans:
        cpu = probability = NAN
        try:
            span = _span(content)
            for attribute in span.attributes:
                key = attribute.key
                if key == CPU:
                    cpu = _number(attribute.value)
                elif key == PROBABILITY:
                    probability = _number(attribute.value)
            if probability != probability and span.trace_state:
                probability = probability_of(span.trace_state)
            trace, identifier, parent = span.trace_id, span.span_id, span.parent_span_id
            gateway, kind = operations.get(span.name, -1), KIND_OF_OTLP[span.kind]
            took_ns = span.end_time_unix_nano - span.start_time_unix_nano
        except (LookupError, ValueError, DecodeError):
            intake.malformed += 1
            continue
        rows.trace.append(trace)
        rows.span.append(identifier)
        rows.parent.append(parent)
        rows.service.append(service)
        rows.gateway.append(gateway)
        rows.kind.append(kind)
        rows.took_ns.append(took_ns)
        rows.cpu.append(cpu)
        rows.probability.append(probability)


def _span(content: bytes) -> Any:
    """Decode a span. Raises DecodeError, or ValueError if the span is too large."""
    if len(content) > PART_BYTES_MAX:
        raise ValueError(f"a span of more than {PART_BYTES_MAX >> 10} KiB")
    span = Span.FromString(content)
    if len(span.attributes) > ATTRIBUTES_MAX:
        raise ValueError(f"a span of more than {ATTRIBUTES_MAX} attributes")
    return span


def _number(value: Any) -> float:
    form = value.WhichOneof("value")
    return float(getattr(value, form)) if form in ("int_value", "double_value", "string_value") else NAN


OTLP_PROTO = OtlpForm(split_export, _scopes, _add)

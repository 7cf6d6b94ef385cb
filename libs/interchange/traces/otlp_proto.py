"""OTLP in its binary form: the body of an export over HTTP, or what the Collector's file exporter writes as `proto`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

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
from libs.interchange.traces.otlp_form import OtlpForm, Scope

MESSAGE_BYTES_MAX = 16 << 20


def _parse(content: bytes) -> Any:
    try:
        return ExportTraceServiceRequest.FromString(content)
    except DecodeError as error:
        raise ValueError("is no ExportTraceServiceRequest") from error


def _scopes(request: Any) -> Iterator[Scope]:
    for r, resource in enumerate(request.resource_spans):
        named = (a.value.string_value for a in resource.resource.attributes if a.key == "service.name")
        service = next(named, "") or UNKNOWN
        for s, scope in enumerate(resource.scope_spans):
            yield Scope(f"resource_spans[{r}].scope_spans[{s}]", service, scope.spans)


def messages(stream: BinaryIO) -> Iterator[bytes]:
    """The messages of a file, each behind its length in four bytes. Raises: ValueError, where one is cut off."""
    while head := stream.read(4):
        length = int.from_bytes(head, "big")
        if len(head) < 4 or length > MESSAGE_BYTES_MAX:
            raise ValueError("a length of a message is damaged")
        content = stream.read(length)
        if len(content) < length:
            raise ValueError("the last message is cut off")
        yield content


def _add(spans: Any, service: int, operations: Mapping[str, int], intake: Intake, rows: Rows) -> None:
    for span in spans:
        cpu = probability = NAN
        try:
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
        except (LookupError, ValueError):
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


def _number(value: Any) -> float:
    form = value.WhichOneof("value")
    return float(getattr(value, form)) if form in ("int_value", "double_value", "string_value") else NAN


OTLP_PROTO = OtlpForm(_parse, _scopes, _add)

"""Random bodies for the routes that take files: correct ones and damaged ones."""

from __future__ import annotations

import gzip
import io
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from libs.interchange.region.write import dump_region
from libs.simulator.fleet import made_up_fleet

_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_CSV, _PARQUET = "text/csv", "application/vnd.apache.parquet"
_MEDIA = (_JSON, _PROTOBUF, _CSV, _PARQUET, "text/plain")
_Columns = Mapping[str, Sequence[object]]
_USAGE: _Columns = {
    "minute": [0.0, 1.0],
    "service": ["a", "b"],
    "region": ["west", "west"],
    "hardware_type": ["h", "h"],
    "used": [1.0, 2.0],
}
_TRAFFIC: _Columns = {
    "minute": [0.0, 1.0],
    "product": ["a", "b"],
    "region": ["west", "west"],
    "requests_per_s": [1.0, 2.0],
}
_GROWTH: _Columns = {"step": [0.0, 1.0], "product": ["feed", "feed"], "growth": [0.02, 0.03]}
_FILE_NAMES = ("t.jsonl", "t.pb", "t.zipkin.json", "t.jaeger.json", "t.csv", "t.jsonl.gz", "t.csv.gz", "t.txt", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A body: bytes, or the files of a form."""

    content: bytes | None = None
    files: Mapping[str, tuple[str, bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Return the content, or a random damage of it."""
    if draw.random() < 0.4:
        return content
    at = draw.randrange(len(content) + 1)
    return draw.choice(
        (
            content[:at],
            content[:at] + draw.randbytes(draw.randrange(1, 9)) + content[at:],
            content[:at] + draw.randbytes(4) + content[at + 4 :],
            content + content,
            b"",
            draw.randbytes(draw.randrange(64)),
            gzip.compress(content),
        )
    )


def _export_json(draw: random.Random) -> bytes:
    return json.dumps(_document(draw)).encode()


def _document(draw: random.Random) -> dict[str, object]:
    span: dict[str, object] = {
        "traceId": f"{draw.getrandbits(128):032x}",
        "spanId": f"{draw.getrandbits(64):016x}",
        "parentSpanId": draw.choice(("", "0" * 16, "x", None)),
        "name": draw.choice(("GET /", "", 5)),
        "kind": draw.choice((0, 2, 3, 9, "SERVER")),
        "startTimeUnixNano": draw.choice(("0", "1000", -1, "x")),
        "endTimeUnixNano": draw.choice(("2000", "9" * 30, 10**18)),
        "attributes": draw.choice(([], None, [{}], [{"key": "cpu.instructions", "value": {"intValue": "5"}}], "x")),
        "traceState": draw.choice(("", "ot=th:8", "ot=th:zz", 7)),
    }
    attributes = [{"key": "service.name", "value": {"stringValue": draw.choice(("a", "", "x" * 300, "\x00"))}}]
    return {
        "resourceSpans": [
            {"resource": {"attributes": attributes}, "scopeSpans": [{"spans": [span] * draw.randrange(4)}]}
        ]
    }


def _export_protobuf(draw: random.Random) -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = draw.choice(("a", "", "x" * 300))
    for _ in range(draw.randrange(4)):
        span = resource.scope_spans.add().spans.add(trace_id=draw.randbytes(16), span_id=draw.randbytes(8))
        span.kind, span.trace_state = draw.randrange(6), draw.choice(("", "ot=th:8"))
        span.end_time_unix_nano = draw.getrandbits(60)
        span.attributes.add(key="cpu.instructions").value.string_value = draw.choice(("5", "x", "inf", ""))
    content: bytes = request.SerializeToString()
    return content


def _parquet(columns: Mapping[str, Sequence[object]]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), stream)
    return stream.getvalue()


def _csv(columns: Mapping[str, Sequence[object]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]).encode()


def _spans(draw: random.Random) -> Upload:
    media, content = draw.choice(((_JSON, _export_json(draw)), (_PROTOBUF, _export_protobuf(draw))))
    headers = {"Content-Type": draw.choice((media, media, media, *_MEDIA))}
    if draw.random() < 0.3:
        headers["Content-Encoding"] = draw.choice(("gzip", "br"))
        content = gzip.compress(content)
    return Upload(content=damaged(content, draw), headers=headers)


def _trace_file(draw: random.Random) -> Upload:
    content = draw.choice((_export_json(draw), _export_protobuf(draw), b"[{}]", b'{"data":[{"spans":[{}]}]}'))
    return Upload(files={draw.choice(("file", "file", "other")): (draw.choice(_FILE_NAMES), damaged(content, draw))})


def _table(columns: Mapping[str, Sequence[object]]) -> Callable[[random.Random], Upload]:
    def make(draw: random.Random) -> Upload:
        kept = {name: values for name, values in columns.items() if draw.random() < 0.95}
        if "minute" in kept:  # older minutes are refused
            kept["minute"] = [time.time() // 60 - 60 + minute for minute in (0, 1)]
        media, content = draw.choice(((_CSV, _csv(kept)), (_PARQUET, _parquet(kept))))
        return Upload(
            content=damaged(content, draw), headers={"Content-Type": draw.choice((media, media, media, *_MEDIA))}
        )

    return make


def _growth(draw: random.Random) -> Upload:
    rows = [dict(zip(_GROWTH, row, strict=True)) for row in zip(*_GROWTH.values(), strict=True)]
    if draw.random() < 0.5:
        content = damaged(json.dumps({"rows": rows}).encode(), draw)
        return Upload(content=content, headers={"Content-Type": _JSON})
    return _table(_GROWTH)(draw)


def _region(draw: random.Random) -> Upload:
    files = dump_region(made_up_fleet("fuzz", servers=24, seed=1))
    spoilt = draw.choice([*files, None])
    return Upload(
        files={
            name.partition(".")[0]: (name, damaged(content, draw) if name == spoilt else content)
            for name, content in files.items()
            if draw.random() < 0.95
        }
    )


def _servers(draw: random.Random) -> Upload:
    content = dump_region(made_up_fleet("fuzz", servers=24, seed=1))["servers.parquet"]
    return Upload(files={"servers": ("servers.parquet", damaged(content, draw))})


UPLOADS: Mapping[str, Sequence[Callable[[random.Random], Upload]]] = {
    "POST /v1/traces": (_spans,),
    "POST /v1/trace-files": (_trace_file,),
    "POST /v1/usage": (_table(_USAGE),),
    "POST /v1/traffic": (_table(_TRAFFIC),),
    "PUT /v1/planning-inputs/{name}": (_growth,),
    "POST /v1/regions/{region}/import": (_region,),
    "POST /v1/regions/{region}/imports": (_servers,),
}
"""Functions that draw a body, by operation."""

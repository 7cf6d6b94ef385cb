"""Bombs: requests that are small to send, and large, slow or meaningless to read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import httpx

from libs.interchange.region.write import dump_region
from libs.simulator.fleet import made_up_fleet
from soak.hostile.parquet_bombs import (
    Row,
    constant_rows,
    last_row_is_bad,
    names_that_repeat,
    one_long_value,
    shared_long_name,
    under_a_false_footer,
)

REFUSED = frozenset({413, 422})
BUSY = 429
"""A status that is always right: the client must try again. BUSY does not say whether the API handles the bomb well."""
PARQUET, CSV, FORM = "application/vnd.apache.parquet", "text/csv", "application/x-www-form-urlencoded"
_PIECE_BYTES = 1 << 18
_USAGE: Row = {"minute": 0.0, "service": "a", "region": "r", "hardware_type": "h", "used": 0.0}
_TRAFFIC: Row = {"minute": 0.0, "product": "a", "region": "r", "requests_per_s": 0.0}
_SERVER: Row = {"name": "a", "rack": "r"}
_GROWTH: Row = {"step": 1.0, "product": "a", "growth": 0.02}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bomb:
    """A bomb: one request. `fits` holds the right statuses of the answer, besides 429."""

    path: str
    method: str = "POST"
    content: bytes | None = None
    files: Mapping[str, tuple[str, bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    fits: frozenset[int] = REFUSED

    def send(self, http: httpx.Client) -> int:
        """Send the bomb and return the status of the answer. Raises httpx.TransportError if there is no answer."""
        content, headers = self.content, dict(self.headers)
        if content is not None:  # sent in pieces: the client would copy the rest of a single piece at each step
            headers["Content-Length"] = str(len(content))
        return http.request(
            self.method,
            self.path,
            content=None if content is None else _pieces(content),
            files=self.files,
            headers=headers,
        ).status_code


def _pieces(content: bytes) -> Iterator[bytes]:
    for at in range(0, len(content), _PIECE_BYTES):
        yield content[at : at + _PIECE_BYTES]


def _packed(first: bytes, again: bytes, times: int, last: bytes) -> bytes:
    """Return the gzip of `first`, `times` copies of `again`, and `last`, without holding all of it unpacked."""
    parts, chunk = [], again * 100_000
    whole, rest = divmod(times, 100_000)
    middle = gzip.compress(chunk, 6)
    # A gzip may have several members (RFC 1952, 2.2), so the same member can be repeated.
    parts += [gzip.compress(first), *[middle] * whole, gzip.compress(again * rest + last)]
    return b"".join(parts)


def _one_member(content: bytes) -> bytes:
    return gzip.compress(content, 6)


def _spans(content: bytes, media: str, *, fits: frozenset[int] = REFUSED) -> Bomb:
    headers = {"Content-Type": media, "Content-Encoding": "gzip"}
    return Bomb(path="/v1/traces", content=content, headers=headers, fits=fits)


def _trace_file(name: str, content: bytes, *, fits: frozenset[int] = REFUSED) -> Bomb:
    return Bomb(path="/v1/trace-files", files={"file": (name, content)}, fits=fits)


def _table(path: str, content: bytes, media: str = PARQUET) -> Bomb:
    return Bomb(path=path, content=content, headers={"Content-Type": media})


def _input(content: bytes, media: str = PARQUET) -> Bomb:
    headers = {"Content-Type": media, "If-Match": '"0"'}
    return Bomb(method="PUT", path="/v1/planning-inputs/growth", content=content, headers=headers)


def _import(servers: bytes) -> Bomb:
    region = dump_region(made_up_fleet("bomb", servers=24, seed=1)) | {"servers.parquet": servers}
    files = {name.partition(".")[0]: (name, content) for name, content in region.items()}
    return Bomb(path="/v1/regions/bomb/import", files=files)


def _long_time() -> Bomb:
    span = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "x", "kind": 2}
    span |= {"startTimeUnixNano": "0", "endTimeUnixNano": "9" * 400}
    service = {"key": "service.name", "value": {"stringValue": "a"}}
    export = {"resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"spans": [span]}]}]}
    content, headers = json.dumps(export).encode(), {"Content-Type": "application/json"}
    # The protocol refuses one span with 200, and partialSuccess has the number of refused spans.
    return Bomb(path="/v1/traces", content=content, headers=headers, fits=frozenset({200, 400}))


def _two_bytes(number: int) -> bytes:
    """Return protobuf with `number` spans of no bytes, within the fields that contain a span."""
    return _within(b"\x12\x00" * number, b"\x12", b"\x0a")  # field 2: scope_spans, and ScopeSpans.spans


def _empty_attributes(spans: int, each: int) -> bytes:
    """Return protobuf with `spans` spans, each with `each` attributes of no bytes."""
    return _within(_within(b"\x4a\x00" * each, b"\x12") * spans, b"\x12", b"\x0a")


def _within(content: bytes, *tags: bytes) -> bytes:
    for tag in tags:
        content = tag + _length(len(content)) + content
    return content


def _length(size: int) -> bytes:
    found = bytearray()
    while size > 127:
        found.append(size & 127 | 128)
        size >>= 7
    return bytes([*found, size])


_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_FEW, _MANY = 4_000_000, 178_000_000
"""Numbers of empty objects, three bytes each. The smaller number may be decoded; the larger one is 512 MiB."""
_OTLP_FEW = 2_090_000
_ANSWERED = frozenset({200, 400, 413, 422})
"""Right statuses of a request within the bounds, whose malformed spans are left out and reported."""

BOMBS: Mapping[str, Callable[[], Bomb]] = {
    "zipkin objects": lambda: _trace_file("x.zipkin.json.gz", _packed(b"[{}", b",{}", _MANY, b"]")),
    "zipkin fits": lambda: _trace_file("x.zipkin.json.gz", _packed(b"[{}", b",{}", _FEW, b"]"), fits=_ANSWERED),
    "jaeger lists": lambda: _trace_file("x.jaeger.json.gz", _packed(b'{"data":[[]', b",[]", _MANY, b"]}")),
    "otlp json": lambda: _spans(_packed(b'{"resourceSpans":[{}', b",{}", 22_000_000, b"]}"), _JSON),
    "otlp json fits": lambda: _spans(_packed(b'{"resourceSpans":[{}', b",{}", _OTLP_FEW, b"]}"), _JSON, fits=_ANSWERED),
    "otlp protobuf": lambda: _spans(_one_member(_two_bytes(32 << 20)), _PROTOBUF),
    "otlp protobuf fits": lambda: _spans(_one_member(_two_bytes(3_100_000)), _PROTOBUF, fits=_ANSWERED),
    "otlp resources": lambda: _spans(_one_member(b"\x0a\x00" * 3_100_000), _PROTOBUF),
    "otlp attributes": lambda: _spans(_one_member(_empty_attributes(24, 130_000)), _PROTOBUF, fits=_ANSWERED),
    "gzip members": lambda: _spans(_one_member(b" " * (1 << 20)) * 1000, _JSON),
    "usage rows": lambda: _table("/v1/usage", constant_rows(_USAGE, 50_000_000)),
    "usage fits": lambda: _table("/v1/usage", last_row_is_bad(_USAGE, 4_500_000, minute=1e9)),
    "usage shared name": lambda: _table("/v1/usage", shared_long_name(_USAGE, "service", 1_000_000)),
    "usage names repeat": lambda: _table("/v1/usage", names_that_repeat(_USAGE, "service")),
    "usage false footer": lambda: _table("/v1/usage", under_a_false_footer(one_long_value(_USAGE, "service"))),
    "usage lines": lambda: _table("/v1/usage", b"minute,service,region,hardware_type,used" + b"\n" * 31_000_000, CSV),
    "traffic rows": lambda: _table("/v1/traffic", constant_rows(_TRAFFIC, 50_000_000)),
    "inputs rows": lambda: _input(constant_rows(_GROWTH, 20_000_000)),
    "inputs false footer": lambda: _input(under_a_false_footer(one_long_value(_GROWTH, "product"))),
    "inputs json": lambda: _input(b'{"rows":[' + b"{}," * 10_000_000 + b"{}]}", _JSON),
    "inputs lines": lambda: _input(b"step,product,growth" + b"\n" * 31_000_000, CSV),
    "inputs commas": lambda: _input(b"," * 7_000_000, CSV),
    "import rows": lambda: _import(constant_rows(_SERVER, 50_000_000)),
    "import false footer": lambda: _import(under_a_false_footer(one_long_value(_SERVER, "name"))),
    "colons": lambda: Bomb(method="GET", path="/x://" + ":" * 15_000, fits=frozenset({400, 404, 414})),
    "form to trace-files": lambda: _form("/v1/trace-files"),
    "form to import": lambda: _form("/v1/regions/bomb/import"),
    "form to usage": lambda: _form("/v1/usage"),
    "long time": _long_time,
    "half a surrogate": lambda: _input(b'{"rows":[{"\\ud800":1}]}', _JSON),
}
"""Functions that make a bomb, by name. The larger bombs take some seconds and some hundreds of MiB to make."""


def _form(path: str) -> Bomb:
    return Bomb(path=path, content=b"a=b", headers={"Content-Type": FORM}, fits=frozenset({415, 422}))

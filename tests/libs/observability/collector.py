"""Collect traces on this machine: receive OTLP over HTTP and keep it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Json = dict[str, Any]


@dataclass
class Collector:
    """The received spans. A span is a dictionary: traceId, spanId, parentSpanId, name, links, attributes, service."""

    url: str
    spans: list[Json] = field(default_factory=list)

    def named(self, name: str) -> list[Json]:
        return [span for span in list(self.spans) if span["name"] == name]

    def take(self, body: bytes) -> None:
        for resource in MessageToDict(ExportTraceServiceRequest.FromString(body))["resourceSpans"]:
            service = _attributes(resource["resource"])["service.name"]
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    self.spans.append(span | {"service": service, "attributes": _attributes(span)})


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield collector
        server.shutdown()
        thread.join()


def _attributes(of: Json) -> Json:
    return {a["key"]: next(iter(a["value"].values())) for a in of.get("attributes", [])}

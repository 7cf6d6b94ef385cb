"""The systems around the platform, each on loopback HTTP: traffic, load tests, Prometheus, and the way to portals."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import httpx

from libs.actuators.signature import SIGNATURE, Call, is_signed

Document = dict[str, Any]
SECRET = "a secret of the demo alone"  # noqa: S105
SIGNED = frozenset({"/traffic", "/replicas", "/load-tests"})
_LABELS = re.compile(r'(\w{1,64})="([^"]{0,200})"')


@dataclass(slots=True)
class Portals:
    """The way to the portals of all regions, which are one platform here. A closed one answers 503."""

    url: str = ""
    closed: Callable[[str], bool] = lambda region: False
    refused: dict[str, int] = field(default_factory=dict)

    def forward(self, client: httpx.Client, handler: BaseHTTPRequestHandler, region: str, rest: str) -> None:
        """Pass a call on, and its answer back."""
        body = _body(handler)
        if self.closed(region):
            self.refused[region] = self.refused.get(region, 0) + 1
            _answer(handler, 503, {"detail": f"the portal of {region} is down"})
            return
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in ("host", "content-length")}
        found = client.request(handler.command, f"{self.url}/{rest}", content=body, headers=headers)
        handler.send_response(found.status_code)
        for name in ("Content-Type", "Retry-After", "ETag"):
            if name in found.headers:
                handler.send_header(name, found.headers[name])
        handler.send_header("Content-Length", str(len(found.content)))
        handler.end_headers()
        handler.wfile.write(found.content)


@dataclass(slots=True, kw_only=True)
class Outside:
    """The systems, and what they do. They run one at a time, under a lock.

    shift      moves traffic: the body of a call -> None
    replicas   builds or removes replicas of a service: the body of a call -> None
    load_test  runs a test: the body of a call -> whether it passed
    measure    the labels of a query -> the value
    """

    shift: Callable[[Document], None]
    replicas: Callable[[Document], None]
    load_test: Callable[[Document], bool]
    measure: Callable[[Mapping[str, str]], float]
    portals: Portals = field(default_factory=Portals)
    url: str = ""

    def answer(self, path: str, body: bytes) -> Document:
        """Return the answer to a call of the platform."""
        if path == "/traffic":
            self.shift(json.loads(body))
            return {}
        if path == "/replicas":
            self.replicas(json.loads(body))
            return {}
        if path == "/load-tests":
            return {"passed": self.load_test(json.loads(body))}
        labels = dict(_LABELS.findall(parse_qs(body.decode())["query"][0]))
        sample = {"metric": {}, "value": [time.time(), str(self.measure(labels))]}
        return {"status": "success", "data": {"resultType": "vector", "result": [sample]}}


@contextmanager
def serving(outside: Outside) -> Iterator[Outside]:
    """Serve the systems on a free port until the block ends."""
    lock = threading.Lock()
    client = httpx.Client(timeout=30.0, trust_env=False)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            part, _, rest = self.path.removeprefix("/portals/").partition("/")
            if self.path.startswith("/portals/"):
                outside.portals.forward(client, self, part, rest)
                return
            body = _body(self)
            if self.path in SIGNED and not _is_ours(self, body):
                _answer(self, 401, {"message": "the signature is wrong"})
                return
            with lock:
                _answer(self, 200, outside.answer(self.path, body))

        do_GET = do_POST = _handle  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Log nothing: the platform's logs tell of every call."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    outside.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield outside
    finally:
        server.shutdown()
        server.server_close()
        client.close()


def _is_ours(handler: BaseHTTPRequestHandler, body: bytes) -> bool:
    key = handler.headers.get("Idempotency-Key", "")
    call = Call(method=handler.command, target=handler.path, key=key, body=body)
    return is_signed(handler.headers.get(SIGNATURE, ""), call, [SECRET.encode()], now_s=time.time())


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))


def _answer(handler: BaseHTTPRequestHandler, status: int, document: Document) -> None:
    content = json.dumps(document).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)

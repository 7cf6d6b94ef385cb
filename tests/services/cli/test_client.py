"""A client retries while the platform restarts, with one idempotency key, and reports when it gives up."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from services.cli import client as client_module
from services.cli.client import Client
from services.cli.failure import CliFailure


class Restarting(BaseHTTPRequestHandler):
    """Unavailable twice, then back."""

    keys: list[str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers["Idempotency-Key"])
        body = b'{"code": "unavailable", "title": "away"}' if len(self.keys) < 3 else b'{"done": true}'
        self.send_response(503 if len(self.keys) < 3 else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    Restarting.keys = []
    server = HTTPServer(("127.0.0.1", 0), Restarting)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_write_is_sent_again_until_the_platform_is_back(server: HTTPServer) -> None:
    client = Client(f"http://127.0.0.1:{server.server_port}", "token")
    assert client.post("/v1/anything", {}) == {"done": True}
    assert len(Restarting.keys) == 3
    assert len({*Restarting.keys}) == 1
    client.close()


def test_a_number_that_json_does_not_have_is_named(server: HTTPServer) -> None:
    client = Client(f"http://127.0.0.1:{server.server_port}", "token")
    body = {"spec": {"rru": {"hw-a": float("nan"), "hw-b": 1.0}, "each": [{"limit": float("-inf")}]}}
    with pytest.raises(CliFailure, match=r"spec\.rru\.hw-a is nan; spec\.each\.0\.limit is -inf: write"):
        client.put("/v1/anything", body, generation=1)
    client.close()
    assert Restarting.keys == []


def test_it_gives_up_and_says_what_to_do(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_PATIENCE_S_MAX", 0.3)
    away = Client(f"http://127.0.0.1:{server.server_port}", "token")
    with pytest.raises(CliFailure, match="unavailable"):
        away.post("/v1/anything", {})
    away.close()
    nothing = Client("http://127.0.0.1:1", "token")
    with pytest.raises(CliFailure, match="plimsoll up"):
        nothing.get("/v1/anything")
    nothing.close()

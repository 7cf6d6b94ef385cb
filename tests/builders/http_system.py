"""An HTTP system on a free port that answers as the test says, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Given:
    """An answer that is no JSON document."""

    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class HttpSystem:
    """`say` returns the status and the document of an answer."""

    say: Callable[[Asked], tuple[int, object]]
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> HttpSystem:
        system = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                asked = Asked(self.command, self.path, dict(self.headers.items()), self.rfile.read(length))
                system.asked.append(asked)
                status, document = system.say(asked)
                given = document if isinstance(document, Given) else Given(json.dumps(document).encode())
                content = given.content
                self.send_response(status)
                for name, value in given.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = handle_one

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

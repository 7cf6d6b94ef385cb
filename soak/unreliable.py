"""An HTTP server whose answers get lost, come late or are errors, while its work goes on."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from soak.history import Json, Recorder

TIMEOUT_S = 3.0
"""Seconds that the platform waits for an answer."""
_LOST, _LATE, _ERROR = 0.06, 0.03, 0.03
"""Share of answers that are lost, late, or errors."""


class World(Protocol):
    """The world behind a server."""

    def luck(self, about: str, key: str) -> float:
        """Return a number from 0 to 1 for a key."""

    def work(self, over: threading.Event) -> None:
        """Do what is due, until `over` is set."""


class UnreliableServer(ABC):
    """Answers calls on a port of its own. Any thread may use it. `be_away` is a fault: no call is answered for a while.

    of   what the world is about, for the record
    """

    of = ""

    def __init__(self, world: World, recorder: Recorder) -> None:
        self._luck, self._recorder = world.luck, recorder
        self._over, self._away_until_s = threading.Event(), 0.0
        self._calls = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _handle(self) -> None:
                server._handle(self)

            do_GET = do_POST = _handle  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Log nothing: the history has it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._threads = [
            threading.Thread(target=self._server.serve_forever, name=self.of, daemon=True),
            threading.Thread(target=world.work, args=(self._over,), name=f"world of {self.of}", daemon=True),
        ]

    @property
    def address(self) -> str:
        """URL of the server, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def be_away(self, duration_s: float) -> None:
        """Hang up on every call for `duration_s`. Work in progress goes on."""
        self._away_until_s = time.monotonic() + duration_s

    @abstractmethod
    def allows(self, call: BaseHTTPRequestHandler, body: bytes) -> bool:
        """Return whether the platform itself sent the call."""

    @abstractmethod
    def answer(self, method: str, path: str, key: str, body: bytes) -> tuple[int, Json]:
        """Do what a call asks for, and return the HTTP status and the document of the answer."""

    def _handle(self, call: BaseHTTPRequestHandler) -> None:
        body = call.rfile.read(int(call.headers.get("Content-Length", "0")))
        if not self.allows(call, body):
            self._say(call, 401, {"message": "not signed, or not by the platform"})
            return
        if time.monotonic() < self._away_until_s:
            self._mishear("away")
            return
        key = call.headers.get("Idempotency-Key", "")
        status, document = self.answer(call.command, call.path, key, body)
        self._calls += 1
        luck = self._luck("answer", f"{urlsplit(call.path).path} {key} {self._calls}")
        if luck < _LOST:
            self._mishear("lost")
        elif luck < _LOST + _LATE:
            self._mishear("late")
            if not self._over.wait(1.5 * TIMEOUT_S):
                self._say(call, status, document)
        elif luck < _LOST + _LATE + _ERROR:
            self._mishear("error")
            self._say(call, 500, {"message": "the receiver failed, and did the work all the same"})
        else:
            self._say(call, status, document)

    def _mishear(self, how: str) -> None:
        self._recorder.write("unheard", how=how, of=self.of)

    def _say(self, call: BaseHTTPRequestHandler, status: int, document: Json) -> None:
        body = json.dumps(document).encode() if document else b""
        try:
            call.send_response(status)
            call.send_header("Content-Length", str(len(body)))
            call.end_headers()
            call.wfile.write(body)
        except OSError:  # the platform's process was killed or stopped waiting
            self._mishear("hung up")

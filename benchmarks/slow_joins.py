"""A webhook receiver whose steps take a given time, for benchmarks of replacements."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def slow_receiver(step_s: dict[str, float]) -> Iterator[dict[str, str]]:
    """Answer each step as accepted until it has taken its time, `step_s` by name; a step without a time is done at
    once. Yield the settings of a mover that calls the receiver.
    """
    began: dict[str, float] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            step = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            since = began.setdefault(self.headers["Idempotency-Key"], time.monotonic())
            is_done = time.monotonic() - since >= step_s.get(step["step"], 0.0)
            self.send_response(204 if is_done else 202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "PLIMSOLL_MOVER_ACTUATOR": "webhook",
            "PLIMSOLL_WEBHOOK_URL": f"http://127.0.0.1:{server.server_address[1]}/steps",
            "PLIMSOLL_WEBHOOK_SECRET": "a secret of the benchmark",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

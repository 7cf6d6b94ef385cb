"""Run a real Prometheus on this machine, with data of the past, and a fake one for errors."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import httpx

PROGRAMS = ("prometheus", "promtool")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def running_prometheus(home: Path, openmetrics: str) -> Iterator[str]:
    """Run Prometheus with these samples (OpenMetrics text with timestamps) in its database, and without targets."""
    (home / "samples.txt").write_text(openmetrics)
    (home / "prometheus.yml").write_text("global: {}\n")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "samples.txt", "data"],
        cwd=home,
        check=True,
        capture_output=True,
    )
    port = free_port()
    arguments = [
        "prometheus",
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (home / "log.txt").open("w") as log, subprocess.Popen(arguments, cwd=home, stdout=log, stderr=log) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            _until_ready(url, server, home / "log.txt")
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while True:
        assert server.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/-/ready", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


class FakePrometheus:
    """Gives prepared answers in turn: (status, document), or the result of `answer` for the form."""

    def __init__(self, *answers: tuple[int, object]) -> None:
        self.answers, self.asked, self.url = list(answers), [], ""
        self.answer: Callable[[dict[str, str]], object] | None = None

    @contextmanager
    def serving(self) -> Iterator[FakePrometheus]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                fake.asked.append({name: value for name, [value] in form.items()})
                status, document = fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0]
                document = fake.answer(fake.asked[-1]) if fake.answer else document
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def matrix(*series: tuple[dict[str, str], list[tuple[float, str]]]) -> dict[str, object]:
    result = [{"metric": labels, "values": values} for labels, values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}

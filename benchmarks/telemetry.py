"""`bench spans`: measure exports over HTTP up to their sums in PostgreSQL; `bench window`: measurements into arrays."""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from libs.domain.principal import Role
from libs.domain.telemetry import Samples
from libs.domain.world import Vocabulary
from libs.reconcile.clock import SystemClock
from libs.store.planner.planning_inputs import append_version
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from libs.store.platform.tokens import create_token
from libs.store.telemetry.measures import HOUR_MINUTES, TRAFFIC, USAGE, put_samples
from libs.store.telemetry.window import load_telemetry
from libs.web.auth import digest, new_secret
from services.planner.reconcilers.sum_spans import SumSpans
from services.standalone.postgres import running_postgres
from services.standalone.probe import HttpReady
from services.standalone.processes import Command, Process
from services.standalone.supervisor import listen

TRACE_SPANS = 8
CLIENTS = 4
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_POSTGRES = "postgres"


def bench_spans(argv: list[str]) -> dict[str, object]:
    """Send spans to one API process on an embedded, durable PostgreSQL, then sum them. Return CPU seconds by
    process.
    """
    parser = argparse.ArgumentParser(prog="bench spans")
    parser.add_argument("--spans", type=int, default=200_000)
    parser.add_argument(
        "--batch", type=int, default=8192, help="spans of one export: a Collector sends 8192, an SDK 512"
    )
    parser.add_argument("--services", type=int, default=40)
    parser.add_argument("--form", choices=("proto", "json"), default="proto")
    given = parser.parse_args(argv)
    count = max(1, given.spans // given.batch)
    bodies = [_body(given.form, n, given.batch, given.services) for n in range(count)]
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home)) as url:
        migrate(url)
        database = Database(url)
        with _api(Path(home), url) as (address, api):
            headers = _headers(database, given.form)
            _put_gateways(database, given.services)
            before = _cpu_s(api), _cpu_s(_POSTGRES)
            began = time.perf_counter()
            with httpx.Client(base_url=address, headers=headers, timeout=60, trust_env=False) as client:

                def send(n: int) -> None:
                    client.post("/v1/traces", content=bodies[n]).raise_for_status()

                with ThreadPoolExecutor(CLIENTS) as pool:
                    list(pool.map(send, range(count)))
            sent_s = time.perf_counter() - began
            api_s, stored_s = _cpu_s(api) - before[0], _cpu_s(_POSTGRES) - before[1]
        cpu, stored = time.process_time(), _cpu_s(_POSTGRES)
        began = time.perf_counter()
        sums = SumSpans(database, SystemClock(), 0.0).reconcile()
        swept_s, sweep_s, summed_s = time.perf_counter() - began, time.process_time() - cpu, _cpu_s(_POSTGRES) - stored
        assert sums is not None
        database.close()
    spans = count * given.batch
    return {
        "spans": spans,
        "sent_wall_s": sent_s,
        "api_cpu_s": api_s,
        "postgres_cpu_s": stored_s,
        "sweep_wall_s": swept_s,
        "sweep_cpu_s": sweep_s,
        "sweep_postgres_cpu_s": summed_s,
        "spans_per_api_cpu_s": spans / api_s,
        "spans_per_cpu_s": spans / (api_s + stored_s + sweep_s + summed_s),
        "sweep_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def bench_window(argv: list[str]) -> dict[str, object]:
    """Store days of minutes of random usage, then load them as a model does."""
    parser = argparse.ArgumentParser(prog="bench window")
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--regions", type=int, default=20)
    parser.add_argument("--days", type=int, default=14)
    given = parser.parse_args(argv)
    words = _words(given.services, given.regions)
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=given.days)
    series = [(str(s), str(r), "hw") for s in words.services for r in words.regions]
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home), durable=False) as url:
        migrate(url)
        database = Database(url)
        for hour in range(24 * given.days):
            minute = int(start.timestamp()) // 60 + hour * HOUR_MINUTES + np.arange(HOUR_MINUTES)
            at = np.tile(minute, len(series))
            samples = Samples(
                series=np.repeat(np.arange(len(series)), HOUR_MINUTES), minute=at, value=rng.random(len(at))
            )
            with database.write() as tx:
                put_samples(tx, USAGE, series, samples, series_max=len(series))
                if hour == 0:
                    put_samples(
                        tx,
                        TRAFFIC,
                        [("product", "region-0")],
                        Samples(series=np.zeros(1, np.int64), minute=minute[:1], value=np.ones(1)),
                        series_max=1,
                    )
        cpu, stored, began = time.process_time(), _cpu_s(_POSTGRES), time.perf_counter()
        with database.snapshot() as tx:
            found = load_telemetry(tx, words, start=start, end=start + timedelta(days=given.days)).observations
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        postgres_s = _cpu_s(_POSTGRES) - stored
        database.close()
    return {
        "samples": len(series) * 24 * given.days * HOUR_MINUTES,
        "array_mib": found.usage.nbytes / 2**20,
        "step_minutes": int(found.minute[1] - found.minute[0]),
        "load_wall_s": wall_s,
        "load_cpu_s": cpu_s,
        "load_postgres_cpu_s": postgres_s,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _words(services: int, regions: int) -> Vocabulary:
    return Vocabulary(
        products=np.array(["product"], object),
        regions=np.array([f"region-{r}" for r in range(regions)], object),
        hardware_types=np.array(["hw"], object),
        services=np.array([f"service-{s}" for s in range(services)], object),
        service_type=np.zeros(services, np.int32),
        placement_service=np.arange(services, dtype=np.int32),
        placement_type=np.zeros(services, np.int32),
        placement_ratio=np.ones(services),
    )


def _body(form: str, number: int, spans: int, services: int) -> bytes:
    """Return an export of whole traces: each has a chain of calls through services, with a resource per service."""
    by_service: dict[int, list[dict[str, Any]]] = {}
    for n in range(spans):
        trace, depth = divmod(n, TRACE_SPANS)
        service = (trace + depth * 7) % services
        span: dict[str, Any] = {
            "traceId": f"{number + 1:016x}{trace + 1:016x}",
            "spanId": f"{depth + 1:016x}",
            "name": "call" if depth else "GET /",
            "kind": 2,
            "startTimeUnixNano": "1700000000000000000",
            "endTimeUnixNano": f"17000000000{5_000_000 + n:08d}",
            "attributes": [
                {"key": "http.method", "value": {"stringValue": "GET"}},
                {"key": "cpu.instructions", "value": {"intValue": str(1000 + n)}},
                {"key": "http.route", "value": {"stringValue": "/api/v1/orders/{id}"}},
            ],
        }
        if depth:
            span["parentSpanId"] = f"{depth:016x}"
        by_service.setdefault(service, []).append(span)
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": f"service-{service}"}}]},
                "scopeSpans": [{"spans": found}],
            }
            for service, found in by_service.items()
        ]
    }
    if form == "json":
        return gzip.compress(orjson.dumps(document), 1)
    return gzip.compress(_proto(document), 1)


def _proto(document: dict[str, Any]) -> bytes:
    """Return the request in protobuf. Protobuf's own JSON form has ids in base64, but OTLP's in hexadecimal."""
    for resource_spans in document["resourceSpans"]:
        for span in resource_spans["scopeSpans"][0]["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):
                if name in span:
                    span[name] = b64encode(bytes.fromhex(span[name])).decode()
    content: bytes = ParseDict(document, ExportTraceServiceRequest()).SerializeToString()
    return content


@contextmanager
def _api(home: Path, url: str) -> Iterator[tuple[str, int]]:
    """Run one process of the planner's API, and yield its address and pid."""
    env = {**os.environ, "DATABASE_URL": url, "PLIMSOLL_RATE_PER_S": "1e6", "PLIMSOLL_RATE_BURST": "1000000"}
    env["PLIMSOLL_LOG_LEVEL"] = "WARNING"
    with listen("127.0.0.1", 0) as sock:
        host, port = sock.getsockname()[:2]
        serve = ["-m", "uvicorn", "--factory", "services.planner.main:make_app", "--fd", str(sock.fileno())]
        command = Command(
            name="api",
            argv=[sys.executable, *serve, "--no-access-log", "--log-level", "warning"],
            env=env,
            ready=HttpReady(host, port),
            pass_fds=[sock.fileno()],
        )
        process = Process(command, home)
        try:
            process.wait_ready()
            yield f"http://{host}:{port}", process.pid
        finally:
            process.stop()


def _put_gateways(database: Database, services: int) -> None:
    """Make every service the entry point of one of five products."""
    names = [f"service-{service}" for service in range(services)]
    products = [f"product-{service % 5}" for service in range(services)]
    table = pa.table({"product": products, "service": names, "operation": ["GET /"] * services})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content, now = sink.getvalue().to_pybytes(), SystemClock().now()
    with database.write() as tx:
        append_version(tx, "gateways", content, rows=services, generation=0, comment=None, created_by="bench", now=now)


def _headers(database: Database, form: str) -> dict[str, str]:
    secret, now = new_secret(), SystemClock().now()
    with database.write() as tx:
        create_token(tx, name="bench", role=Role.TELEMETRY, secret_sha256=digest(secret), now=now)
    media = "application/json" if form == "json" else "application/x-protobuf"
    return {"Authorization": f"Bearer {secret}", "Content-Type": media, "Content-Encoding": "gzip"}


def _cpu_s(process: int | str) -> float:
    """Return the CPU seconds of a process by id, or of our descendants of a name, also those that have ended."""
    parents, ticks, names = {}, {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        pid, name = int(path.parent.name), text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        parents[pid], names[pid], ticks[pid] = int(fields[1]), name, sum(map(int, fields[11:15]))

    def ours(pid: int) -> bool:
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    chosen = [process] if isinstance(process, int) else [p for p in parents if names[p] == process and ours(p)]
    return sum(ticks[pid] for pid in chosen) * _TICK_S

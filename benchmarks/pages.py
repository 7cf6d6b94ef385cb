"""`bench pages`: the time and the size of every page, with a large region."""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket
from urllib.parse import quote

import httpx
import numpy as np

from benchmarks.page_contents import fill_flux, solve_and_simulate
from libs.domain.fleet import FleetSnapshot
from libs.interchange.region.read import load_region
from libs.reconcile.clock import SystemClock
from libs.store.capacity.quotas import set_quota
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import refresh_unavailability
from libs.store.platform import audit
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from services.mover.reconcilers.watch_reservations import WatchReservations
from services.pages.views import FORMS, VIEWS
from services.portal.set_up import prepare_database
from services.standalone.postgres import running_postgres

_REGION = "bench"
_AUDIT_TIMES = 3
_QUOTAS = 100
_BEGINS_S_MAX = 120


def bench_pages(argv: list[str]) -> dict[str, object]:
    """Return for every page the milliseconds until its last byte, and its kB. The API and the pages are processes of
    their own, and answer one request at a time.

    ms         the median of `--runs`, after one that does not count
    least_ms   the least of them
    cpu_ms     processor time of a run in the pages, the API and PostgreSQL. They work one after the other, so a page
               takes about that on a machine without other work
    kb         of the whole page, without scripts and styles, and not compressed
    left_out   pages about one of something that this platform has none of
    """
    parser = argparse.ArgumentParser(prog="bench pages")
    parser.add_argument("region", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--solve-time", type=float, default=60.0, help="seconds of the solve, and of the simulation")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home) / "postgres") as url:
        token_file = Path(home) / "token"
        prepare_database(url, token_file, SystemClock())
        snapshot = _fill(url, given.region)
        ids = _run_and_plan(url, snapshot, Path(home), given.solve_time)
        environment = {"DATABASE_URL": url, "PLIMSOLL_BUNDLE_DIR": f"{home}/bundles", "PLIMSOLL_LOG_LEVEL": "ERROR"}
        with (
            _serving("services.standalone.api", environment | {"PLIMSOLL_RATE_PER_S": "10000"}) as (api, api_pid),
            _serving("services.pages.main", environment | {"PLIMSOLL_URL": api}) as (pages, pages_pid),
            httpx.Client(base_url=pages, headers={"Sec-Fetch-Site": "same-origin"}, timeout=60) as http,
        ):
            http.post("/login", data={"token": token_file.read_text().strip()})
            postmaster = int(next((Path(home) / "postgres").rglob("postmaster.pid")).read_text().split()[0])
            addresses, left_out = _addresses(snapshot, ids)
            pids = {api_pid, pages_pid, postmaster}
            found = {address: _measure(http, address, given.runs, pids) for address in addresses}
    sizes = {"servers": len(snapshot.servers), "reservations": len(snapshot.reservations), "runs": given.runs}
    return {**sizes, "load": round(os.getloadavg()[0], 1), "pages": found, "left_out": left_out}


def _fill(url: str, folder: Path) -> FleetSnapshot:
    """Write the region, with quotas of its largest owners, and an audit trail with entries about every server."""
    image = load_region(folder)
    image = replace(image, snapshot=replace(image.snapshot, region=_REGION))
    database = Database(url)
    now = datetime.now(UTC)
    with database.write() as tx:
        region = import_region(tx, image, actor="bench", now=now)
        refresh_unavailability(tx, region.region_id, now=now)
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, _REGION)
    with database.write() as tx:
        for owner in sorted(set(image.reservation_owner.tolist()))[:_QUOTAS]:
            set_quota(tx, _REGION, owner, 1e6, generation=0)
        for _ in range(_AUDIT_TIMES):
            audit.append_each(
                tx,
                snapshot.servers.id.tolist(),
                actor="bench",
                action="set_in_use",
                subject_kind="server",
                now=now,
                before={"in_use": False},
                after={"in_use": True},
            )
    for _ in range(2):
        WatchReservations(database, SystemClock(), _REGION).reconcile()
    database.close()
    return snapshot


def _run_and_plan(url: str, snapshot: FleetSnapshot, home: Path, solve_s: float) -> dict[str, str]:
    """Store a solve, a simulation and an execution, as parameters of the paths of pages: name -> id."""
    database = Database(url)
    msb = str(snapshot.topology.msbs[0])
    run, simulation = solve_and_simulate(database, _REGION, msb, home, solve_s=solve_s)
    execution = fill_flux(database, now=datetime.now(UTC))
    database.close()
    return {"run": str(run), "simulation": str(simulation), "execution": str(execution), "service": "service-1"}


def _addresses(snapshot: FleetSnapshot, ids: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return an address of every page, and the paths of pages that are left out."""
    reservations, servers = snapshot.reservations, snapshot.servers
    largest = str(reservations.name[int(np.argmax(reservations.capacity_rru))])
    reservation, server = quote(largest, safe="/"), quote(str(servers.name[0]), safe="/")
    addresses, left_out = [], []
    for path, _ in (*VIEWS, *FORMS):
        known = {"region": _REGION, "name": server if "/servers/" in path else reservation, **ids}
        simple = re.sub(r"{(\w+):\w+}", r"{\1}", path)
        if set(re.findall(r"{(\w+)}", simple)) <= known.keys():
            addresses.append(simple.format(**known))
        else:
            left_out.append(path)
    at = f"/regions/{_REGION}"
    msb = quote(str(snapshot.topology.msbs[snapshot.topology.rack_msb[servers.rack[0]]]))
    addresses += [
        f"{at}?show=free",
        f"{at}/reservations?sort=-held",
        f"{at}/ask?resize={reservation}",
        f"{at}/servers?msb={msb}",
        f"{at}/reservations/{reservation}?explain=1",
        "/audit?actor=bench&since=2026-01-01T00:00",
    ]
    return addresses, left_out


def _measure(http: httpx.Client, address: str, runs: int, pids: set[int]) -> dict[str, float]:
    """Return the figures of one page. A page that leads on is measured where it leads."""
    answer = http.get(address, follow_redirects=True)
    answer.raise_for_status()
    where, taken, spent_s = str(answer.url), [], _spent_s(pids)
    for _ in range(runs):
        began = time.perf_counter()
        answer = http.get(where)
        taken.append((time.perf_counter() - began) * 1000)
        answer.raise_for_status()
    return {
        "ms": round(statistics.median(taken)),
        "least_ms": round(min(taken)),
        "cpu_ms": round((_spent_s(pids) - spent_s) * 1000 / runs),
        "kb": round(len(answer.content) / 1000, 1),
    }


def _spent_s(pids: set[int]) -> float:
    """Return the processor time of these processes and their children so far."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = stat.read_text().rpartition(")")[2].split()
            if int(stat.parent.name) in pids or int(fields[1]) in pids:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def _serving(module: str, environment: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Run the HTTP process of a module on a free port, and yield its address and pid when it is ready."""
    with socket(AF_INET, SOCK_STREAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    env = {**os.environ, **environment, "PLIMSOLL_LISTEN_PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-m", module, "serve"], env=env)
    try:
        end = time.monotonic() + _BEGINS_S_MAX
        while not _is_ready(url):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{module} did not begin to answer")
            time.sleep(0.2)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=10).is_success
    except httpx.TransportError:
        return False

"""`bench replacements`: measure the time from the report of a failure to the replacements, decided and ready."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from benchmarks.slow_joins import slow_receiver
from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.job import JobStatus
from libs.domain.plan import Plan, PlanKind
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.interchange.region.read import load_region
from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import DRAW_REPLACEMENTS, MOVE
from libs.store.capacity.shared_buffers import NAME_PREFIX, size_shared_buffers
from libs.store.fleet.regions import load_region as load_stored
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import open_event
from libs.store.plans.plans import commit_plan, list_plans
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from libs.store.platform.migrate import migrate
from libs.store.regions.region_import import import_region
from services.standalone.platform import running_platform
from services.standalone.postgres import running_postgres
from services.standalone.settings import StandaloneSettings

_REGION, _WAIT_S_MAX = "bench", 120.0
_ASTRAY = sa.text("""
    SELECT count(*) FROM servers
    WHERE current_reservation_id IS DISTINCT FROM target_reservation_id AND unavailability = 'none'""")


def bench_replacements(argv: list[str]) -> dict[str, object]:
    """Fail servers and racks of a region in turn. Return the seconds from the commit of each failure to the commit of
    its replacements, and until all of them have joined (`ready`). A scheduler and workers run as under `plimsoll up`,
    with a receiver whose joins take `--join` seconds.

    `first_s` and `first_drawn` are those of the first failure. Its replacements also cover servers of the region that
    were down before.
    """
    parser = argparse.ArgumentParser(prog="bench replacements")
    parser.add_argument("region", type=Path)
    parser.add_argument("--runs", type=int, default=10, help="failed servers, and as many racks")
    parser.add_argument("--share", type=float, default=0.02, help="of each hardware type in its shared buffer")
    parser.add_argument("--join", type=float, default=10.0, help="seconds that the actuator takes for a join")
    given = parser.parse_args(argv)
    image = load_region(given.region)
    image = replace(image, snapshot=replace(image.snapshot, region=_REGION))
    with tempfile.TemporaryDirectory() as home, running_postgres(Path(home) / "postgres") as url:
        migrate(url)
        database = Database(url, pool_size=2)
        with database.write() as tx:
            import_region(tx, image, actor="bench", now=datetime.now(UTC))
        snapshot = _fill_buffers(database, given.share)
        settings = StandaloneSettings.model_validate({"PLIMSOLL_STATE_DIR": Path(home) / "state", "DATABASE_URL": url})
        with (
            slow_receiver({"join": given.join}) as mover,
            running_platform(settings, clock=SystemClock(), cycles={MOVE: 5.0}, more=mover),
        ):
            _settle(database)
            first_s, first = _fail(database, UnavailabilityScope.SERVER, _victims(snapshot, 1)[0][0])
            _settle(database)
            taken: dict[str, list[float]] = {"server_s": [], "rack_s": [], "server_ready_s": [], "rack_ready_s": []}
            drawn = 0
            for server, rack in _victims(snapshot, given.runs + 1)[1:]:
                for name, scope, what in (
                    ("server", UnavailabilityScope.SERVER, server),
                    ("rack", UnavailabilityScope.RACK, rack),
                ):
                    seconds, plan = _fail(database, scope, what)
                    if plan is not None:
                        taken[f"{name}_s"].append(seconds)
                        taken[f"{name}_ready_s"].append(seconds + _settle(database))
                        drawn += plan.changes // 2
        database.close()
    figures = {
        f"{name}_{word}": round(of(seconds), 2)
        for name, seconds in taken.items()
        if seconds
        for word, of in (("median", statistics.median), ("max", max))
    }
    return {
        "servers": len(image.snapshot.servers),
        "reservations": len(image.snapshot.reservations),
        "first_s": round(first_s, 2),
        "first_drawn": 0 if first is None else first.changes // 2,
        "events_with_replacements": len(taken["server_s"]) + len(taken["rack_s"]),
        "join_s": given.join,
        "drawn": drawn,
        **figures,
    }


def _fill_buffers(database: Database, share: float) -> FleetSnapshot:
    """Commit a plan that binds available free servers to the shared buffers, until each buffer has its size. In
    production a solve does this.
    """
    now = datetime.now(UTC)
    with database.write() as tx:
        size_shared_buffers(tx, load_stored(tx, _REGION).region_id, share=share, now=now)
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, _REGION)
    q, target = snapshot.reservations, snapshot.servers.target.copy()
    for row, name in enumerate(q.name):
        if str(name).startswith(NAME_PREFIX):
            kind = int(np.flatnonzero(q.rru[row])[0])
            free = np.flatnonzero(
                (target == FREE) & snapshot.servers.available & (snapshot.servers.hardware_type == kind)
            )
            target[free[: int(q.capacity_rru[row])]] = row
    with database.write() as tx:
        plan = TargetPlan(target=target, parent_plan_id=snapshot.target_plan_id)
        commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=now, parent=snapshot.target_plan_id)
    with database.snapshot() as tx:
        return load_fleet_snapshot(tx, _REGION)


def _victims(snapshot: FleetSnapshot, number: int) -> list[tuple[str, str]]:
    """Return `number` random pairs of a server and a rack to fail. The servers, and a server in each rack, are up and
    bound.
    """
    rows = np.flatnonzero(snapshot.servers.available & (snapshot.servers.target >= 0))
    chosen = np.random.default_rng(1).choice(rows, 2 * number, replace=False)
    racks = snapshot.topology.racks[snapshot.servers.rack[chosen[number:]]]
    return [
        (str(server), str(rack)) for server, rack in zip(snapshot.servers.name[chosen[:number]], racks, strict=True)
    ]


def _fail(database: Database, scope: UnavailabilityScope, name: str) -> tuple[float, Plan | None]:
    """Record that the server or rack `name` failed. Return the seconds until the plan with its replacements committed,
    and the plan. The plan is None if the job found nothing to replace.
    """
    before = _latest(database)
    now = datetime.now(UTC)
    with database.write() as tx:
        open_event(
            tx,
            _REGION,
            scope=scope,
            scope_name=name,
            kind=Unavailability.UNPLANNED,
            reason="bench",
            starts_at=now,
            ends_at=None,
            actor="bench",
            now=now,
        )
    began = time.perf_counter()
    while time.perf_counter() - began < _WAIT_S_MAX:
        plan = _latest(database)
        if plan is not None and (before is None or plan.plan_id > before.plan_id):
            return time.perf_counter() - began, plan
        if _job_is_over(database):
            plan = _latest(database)
            found = plan is not None and (before is None or plan.plan_id > before.plan_id)
            return time.perf_counter() - began, plan if found else None
        time.sleep(0.005)
    raise TimeoutError(f"nothing followed the failure of {name}")


def _settle(database: Database) -> float:
    """Wait until every server that is up is where it should be. Return the seconds of the wait."""
    began = time.perf_counter()
    while time.perf_counter() - began < _WAIT_S_MAX:
        with database.snapshot() as tx:
            if tx.execute(_ASTRAY).scalar_one() == 0:
                return time.perf_counter() - began
        time.sleep(0.05)
    raise TimeoutError("servers are still on their way")


def _latest(database: Database) -> Plan | None:
    with database.snapshot() as tx:
        return next(iter(list_plans(tx, _REGION, kind=PlanKind.REPLACEMENT, limit=1).items), None)


def _job_is_over(database: Database) -> bool:
    with database.snapshot() as tx:
        return not any(
            job.kind == DRAW_REPLACEMENTS
            for status in (JobStatus.QUEUED, JobStatus.RUNNING)
            for job in list_jobs(tx, status=status).items
        )

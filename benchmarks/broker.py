"""`bench broker`: write a region to the database, and read it as arrays."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.plan import PlanKind
from libs.interchange.region.read import load_region
from libs.plan_check.check import require_clean
from libs.plan_check.committed import check_committed
from libs.plan_check.regression import planned_shortfall_rru
from libs.ras.commit_report import kept_part
from libs.ras.committable_changes import settle
from libs.ras.findings import findings_of
from libs.reconcile.clock import SystemClock
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.findings import record_findings
from libs.store.capacity.plan_changes import load_plan_changes
from libs.store.fleet.regions import load_region as load_stored_region
from libs.store.fleet.servers import load_free_servers
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import refresh_unavailability
from libs.store.plans.plans import commit_plan, lock_plan
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from libs.store.regions.region_summary import load_region_summary
from services.mover.reconcilers.watch_reservations import WatchReservations
from services.standalone.postgres import running_postgres


def bench_broker(argv: list[str]) -> dict[str, object]:
    """Return the seconds of each bulk read and write: the median over `--runs` regions of equal content. PostgreSQL
    writes durably, and caches are warm.

    commit_s is the time to write a solve that changes every tenth server. locked_s is the time of the whole commit of a
    solve that swaps a tenth of the servers. Meanwhile 1 % of all servers changed. settle_s is the part that decides
    which changes to keep, and kept_changes is their number. look_s is the time to compare the capacity of every
    reservation with its history, without any change.
    """
    parser = argparse.ArgumentParser(prog="bench broker")
    parser.add_argument("region", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--database-url", help="an empty database; left out: an embedded one is started and removed")
    given = parser.parse_args(argv)
    image = load_region(given.region)
    taken: dict[str, list[float]] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        taken.setdefault(name, []).append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as home, _url(given.database_url, Path(home)) as url:
        migrate(url)
        database = Database(url)
        for run in range(given.runs):
            name = f"bench-{run}"
            with timed("import_s"), database.write() as tx:
                named = replace(image, snapshot=replace(image.snapshot, region=name))
                region = import_region(tx, named, actor="bench", now=datetime.now(UTC))
            with timed("snapshot_s"), database.snapshot() as tx:
                snapshot = load_fleet_snapshot(tx, name)
            with timed("coverage_of_a_page_s"), database.snapshot() as tx:
                load_coverage(tx, snapshot.reservations.id[:100].tolist(), "target")
            with timed("summary_s"), database.snapshot() as tx:
                load_region_summary(tx, name)
            with timed("first_look_s"):
                WatchReservations(database, SystemClock(), name).reconcile()
            with timed("look_s"):
                WatchReservations(database, SystemClock(), name).reconcile()
            with timed("refresh_unavailability_s"), database.write() as tx:
                refresh_unavailability(tx, region.region_id, now=datetime.now(UTC))
            with timed("commit_s"), database.write() as tx:
                plan = _every_tenth(snapshot)
                parent = snapshot.target_plan_id
                commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, parent=parent, now=datetime.now(UTC))
            with database.snapshot() as tx:
                snapshot = load_fleet_snapshot(tx, name)
            _touch_every_hundredth(database, region.region_id)
            kept = _checked_commit(database, snapshot, timed)
            with timed("export_s"), database.snapshot() as tx:
                load_region_image(tx, name)
        database.close()
    taken["kept_changes"] = [float(kept)]
    sizes = {"servers": len(image.snapshot.servers), "reservations": len(image.snapshot.reservations)}
    return {**sizes, "runs": given.runs, **{name: round(statistics.median(s), 3) for name, s in taken.items()}}


def _url(database_url: str | None, home: Path) -> AbstractContextManager[str]:
    return running_postgres(home) if database_url is None else nullcontext(database_url)


def _every_tenth(snapshot: FleetSnapshot) -> TargetPlan:
    """Free every tenth server that is bound, and bind every tenth that is free."""
    target = np.where(snapshot.servers.target < FREE, FREE, snapshot.servers.target)
    tenth = np.arange(len(target)) % 10 == 0
    target[tenth] = np.where(target[tenth] == FREE, 0, FREE)
    return TargetPlan(target=target.astype(np.int32), parent_plan_id=snapshot.target_plan_id)


def _touch_every_hundredth(database: Database, region_id: int) -> None:
    with database.write() as tx:
        query = "UPDATE servers SET unclean = NOT unclean WHERE region_id = :region AND server_id % 100 = 0"
        tx.execute(sa.text(query), {"region": region_id})


def _checked_commit(
    database: Database, snapshot: FleetSnapshot, timed: Callable[[str], AbstractContextManager[None]]
) -> int:
    """Commit a tenth of all servers as SolveBindings does, and return the number of changes written."""
    plan, policy, now = _swaps(snapshot), snapshot.policy, datetime.now(UTC)
    with timed("locked_s"), database.write() as tx:
        with timed("read_under_locks_s"):
            lock_plan(tx, snapshot, plan, parent=plan.parent_plan_id)
            changes = load_plan_changes(tx, snapshot, plan)
        planned = planned_shortfall_rru(snapshot, plan.target)[changes.touched.row]
        with timed("settle_s"):
            settled = settle(changes, policy, planned)
        with timed("check_s"):
            require_clean(check_committed(changes, settled.kept, policy, planned))
        committed = kept_part(snapshot, plan, changes, settled)
        dropped = int((~settled.kept).sum())
        parent = plan.parent_plan_id
        commit_plan(tx, snapshot, committed, kind=PlanKind.SOLVE, parent=parent, now=now, dropped=dropped)
        with timed("coverage_and_findings_s"):
            coverage = load_coverage(tx, snapshot.reservations.id.tolist(), "target")
            region_id = load_stored_region(tx, snapshot.region).region_id
            findings = findings_of(snapshot, committed.target, load_free_servers(tx, region_id), coverage)
            record_findings(tx, region_id, findings, now=now)
    return int(settled.kept.sum())


def _swaps(snapshot: FleetSnapshot) -> TargetPlan:
    """Swap the targets of a tenth of the servers, in pairs of one type in one MSB that both reservations can use."""
    s, rru = snapshot.servers, snapshot.reservations.rru
    rows = np.random.default_rng(1).permutation(np.flatnonzero((s.target >= 0) & s.lasting))
    rows = rows[np.lexsort((s.hardware_type[rows], snapshot.server_msb[rows]))]
    one, other = rows[: len(rows) - len(rows) % 2].reshape(-1, 2).T
    alike = (s.hardware_type[one] == s.hardware_type[other]) & (snapshot.server_msb[one] == snapshot.server_msb[other])
    useful = (rru[s.target[one], s.hardware_type[one]] > 0) & (rru[s.target[other], s.hardware_type[one]] > 0)
    pairs = np.flatnonzero(alike & useful & (s.target[one] != s.target[other]))[: len(s) // 20]
    target = np.maximum(s.target, FREE)
    target[one[pairs]], target[other[pairs]] = s.target[other[pairs]], s.target[one[pairs]]
    return TargetPlan(target=target.astype(np.int32), parent_plan_id=snapshot.target_plan_id)

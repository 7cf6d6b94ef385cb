"""`bench broker`: write a region to the database, and read it as arrays."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.plan import PlanKind
from libs.interchange.region.read import load_region
from libs.store.capacity.coverage import load_coverage
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import refresh_unavailability
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from libs.store.regions.region_summary import load_region_summary
from services.standalone.postgres import running_postgres


def bench_broker(argv: list[str]) -> dict[str, object]:
    """Return the seconds of each bulk path: the median of `--runs` regions of the same content; durable, caches warm.

    commit_s is a solve that changes every tenth server.
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
            with timed("refresh_unavailability_s"), database.write() as tx:
                refresh_unavailability(tx, region.region_id, now=datetime.now(UTC))
            with timed("commit_s"), database.write() as tx:
                plan = _every_tenth(snapshot)
                parent = snapshot.target_plan_id
                commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, parent=parent, now=datetime.now(UTC))
            with timed("export_s"), database.snapshot() as tx:
                load_region_image(tx, name)
        database.close()
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

"""Store a region in a database, and make plans for it by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.region_image import RegionImage
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from tests.builders.race import elsewhere

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def stored(database: Database, image: RegionImage) -> FleetSnapshot:
    """Import a region and read it back."""
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    return read(database, image.snapshot.region)


def read(database: Database, region: str = "west") -> FleetSnapshot:
    """Read the present region; also for a thread with an open transaction."""

    def load() -> FleetSnapshot:
        with database.snapshot() as tx:
            return load_fleet_snapshot(tx, region)

    return elsewhere(load)


def plan_of(snapshot: FleetSnapshot, changes: Mapping[str, str | None]) -> TargetPlan:
    """Return the snapshot's targets with changes for these servers; None: free."""
    target = snapshot.servers.target.copy()
    for server, reservation in changes.items():
        to = FREE if reservation is None else np.flatnonzero(snapshot.reservations.name == reservation)[0]
        target[np.flatnonzero(snapshot.servers.name == server)[0]] = to
    return TargetPlan(target=target, parent_plan_id=snapshot.target_plan_id)


def targets(snapshot: FleetSnapshot) -> dict[str, str]:
    """Return server -> reservation of bound targets; `deleted` for a deleted one."""
    names = [*snapshot.reservations.name, "deleted", None]  # -1 FREE is the last, -2 DELETED the one before
    found = zip(snapshot.servers.name, (names[t] for t in snapshot.servers.target), strict=True)
    return {server: name for server, name in found if name is not None}


def reservation_id(snapshot: FleetSnapshot, name: str) -> int:
    """The broker's id of a reservation."""
    return int(snapshot.reservations.id[np.flatnonzero(snapshot.reservations.name == name)[0]])

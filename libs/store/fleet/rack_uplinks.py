"""The Gbit/s that the racks of a region may send (docs/designs/0063-rack-uplinks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats, Names
from libs.domain.fleet import FleetSnapshot
from libs.reconcile.errors import StaleGeneration
from libs.store.platform import audit
from libs.store.platform.compare_and_swap import put_at_generation
from libs.store.platform.database import Transaction
from libs.store.tables import rack_uplinks


def load_rack_uplinks(tx: Transaction, region_id: int, *, lock: bool = False) -> tuple[dict[str, float], int]:
    """Return rack -> Gbit/s that it may send, and the generation of these limits; 0 if none were ever set.

    A rack that the region lost may still be among them.
    """
    query = sa.select(rack_uplinks.c.limits, rack_uplinks.c.generation).where(rack_uplinks.c.region_id == region_id)
    row = tx.execute(query.with_for_update() if lock else query).one_or_none()
    return ({}, 0) if row is None else (dict(row.limits), row.generation)


def load_uplinks(tx: Transaction, region_id: int, racks: Names) -> Floats | None:
    """Return the Gbit/s that each of `racks` (K,) may send, (K,); inf: no limit. None: no rack has one."""
    limits, _ = load_rack_uplinks(tx, region_id)
    if not limits:
        return None
    return np.array([limits.get(name, np.inf) for name in racks], np.float64)


def put_rack_uplinks(
    tx: Transaction,
    region_id: int,
    limits: Mapping[str, float],
    *,
    generation: int,
    actor: str,
    now: datetime,
    reason: str | None = None,
) -> int:
    """Replace the limits of a region, and return their new generation. Limits never set are at generation 0.

    Raises StaleGeneration unless the stored limits are at `generation`.
    """
    before, found = load_rack_uplinks(tx, region_id, lock=True)
    key, values = {"region_id": region_id}, {"limits": dict(limits)}
    changed = put_at_generation(tx, rack_uplinks, key, values, generation=generation)
    if changed is None:
        raise StaleGeneration("uplinks of region", region_id, expected=generation, found=found)
    differs = {name for name in {*before, *limits} if before.get(name) != limits.get(name)}
    audit.append(
        tx,
        actor=actor,
        action="put_rack_uplinks",
        subject_kind="region",
        subject_id=region_id,
        now=now,
        before={"limits": {name: before[name] for name in sorted(differs) if name in before}},
        after={"limits": {name: limits[name] for name in sorted(differs) if name in limits}},
        reason=reason,
    )
    return changed


def put_imported_uplinks(
    tx: Transaction, region_id: int, snapshot: FleetSnapshot, *, actor: str, now: datetime
) -> None:
    """Set the limits of a new region, if its racks have any."""
    if snapshot.uplinks is None:
        return
    limited = np.flatnonzero(np.isfinite(snapshot.uplinks))
    names, gbit = snapshot.topology.racks[limited], snapshot.uplinks[limited].tolist()
    put_rack_uplinks(tx, region_id, dict(zip(map(str, names), gbit, strict=True)), generation=0, actor=actor, now=now)

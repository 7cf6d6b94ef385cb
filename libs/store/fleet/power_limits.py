"""The limits on the power of a region's domains, and the servers below them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from libs.domain.arrays import Indices, Names
from libs.domain.domain_kind import MSB_KIND
from libs.domain.fleet import FleetSnapshot
from libs.domain.plan_changes import NONE
from libs.domain.power import Power, PowerLimit, listed_watts
from libs.domain.power_bounds import PowerBounds, no_power_bounds
from libs.domain.power_use import fed_kinds, gains_w
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.hardware_types import load_sizes
from libs.store.platform import audit
from libs.store.platform.compare_and_swap import put_at_generation
from libs.store.platform.database import Transaction
from libs.store.tables import power_limits

_LIVE = "servers.region_id = :region_id AND decommissioned_at IS NULL"
_COUNTS = """
    count(*) AS servers,
    count(*) FILTER (WHERE target_reservation_id IS NOT NULL) AS targeted,
    count(*) FILTER (WHERE current_reservation_id IS NOT NULL) AS current,
    count(*) FILTER (WHERE target_reservation_id IS NOT NULL OR current_reservation_id IS NOT NULL
                        OR in_doubt_reservation_id IS NOT NULL) AS bound"""
# Count the servers of each rack first: grouping by numbers costs half of grouping by names.
_BY_MSB = f"""
    SELECT msbs.name AS domain, hardware_types.name AS hardware_type, CAST(sum(servers) AS bigint) AS servers,
           CAST(sum(targeted) AS bigint) AS targeted, CAST(sum(current) AS bigint) AS current,
           CAST(sum(bound) AS bigint) AS bound
    FROM (SELECT rack_id, hardware_type_id, {_COUNTS} FROM servers WHERE {_LIVE} GROUP BY 1, 2) AS of_rack
    JOIN hardware_types USING (hardware_type_id) JOIN racks USING (rack_id) JOIN msbs USING (msb_id)
    WHERE CAST(:names AS text[]) IS NULL OR msbs.name = ANY(:names) GROUP BY 1, 2"""
_BY_DOMAIN = f"""
    SELECT domains.name AS domain, hardware_types.name AS hardware_type, {_COUNTS}
    FROM domains JOIN server_domains USING (domain_id) JOIN servers USING (server_id)
    JOIN hardware_types USING (hardware_type_id)
    WHERE domains.region_id = :region_id AND domains.kind = :kind AND {_LIVE}
      AND (CAST(:names AS text[]) IS NULL OR domains.name = ANY(:names)) GROUP BY 1, 2"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The servers of one hardware type in one domain: all, by target, by current binding, and by either or in doubt."""

    domain: str
    hardware_type: str
    servers: int
    targeted: int
    current: int
    bound: int


def load_power_limits(tx: Transaction, region_id: int, *, lock: bool = False) -> tuple[tuple[PowerLimit, ...], int]:
    """Return the limits of a region, and their generation; 0 if none were ever set.

    With `lock`, no other plan that locks them is committed until this transaction ends.
    """
    query = sa.select(power_limits.c.limits, power_limits.c.generation).where(power_limits.c.region_id == region_id)
    row = tx.execute(query.with_for_update() if lock else query).one_or_none()
    return ((), 0) if row is None else (tuple(PowerLimit(**one) for one in row.limits), row.generation)


def put_power_limits(
    tx: Transaction,
    region_id: int,
    limits: Sequence[PowerLimit],
    *,
    generation: int,
    actor: str,
    now: datetime,
    reason: str | None = None,
) -> int:
    """Replace the limits of a region, and return their new generation. Limits never set are at generation 0.

    Raises StaleGeneration unless the stored limits are at `generation`.
    """
    before, found = load_power_limits(tx, region_id, lock=True)
    listed = [asdict(one) for one in limits]
    key, values = {"region_id": region_id}, {"limits": listed}
    changed = put_at_generation(tx, power_limits, key, values, generation=generation)
    if changed is None:
        raise StaleGeneration("power limits of region", region_id, expected=generation, found=found)
    audit.append(
        tx,
        actor=actor,
        action="put_power_limits",
        subject_kind="region",
        subject_id=region_id,
        now=now,
        before={"limits": [asdict(one) for one in before]},
        after={"limits": listed},
        reason=reason,
    )
    return int(changed)


def load_power(tx: Transaction, region_id: int, types: Names) -> Power | None:
    """Return the watts of the hardware types `types` (T,), and the limits of a region; None if no type has watts."""
    return listed_watts(types, load_sizes(tx, types), load_power_limits(tx, region_id)[0])


def count_by_domain(tx: Transaction, region_id: int, kind: str, names: Collection[str] | None = None) -> list[Counted]:
    """Return the servers of each domain of one kind and hardware type; `names` chooses the domains, None: all."""
    query = _BY_MSB if kind == MSB_KIND else _BY_DOMAIN
    given = {"region_id": region_id, "kind": kind, "names": None if names is None else sorted(names)}
    return [Counted(**row) for row in tx.execute(sa.text(query), given).mappings()]


def load_power_bounds(
    tx: Transaction,
    region_id: int,
    snapshot: FleetSnapshot,
    rows: NDArray[np.intp],
    to: Indices,
    *,
    written: bool = False,
) -> PowerBounds:
    """Return the limits that changes of targets must respect, as they are now, and lock them.

    Call it once the servers are locked: libs.store.plans.plans.lock_plan.

    rows     (N,) the servers that change, as rows of the snapshot; their generations are still those of the snapshot
    to       (N,) their new reservations; negative: none
    written  whether the new targets are stored already
    """
    limits, _ = load_power_limits(tx, region_id, lock=True)
    if snapshot.power is None or not limits:
        return no_power_bounds(len(rows))
    snapshot = replace(snapshot, power=replace(snapshot.power, limits=limits, part=None))
    gain = np.where(to >= 0, gains_w(snapshot)[rows], 0.0)
    kinds, room = list(fed_kinds(snapshot)), np.full(len(limits), np.inf)
    columns = np.full((len(rows), len(kinds)), NONE, np.int32)
    for column, one in zip(columns.T, kinds, strict=True):
        inside = one.of[rows] >= 0
        column[inside] = one.rows[one.of[rows][inside]]
        touched = np.unique(column[inside & (gain > 0)])
        names = {limits[row].domain: int(row) for row in touched}
        if names:
            room[touched] = [limits[row].allowed_w for row in touched]
            for counted in count_by_domain(tx, region_id, one.kind, names):
                room[names[counted.domain]] -= _drawn_w(snapshot, counted)
    bounds = PowerBounds(
        name=tuple(f"{one.kind} {one.domain}" for one in limits), limit=columns, gain_w=gain, room_w=room
    )
    if written:
        bounds = replace(bounds, room_w=room + bounds.added_w(np.ones(len(rows), bool)))
    return bounds


def _drawn_w(snapshot: FleetSnapshot, counted: Counted) -> float:
    """Return the W of some servers, those of types that came after the snapshot at 0."""
    assert snapshot.power is not None
    at = np.flatnonzero(snapshot.hardware_types == counted.hardware_type)
    idle, full = (float(watts[at].sum()) for watts in (snapshot.power.idle_w, snapshot.power.full_w))
    return counted.bound * full + (counted.servers - counted.bound) * idle

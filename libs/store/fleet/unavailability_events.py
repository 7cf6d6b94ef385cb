"""Health and maintenance events, and the unavailability of servers that follows from them.

`servers.unavailability` is derived from the open events. The transaction that opens or ends an event computes it again
for all servers of open events. No other code writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.unavailability import Unavailability, UnavailabilityEvent, UnavailabilityScope
from libs.reconcile.errors import StaleGeneration
from libs.reconcile.jobs import DRAW_REPLACEMENTS
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.refusals import NotFound
from libs.store.tables import datacenters, msbs, racks, regions, servers, unavailability_events

_events = unavailability_events
_SCOPES = {
    UnavailabilityScope.SERVER: (servers, "server_id"),
    UnavailabilityScope.RACK: (racks, "rack_id"),
    UnavailabilityScope.MSB: (msbs, "msb_id"),
    UnavailabilityScope.DATACENTER: (datacenters, "datacenter_id"),
}

# The cost grows with the number of servers that are or become unavailable, not with the fleet.
_REFRESH = """
    WITH open AS (
        SELECT server_id, rack_id, msb_id, datacenter_id, kind FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND starts_at <= :now
    ), open_racks AS (
        SELECT rack_id, kind FROM open WHERE rack_id IS NOT NULL
        UNION ALL SELECT racks.rack_id, kind FROM open JOIN racks USING (msb_id)
        UNION ALL SELECT racks.rack_id, kind FROM open JOIN msbs USING (datacenter_id)
            JOIN racks ON racks.msb_id = msbs.msb_id
    ), hit AS (
        SELECT server_id, kind FROM open WHERE server_id IS NOT NULL
        UNION ALL SELECT servers.server_id, kind FROM open_racks JOIN servers USING (rack_id)
        UNION ALL SELECT server_id, 'none' FROM servers WHERE region_id = :region_id AND unavailability <> 'none'
    ), worst AS (
        SELECT server_id, CASE WHEN bool_or(kind = 'unplanned') THEN 'unplanned'
                               WHEN bool_or(kind = 'planned') THEN 'planned' ELSE 'none' END AS unavailability
        FROM hit GROUP BY server_id
    ), changed AS (  -- in order of id, as every writer of servers locks them
        SELECT server_id, worst.unavailability FROM servers JOIN worst USING (server_id)
        WHERE servers.unavailability <> worst.unavailability AND decommissioned_at IS NULL
        ORDER BY server_id FOR NO KEY UPDATE OF servers
    ), written AS (
        UPDATE servers SET unavailability = changed.unavailability FROM changed
        WHERE servers.server_id = changed.server_id
        RETURNING servers.unavailability
    )
    SELECT count(*) AS changed, count(*) FILTER (WHERE unavailability = 'unplanned') AS lost FROM written"""


MOVE_FAILED = "move_failed"
"""Start of the reason of a move that failed for good, and of the event that reports its server."""
_MENDED = sa.text("UPDATE moves SET dead_letter = 'mended' WHERE server_id = :server_id AND dead_letter = 'open'")


def refresh_unavailability(tx: Transaction, region_id: int, *, now: datetime) -> int:
    """Close the events that are over, and derive every server's unavailability from the open events that have begun.

    Unplanned outranks planned. Return the number of servers that changed. If servers were lost, ask for replacements in
    the same transaction. Idempotent; the scheduler's tick calls it.
    """
    lock_events(tx, region_id)
    over = (_events.c.region_id == region_id, _events.c.ended_at.is_(None), _events.c.ends_at <= now)
    tx.execute(sa.update(_events).where(*over).values(ended_at=_events.c.ends_at))
    found = tx.execute(sa.text(_REFRESH), {"region_id": region_id, "now": now}).one()
    if found.lost:
        region = tx.execute(sa.select(regions.c.name).where(regions.c.region_id == region_id)).scalar_one()
        enqueue(tx, DRAW_REPLACEMENTS, region)
    return int(found.changed)


def open_event(
    tx: Transaction,
    region_name: str,
    *,
    scope: UnavailabilityScope,
    scope_name: str,
    kind: Unavailability,
    reason: str,
    starts_at: datetime,
    ends_at: datetime | None,
    actor: str,
    now: datetime,
) -> UnavailabilityEvent:
    """Open an event: a server, rack, MSB or datacenter is or will be unavailable.

    kind      PLANNED or UNPLANNED
    ends_at   time at which it closes by itself; None: until end_event

    Raises NotFound for the region and the scope, and IntegrityError if ends_at is not after starts_at.
    """
    region_id = load_region(tx, region_name).region_id
    table, key = _SCOPES[scope]
    found = sa.select(table.c[key]).where(table.c.region_id == region_id, table.c.name == scope_name)
    if scope is UnavailabilityScope.SERVER:
        found = found.where(servers.c.decommissioned_at.is_(None))
    scope_id = tx.execute(found).scalar_one_or_none()
    if scope_id is None:
        raise NotFound(scope.value, f"{region_name}/{scope_name}")
    values = {"region_id": region_id, "scope": scope.value, key: scope_id, "kind": kind.value, "reason": reason}
    insert = _events.insert().values(**values, starts_at=starts_at, ends_at=ends_at)
    event_id = tx.execute(insert.returning(_events.c.unavailability_event_id)).scalar_one()
    refresh_unavailability(tx, region_id, now=now)
    event = load_event(tx, event_id)
    after = {"scope": scope.value, "scope_name": scope_name, "kind": kind.value, "reason": reason}
    _audit(tx, event, "open", actor, now, after)
    return event


def end_event(
    tx: Transaction, event_id: int, *, generation: int | None, actor: str, now: datetime
) -> UnavailabilityEvent:
    """End an event now. One that has ended stays as it is. `generation` None: do not compare it.

    If a failed move reported the event, mark its open dead letter as mended. Raises NotFound and StaleGeneration.
    """
    one = _events.c.unavailability_event_id == event_id
    region_id = tx.execute(sa.select(_events.c.region_id).where(one)).scalar_one_or_none()
    if region_id is None:
        raise NotFound("unavailability event", event_id)
    lock_events(tx, region_id)
    row = tx.execute(sa.select(_events).where(one)).mappings().one()
    if generation is not None and row["generation"] != generation:
        raise StaleGeneration("unavailability event", event_id, expected=generation, found=row["generation"])
    if row["ended_at"] is None:
        tx.execute(sa.update(_events).where(one).values(ended_at=now))
        if row["server_id"] is not None and row["reason"].startswith(MOVE_FAILED):
            tx.execute(_MENDED, {"server_id": row["server_id"]})
        refresh_unavailability(tx, region_id, now=now)
        _audit(tx, load_event(tx, event_id), "end", actor, now, {})
    return load_event(tx, event_id)


def load_event(tx: Transaction, event_id: int) -> UnavailabilityEvent:
    """Return one event. Raises NotFound."""
    row = tx.execute(_SELECT.where(_events.c.unavailability_event_id == event_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("unavailability event", event_id)
    return _event(row)


def list_events(
    tx: Transaction,
    region_name: str | None = None,
    *,
    is_open: bool | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[UnavailabilityEvent]:
    """Return a page of events by id, of one region or all. `is_open` restricts it to open or to ended ones.

    Raises NotFound for the region.
    """
    key = _events.c.unavailability_event_id
    query = _SELECT.where(key > (after or 0)).order_by(key).limit(limit + 1)
    if region_name is not None:
        query = query.where(_events.c.region_id == load_region(tx, region_name).region_id)
    if is_open is not None:
        query = query.where(_events.c.ended_at.is_(None) if is_open else _events.c.ended_at.is_not(None))
    found = [_event(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda event: event.unavailability_event_id)


def lock_events(tx: Transaction, region_id: int) -> None:
    """Lock the events of a region until the transaction ends. Two concurrent writers would not see each
    other's events.
    """
    query = "SELECT pg_advisory_xact_lock(hashtextextended('unavailability', :region_id))"
    tx.execute(sa.text(query), {"region_id": region_id})


_SELECT = (
    sa.select(
        _events.c.unavailability_event_id,
        regions.c.name.label("region"),
        _events.c.scope,
        sa.func.coalesce(servers.c.name, racks.c.name, msbs.c.name, datacenters.c.name).label("scope_name"),
        _events.c.kind,
        _events.c.reason,
        _events.c.starts_at,
        _events.c.ends_at,
        _events.c.ended_at,
        _events.c.generation,
    )
    .join(regions, regions.c.region_id == _events.c.region_id)
    .outerjoin(servers, servers.c.server_id == _events.c.server_id)
    .outerjoin(racks, racks.c.rack_id == _events.c.rack_id)
    .outerjoin(msbs, msbs.c.msb_id == _events.c.msb_id)
    .outerjoin(datacenters, datacenters.c.datacenter_id == _events.c.datacenter_id)
)


def _event(row: Mapping[Any, Any]) -> UnavailabilityEvent:
    scope, kind = UnavailabilityScope(row["scope"]), Unavailability(row["kind"])
    return UnavailabilityEvent(**{**row, "scope": scope, "kind": kind})


def _audit(
    tx: Transaction,
    event: UnavailabilityEvent,
    action: str,
    actor: str,
    now: datetime,
    after: Mapping[str, object],
) -> None:
    audit.append(
        tx,
        actor=actor,
        action=action,
        subject_kind="unavailability_event",
        subject_id=event.unavailability_event_id,
        now=now,
        after=after,
    )

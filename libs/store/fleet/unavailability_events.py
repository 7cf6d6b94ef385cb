"""Health and maintenance events, and the unavailability of servers that follows from them.

`servers.unavailability` is derived from the open events that are allowed. The transaction that opens, allows or ends an
event computes it again for all servers of open events. No other code writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from libs.domain.maintenance import MaintenanceAnswer, Newcomers
from libs.domain.page import Page
from libs.domain.unavailability import EventState, Unavailability, UnavailabilityEvent, UnavailabilityScope
from libs.reconcile.errors import StaleGeneration
from libs.reconcile.jobs import DRAW_REPLACEMENTS
from libs.store.fleet.maintenance_answers import (
    answer_from_json,
    answer_to_json,
    newcomers_from_json,
    newcomers_to_json,
)
from libs.store.fleet.regions import load_region
from libs.store.fleet.servers_hit import COVERED, NEXT_REVISION, servers_hit
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.refusals import NotFound
from libs.store.tables import datacenters, domains, msbs, racks, regions, servers, unavailability_events

_events = unavailability_events
_SCOPES = {
    UnavailabilityScope.SERVER: (servers, "server_id"),
    UnavailabilityScope.RACK: (racks, "rack_id"),
    UnavailabilityScope.MSB: (msbs, "msb_id"),
    UnavailabilityScope.DATACENTER: (datacenters, "datacenter_id"),
}
DOMAIN = "domain"
"""The stored scope of an event of a domain of a further kind. The domain says which kind."""

# The cost grows with the number of servers that are or become unavailable, not with the fleet.
_REFRESH = f"""
    WITH open AS (
        SELECT server_id, rack_id, msb_id, datacenter_id, domain_id, kind, covers_revision FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND starts_at <= :now AND state = 'allowed'
    ), {servers_hit("open", "kind", "covers_revision")}, hit_or_not AS (
        SELECT server_id, kind FROM hit WHERE kind = 'unplanned' OR {COVERED}
        UNION ALL SELECT server_id, 'none' FROM servers WHERE region_id = :region_id AND unavailability <> 'none'
    ), worst AS (
        SELECT server_id, CASE WHEN bool_or(kind = 'unplanned') THEN 'unplanned'
                               WHEN bool_or(kind = 'planned') THEN 'planned' ELSE 'none' END AS unavailability
        FROM hit_or_not GROUP BY server_id
    ), changed AS (  -- in order of id, as every writer of servers locks them
        SELECT server_id, worst.unavailability FROM servers JOIN worst USING (server_id)
        WHERE servers.unavailability <> worst.unavailability AND decommissioned_at IS NULL
        ORDER BY server_id FOR NO KEY UPDATE OF servers
    ), written AS (
        UPDATE servers SET unavailability = changed.unavailability FROM changed
        WHERE servers.server_id = changed.server_id
        RETURNING servers.unavailability, target_reservation_id
    )
    SELECT count(*) AS changed, count(*) FILTER (WHERE unavailability = 'unplanned') AS lost,
           count(*) FILTER (WHERE unavailability = 'none' AND target_reservation_id IN (
               SELECT reservation_id FROM reservations WHERE region_id = :region_id AND kind = 'shared_buffer'
           )) AS spare
    FROM written"""


MOVE_FAILED = "move_failed"
"""First words of the reason of a move that failed for good, and of the event that reports the move's server."""
_MENDED = sa.text("UPDATE moves SET dead_letter = 'mended' WHERE server_id = :server_id AND dead_letter = 'open'")


def refresh_unavailability(tx: Transaction, region_id: int, *, now: datetime) -> int:
    """Close the events that are over. Then set every server's unavailability by the events that are allowed and have
    begun.

    A server with both an unplanned and a planned event is unplanned. Return the number of servers that changed. If
    servers were lost, or spare ones are up again, queue a job that replaces lost ones, in the same transaction.
    Idempotent: the scheduler calls it on every tick.
    """
    lock_events(tx, region_id)
    is_open = (_events.c.region_id == region_id, _events.c.ended_at.is_(None))
    over = (*is_open, _events.c.ends_at <= now, _events.c.state == EventState.ALLOWED.value)
    tx.execute(sa.update(_events).where(*over).values(ended_at=_events.c.ends_at))
    found = tx.execute(sa.text(_REFRESH), {"region_id": region_id, "now": now}).one()
    if found.lost or found.spare:
        region = tx.execute(sa.select(regions.c.name).where(regions.c.region_id == region_id)).scalar_one()
        enqueue(tx, DRAW_REPLACEMENTS, region)
    return int(found.changed)


def open_event(
    tx: Transaction,
    region_name: str,
    *,
    scope: str,
    scope_name: str,
    kind: Unavailability,
    reason: str,
    starts_at: datetime,
    ends_at: datetime | None,
    actor: str,
    now: datetime,
    state: EventState = EventState.ALLOWED,
    answer: MaintenanceAnswer | None = None,
    override_reason: str | None = None,
) -> UnavailabilityEvent:
    """Open an event: a server, rack, MSB, datacenter or domain of a further kind is or will be unavailable.

    scope            a value of UnavailabilityScope, or a further kind of domain
    kind             PLANNED or UNPLANNED
    ends_at          time at which the event closes by itself; None: it stays open until end_event
    state, answer    of planned maintenance that must ask before it begins; the caller has asked
    override_reason  why the maintenance need not ask

    Raises NotFound for an unknown region or scope, and IntegrityError if `ends_at` is not after `starts_at`.
    """
    region_id = load_region(tx, region_name).region_id
    scope_id, is_place = find_scope(tx, region_id, scope, scope_name), scope in _SCOPES
    stored, key = (scope, _SCOPES[UnavailabilityScope(scope)][1]) if is_place else (DOMAIN, "domain_id")
    values = {"region_id": region_id, "scope": stored, key: scope_id, "kind": kind.value, "reason": reason}
    asked = {"state": state.value, "answer": None if answer is None else answer_to_json(answer)}
    covers = sa.text(NEXT_REVISION)
    insert = _events.insert().values(**values, **asked, covers_revision=covers, starts_at=starts_at, ends_at=ends_at)
    event_id = tx.execute(insert.returning(_events.c.unavailability_event_id)).scalar_one()
    refresh_unavailability(tx, region_id, now=now)
    event = load_event(tx, event_id)
    after = {"scope": scope, "scope_name": scope_name, "kind": kind.value, "reason": reason, "state": state.value}
    after |= {} if answer is None else {"answer": answer.message}
    _audit(tx, event, "open", actor, now, after, override_reason)
    return event


def find_scope(tx: Transaction, region_id: int, scope: str, scope_name: str) -> int:
    """Return the id of a server, rack, MSB, datacenter or domain of a further kind of the region. Raises NotFound."""
    if scope in _SCOPES:
        table, key = _SCOPES[UnavailabilityScope(scope)]
        found = sa.select(table.c[key]).where(table.c.region_id == region_id, table.c.name == scope_name)
    else:
        of_kind = (domains.c.region_id == region_id, domains.c.kind == scope)
        found = sa.select(domains.c.domain_id).where(*of_kind, domains.c.name == scope_name)
    if scope == UnavailabilityScope.SERVER:
        found = found.where(servers.c.decommissioned_at.is_(None))
    scope_id = tx.execute(found).scalar_one_or_none()
    if scope_id is None:
        region = tx.execute(sa.select(regions.c.name).where(regions.c.region_id == region_id)).scalar_one()
        raise NotFound(scope, f"{region}/{scope_name}")
    return int(scope_id)


def settle_event(
    tx: Transaction,
    event: UnavailabilityEvent,
    state: EventState,
    answer: MaintenanceAnswer | None,
    *,
    actor: str,
    now: datetime,
) -> None:
    """Write the answer to a request for planned maintenance, and the new state of its event. Write nothing if both are
    as before.

    The caller must hold the lock of the region's events and, after ALLOWED, refresh the unavailability. If the
    maintenance had to wait, its end moves by the time of waiting. REFUSED ends the event. Raises StaleGeneration unless
    the stored event is still open and at the generation of `event`.
    """
    if (state, answer) == (event.state, event.answer):
        return
    values: dict[str, object] = {"state": state.value, "answer": None if answer is None else answer_to_json(answer)}
    if state is EventState.REFUSED:
        values["ended_at"] = now
    waited = event.state in (EventState.QUEUED, EventState.AWAITING_APPROVAL) and now > event.starts_at
    if state is EventState.ALLOWED and event.state is not EventState.AWAITING_APPROVAL:
        values["covers_revision"] = sa.text(NEXT_REVISION)  # an approval is of the servers for which it was asked
    if state is EventState.ALLOWED and waited and event.ends_at is not None:
        values["ends_at"] = event.ends_at + (now - event.starts_at)
    _swap(tx, event, values)
    if state is not event.state:
        after = {"state": state.value} | ({} if answer is None else {"answer": answer.message})
        _audit(tx, event, state.value, actor, now, after)


def settle_newcomers(
    tx: Transaction,
    event: UnavailabilityEvent,
    newcomers: Newcomers | None,
    *,
    covers: bool,
    actor: str,
    now: datetime,
) -> None:
    """Write whether the newcomers of maintenance under way wait. Write nothing if all is as before.

    newcomers   those of now, with the answer to them; None: there are none
    covers      from now on the event takes them, and all other servers that are in its scope now

    The caller must hold the lock of the region's events and, if `covers`, refresh the unavailability. Raises
    StaleGeneration unless the stored event is still open and at the generation of `event`.
    """
    waiting = None if covers else newcomers
    if not covers and waiting == event.newcomers:
        return
    values: dict[str, object] = {"newcomers": None if waiting is None else newcomers_to_json(waiting)}
    if covers:
        values["covers_revision"] = sa.text(NEXT_REVISION)
    _swap(tx, event, values)
    if covers and newcomers is not None:
        after = {"newcomers": newcomers.servers, "answer": newcomers.answer.message}
        _audit(tx, event, "extend", actor, now, after)


def end_event(
    tx: Transaction, event_id: int, *, generation: int | None, actor: str, now: datetime
) -> UnavailabilityEvent:
    """End an event now. If the event has ended, change nothing. If `generation` is None, do not compare generations.

    If a failed move reported the event, mark the move's open dead letter as mended. Raises NotFound and
    StaleGeneration.
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
    kind: str | None = None,
    state: EventState | None = None,
    ended_after: datetime | None = None,
    after: int | None = None,
    limit: int = 100,
) -> Page[UnavailabilityEvent]:
    """Return a page of events in order of id, of one region, or of all regions if `region_name` is None. `is_open` is
    True for open events only, and False for ended events only. `ended_after` leaves only those that ended later.

    Raises NotFound for the region.
    """
    key = _events.c.unavailability_event_id
    query = _SELECT.where(key > (after or 0)).order_by(key).limit(limit + 1)
    if region_name is not None:
        query = query.where(_events.c.region_id == load_region(tx, region_name).region_id)
    if kind is not None:
        query = query.where(_events.c.kind == kind)
    if state is not None:
        query = query.where(_events.c.state == state.value)
    if is_open is not None:
        query = query.where(_events.c.ended_at.is_(None) if is_open else _events.c.ended_at.is_not(None))
    if ended_after is not None:
        query = query.where(_events.c.ended_at > ended_after)
    found = [_event(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda event: event.unavailability_event_id)


def list_asking(tx: Transaction, region_id: int, *, now: datetime) -> list[UnavailabilityEvent]:
    """Return the planned events of a region that ask whether they may begin: those that are queued, and those that are
    due. The order is the order of asking.
    """
    asks = sa.or_(_events.c.state == EventState.QUEUED.value, _events.c.starts_at <= now)
    asking = _events.c.state.in_((EventState.ANNOUNCED.value, EventState.QUEUED.value))
    query = _SELECT.where(_events.c.region_id == region_id, _events.c.ended_at.is_(None), asking, asks)
    return [_event(row) for row in tx.execute(query.order_by(_events.c.unavailability_event_id)).mappings()]


def list_joined(tx: Transaction, region_id: int, ids: Collection[int]) -> list[UnavailabilityEvent]:
    """Return the open events `ids` of a region, and those of which newcomers wait. The order is the order of asking."""
    known = sa.or_(_events.c.unavailability_event_id.in_(ids), _events.c.newcomers.is_not(None))
    query = _SELECT.where(_events.c.region_id == region_id, _events.c.ended_at.is_(None), known)
    return [_event(row) for row in tx.execute(query.order_by(_events.c.unavailability_event_id)).mappings()]


def lock_events(tx: Transaction, region_id: int) -> None:
    """Lock the events of a region until the transaction ends. Without the lock, two concurrent writers would not see
    each other's events.
    """
    query = "SELECT pg_advisory_xact_lock(hashtextextended('unavailability', :region_id))"
    tx.execute(sa.text(query), {"region_id": region_id})


_SELECT = (
    sa.select(
        _events.c.unavailability_event_id,
        regions.c.name.label("region"),
        sa.func.coalesce(domains.c.kind, _events.c.scope).label("scope"),
        sa.func.coalesce(servers.c.name, racks.c.name, msbs.c.name, datacenters.c.name, domains.c.name).label(
            "scope_name"
        ),
        _events.c.kind,
        _events.c.reason,
        _events.c.starts_at,
        _events.c.ends_at,
        _events.c.ended_at,
        _events.c.generation,
        _events.c.state,
        _events.c.answer,
        _events.c.newcomers,
    )
    .join(regions, regions.c.region_id == _events.c.region_id)
    .outerjoin(servers, servers.c.server_id == _events.c.server_id)
    .outerjoin(racks, racks.c.rack_id == _events.c.rack_id)
    .outerjoin(msbs, msbs.c.msb_id == _events.c.msb_id)
    .outerjoin(datacenters, datacenters.c.datacenter_id == _events.c.datacenter_id)
    .outerjoin(domains, domains.c.domain_id == _events.c.domain_id)
)


def _swap(tx: Transaction, event: UnavailabilityEvent, values: Mapping[str, object]) -> None:
    """Change the stored event. Raises StaleGeneration unless it is still open and at the generation of `event`."""
    event_id = event.unavailability_event_id
    as_read = (_events.c.generation == event.generation, _events.c.ended_at.is_(None))
    written = sa.update(_events).where(_events.c.unavailability_event_id == event_id, *as_read).values(values)
    if tx.execute(written).rowcount == 0:
        found = load_event(tx, event_id).generation
        raise StaleGeneration("unavailability event", event_id, expected=event.generation, found=found)


def _event(row: Mapping[Any, Any]) -> UnavailabilityEvent:
    states = {"kind": Unavailability(row["kind"]), "state": EventState(row["state"])}
    answer = None if row["answer"] is None else answer_from_json(row["answer"])
    waits = row["newcomers"] is not None and row["ended_at"] is None
    newcomers = newcomers_from_json(row["newcomers"]) if waits else None
    return UnavailabilityEvent(**{**row, **states, "answer": answer, "newcomers": newcomers})


def _audit(
    tx: Transaction,
    event: UnavailabilityEvent,
    action: str,
    actor: str,
    now: datetime,
    after: Mapping[str, object],
    reason: str | None = None,
) -> None:
    audit.append(
        tx,
        actor=actor,
        action=action,
        subject_kind="unavailability_event",
        subject_id=event.unavailability_event_id,
        now=now,
        after=after,
        reason=reason,
    )

"""Events of the capacity ledger: read them by page, by id and with their history."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from libs.domain.capacity_event import CapacityEvent, EventStatus, RecordedChange, Writer
from libs.domain.page import Page
from libs.store.ledger.rows import EVENTS, event_of
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import capacity_event_changes, capacity_events

NOUN = "capacity event"
_T = capacity_events.c


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """The events to list. None and () do not filter.

    region      region of a capacity change, or either region of a shift
    due_after, due_before  only events that are due from this time on, and before that time
    """

    statuses: Collection[EventStatus] = ()
    service: str | None = None
    region: str | None = None
    hardware_type: str | None = None
    product: str | None = None
    writer: Writer | None = None
    placement_plan_id: int | None = None
    due_after: datetime | None = None
    due_before: datetime | None = None


def load_events(
    tx: Transaction, wanted: EventFilter | None = None, *, after: int | None = None, limit: int = 100
) -> Page[CapacityEvent]:
    """Return a page of events in the order of their proposal."""
    query = EVENTS.where(*_conditions(wanted or EventFilter()), _T.capacity_event_id > (after or 0))
    rows = tx.execute(query.order_by(_T.capacity_event_id).limit(limit + 1)).mappings()
    return Page.of([event_of(row) for row in rows], limit, lambda event: event.capacity_event_id)


def load_event(tx: Transaction, capacity_event_id: int) -> CapacityEvent:
    """Return one event. Raises NotFound."""
    row = tx.execute(EVENTS.where(_T.capacity_event_id == capacity_event_id)).mappings().one_or_none()
    if row is None:
        raise NotFound(NOUN, capacity_event_id)
    return event_of(row)


def load_events_by_id(tx: Transaction, ids: Sequence[int]) -> dict[int, CapacityEvent]:
    """Return id -> event. Ids without an event are left out."""
    wanted = sa.func.any(sa.cast(list(ids), ARRAY(sa.BigInteger)))
    return {row["capacity_event_id"]: event_of(row) for row in _mappings(tx, _T.capacity_event_id == wanted)}


def load_history(tx: Transaction, capacity_event_id: int) -> tuple[RecordedChange, ...]:
    """Return the history of an event, oldest change first. An unknown event has none."""
    c = capacity_event_changes.c
    query = sa.select(capacity_event_changes).where(c.capacity_event_id == capacity_event_id).order_by(c.generation)
    names = RecordedChange.__dataclass_fields__
    return tuple(
        RecordedChange(**{**{name: row[name] for name in names}, "status": EventStatus(row["status"])})
        for row in tx.execute(query).mappings()
    )


def _mappings(tx: Transaction, condition: sa.ColumnElement[bool]) -> Sequence[sa.RowMapping]:
    return tx.execute(EVENTS.where(condition)).mappings().all()


def _conditions(wanted: EventFilter) -> list[sa.ColumnElement[bool]]:
    equal = {
        _T.service: wanted.service,
        _T.hardware_type: wanted.hardware_type,
        _T.product: wanted.product,
        _T.writer: wanted.writer,
        _T.placement_plan_id: wanted.placement_plan_id,
    }
    found = [column == value for column, value in equal.items() if value is not None]
    if wanted.statuses:
        found.append(_T.status.in_(sorted(wanted.statuses)))
    if wanted.region is not None:
        found.append(sa.or_(_T.region == wanted.region, _T.from_region == wanted.region, _T.to_region == wanted.region))
    if wanted.due_after is not None:
        found.append(_T.starts_at >= wanted.due_after)
    if wanted.due_before is not None:
        found.append(_T.starts_at < wanted.due_before)
    return found

"""Sums of spans for people: by day, by service, and calls between services."""

from __future__ import annotations

from datetime import date

import sqlalchemy as sa

from libs.domain.page import Page
from libs.domain.traced_lists import TraceDay, TracedCaller, TracedService
from libs.store.platform.database import Transaction
from libs.store.tables import call_sums, span_sums, trace_days, traced_services


def load_trace_days(tx: Transaction, *, first: date) -> tuple[TraceDay, ...]:
    """Return the days since `first`, latest first."""
    spans, days = span_sums.c, trace_days.c
    by_day = sa.select(spans.day, sa.func.sum(spans.attributed).label("attributed"))
    by_day = by_day.add_columns(sa.func.sum(spans.orphaned).label("orphaned")).group_by(spans.day)
    of = by_day.where(spans.day >= first).subquery()
    query = (
        sa.select(trace_days, sa.func.coalesce(of.c.attributed, 0), sa.func.coalesce(of.c.orphaned, 0))
        .select_from(trace_days.outerjoin(of, of.c.day == days.day))
        .where(days.day >= first)
        .order_by(days.day.desc())
    )
    return tuple(
        TraceDay(
            day=day,
            received=int(received),
            attributed=int(attributed),
            orphaned=int(orphaned),
            late=int(late),
            duplicates=int(duplicates),
            rejected=int(rejected),
        )
        for day, received, rejected, late, duplicates, attributed, orphaned in tx.execute(query)
    )


def list_traced_services(tx: Transaction, *, first: date, after: int | None, limit: int) -> Page[TracedService]:
    """Return a page of the services that spans named since `first`; `after` is the id that the last page ended with."""
    spans, key = span_sums.c, traced_services.c.traced_service_id
    counts = [sa.func.sum(spans[name]).label(name) for name in ("spans", "attributed", "orphaned")]
    query = (
        sa.select(key, traced_services.c.name, *counts)
        .join(span_sums, spans.traced_service_id == key)
        .where(spans.day >= first, key > (after or 0))
        .group_by(key)
        .order_by(key)
        .limit(limit + 1)
    )
    found = [
        TracedService(
            traced_service_id=row.traced_service_id,
            name=row.name,
            spans=int(row.spans),
            attributed=int(row.attributed),
            orphaned=int(row.orphaned),
        )
        for row in tx.execute(query)
    ]
    return Page.of(found, limit, lambda service: service.traced_service_id)


def list_traced_callers(tx: Transaction, *, first: date, after: int | None, limit: int) -> Page[TracedCaller]:
    """Return a page of the services that called others since `first`, with the calls by callee."""
    callee, caller, c = traced_services.alias(), traced_services.c, call_sums.c
    calls = (
        sa.select(c.caller_id, callee.c.name.label("callee"), sa.func.sum(c.calls).label("calls"))
        .join(callee, callee.c.traced_service_id == c.callee_id)
        .where(c.day >= first, c.caller_id > (after or 0))
        .group_by(c.caller_id, callee.c.name)
        .subquery()
    )
    by_callee = sa.func.jsonb_object_agg(calls.c.callee, calls.c.calls).label("calls")
    query = (
        sa.select(caller.traced_service_id, caller.name, by_callee)
        .join(calls, calls.c.caller_id == caller.traced_service_id)
        .group_by(caller.traced_service_id)
        .order_by(caller.traced_service_id)
        .limit(limit + 1)
    )
    found = [
        TracedCaller(
            traced_service_id=row.traced_service_id,
            name=row.name,
            calls={name: int(number) for name, number in sorted(row.calls.items())},
        )
        for row in tx.execute(query)
    ]
    return Page.of(found, limit, lambda one: one.traced_service_id)

"""The combined effect of all events on capacity and traffic, summed by the database."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.domain.combined_effect import CapacityEffect, CombinedEffect, EffectSums, TrafficEffect
from libs.store.ledger.achieved import achieved_by
from libs.store.platform.database import Transaction

_SUMS = """
    coalesce(sum(done), 0) AS done,
    coalesce(sum(amount - achieved) FILTER (WHERE status = 'active' AND starts_at <= :at), 0) AS active,
    coalesce(sum(amount) FILTER (WHERE status = 'approved' AND starts_at <= :at), 0) AS approved,
    coalesce(sum(amount) FILTER (WHERE status = 'proposed' AND starts_at <= :at), 0) AS proposed"""
_CAPACITY = """
    SELECT service, region, hardware_type, {sums}
    FROM (
        SELECT *, {done} AS done FROM capacity_events AS event
        WHERE kind = 'capacity' AND (achieved <> 0 OR status IN ('proposed', 'approved', 'active')) {conditions}
    ) AS events
    GROUP BY service, region, hardware_type ORDER BY service, region, hardware_type"""
_TRAFFIC = """
    SELECT product, region, {sums}
    FROM (
        SELECT product, ends.region, ends.sign * amount AS amount, ends.sign * achieved AS achieved, status, starts_at,
               ends.sign * ({done}) AS done
        FROM capacity_events AS event, LATERAL (VALUES (from_region, -1), (to_region, 1)) AS ends (region, sign)
        WHERE kind = 'traffic' AND (achieved <> 0 OR status IN ('proposed', 'approved', 'active'))
    ) AS shifted
    WHERE true {conditions}
    GROUP BY product, region ORDER BY product, region"""


def combined_effect(
    tx: Transaction,
    *,
    at: datetime,
    since: datetime | None = None,
    service: str | None = None,
    region: str | None = None,
    hardware_type: str | None = None,
    product: str | None = None,
) -> CombinedEffect:
    """Return the combined effect of all events that are due at `at`, by place and by product and region.

    since   leave out what happened until then, because a measurement shows it already

    A filter on service or hardware type leaves out traffic, and one on product leaves out capacity, unless both are
    given.
    """
    moments = {"at": at, "since": since}
    of_capacity = {"service": service, "region": region, "hardware_type": hardware_type}
    of_traffic = {"product": product, "region": region}
    names_capacity, names_traffic = service is not None or hardware_type is not None, product is not None
    capacity: tuple[CapacityEffect, ...] = ()
    traffic: tuple[TrafficEffect, ...] = ()
    if names_capacity or not names_traffic:
        capacity = tuple(
            CapacityEffect(service=row.service, region=row.region, hardware_type=row.hardware_type, sums=_sums(row))
            for row in _rows(tx, _CAPACITY, of_capacity, moments)
        )
    if names_traffic or not names_capacity:
        traffic = tuple(
            TrafficEffect(product=row.product, region=row.region, sums=_sums(row))
            for row in _rows(tx, _TRAFFIC, of_traffic, moments)
        )
    return CombinedEffect(capacity=capacity, traffic=traffic)


def _rows(
    tx: Transaction, query: str, names: dict[str, str | None], moments: dict[str, datetime | None]
) -> list[sa.Row[tuple[object, ...]]]:
    given = {name: value for name, value in names.items() if value is not None}
    conditions = "".join(f" AND {name} = :{name}" for name in given)
    done = achieved_by("event", "at")
    if moments["since"] is not None:
        done += f" - {achieved_by('event', 'since')}"
    statement = query.format(sums=_SUMS, done=done, conditions=conditions)
    return list(tx.execute(sa.text(statement), {**given, **moments}).all())


def _sums(row: sa.Row[tuple[object, ...]]) -> EffectSums:
    return EffectSums(done=row.done, active=row.active, approved=row.approved, proposed=row.proposed)

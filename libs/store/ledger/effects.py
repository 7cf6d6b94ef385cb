"""The combined effect of all events on capacity and traffic, summed by the database."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from numpy.typing import NDArray

from libs.domain.combined_effect import CapacityEffects, CombinedEffect, EffectSums, TrafficEffects
from libs.store.ledger.achieved import achieved_by
from libs.store.platform.bulk import load_columns
from libs.store.platform.database import Transaction

_SUMS = """
    coalesce(sum(done), 0) AS done,
    coalesce(sum(amount - achieved) FILTER (WHERE status = 'active' AND starts_at <= %(at)s), 0) AS active,
    coalesce(sum(amount) FILTER (WHERE status = 'approved' AND starts_at <= %(at)s), 0) AS approved,
    coalesce(sum(amount) FILTER (WHERE status = 'proposed' AND starts_at <= %(at)s), 0) AS proposed"""
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
    wants_capacity, wants_traffic = names_capacity or not names_traffic, names_traffic or not names_capacity
    places = _columns(tx, _CAPACITY, of_capacity, moments, wanted=wants_capacity)
    shares = _columns(tx, _TRAFFIC, of_traffic, moments, wanted=wants_traffic)
    return CombinedEffect(
        capacity=CapacityEffects(**{name: places[name] for name in of_capacity}, sums=_sums(places)),
        traffic=TrafficEffects(**{name: shares[name] for name in of_traffic}, sums=_sums(shares)),
    )


def _columns(
    tx: Transaction,
    query: str,
    names: dict[str, str | None],
    moments: dict[str, datetime | None],
    *,
    wanted: bool,
) -> dict[str, NDArray[Any]]:
    given = {name: value for name, value in names.items() if value is not None}
    conditions = "".join(f" AND {name} = %({name})s" for name in given) if wanted else " AND false"
    done = achieved_by("event", "%(at)s")
    if moments["since"] is not None:
        done += f" - {achieved_by('event', '%(since)s')}"
    statement = query.format(sums=_SUMS, done=done, conditions=conditions)
    kinds = dict.fromkeys(names, "O") | {one.name: "f8" for one in fields(EffectSums)}
    return load_columns(tx, statement, {**given, **moments}, kinds)


def _sums(columns: dict[str, NDArray[Any]]) -> EffectSums:
    return EffectSums(**{one.name: columns[one.name] for one in fields(EffectSums)})

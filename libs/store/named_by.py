"""Who brought the names of services and series: the share of a token, and how what it brought is forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from libs.domain.traced import NamedBy
from libs.store.database import Transaction
from libs.store.tables import (
    call_sums,
    demand_sums,
    span_sums,
    traced_services,
    traffic_hours,
    traffic_series,
    usage_hours,
    usage_series,
)

_TABLES = {"services": traced_services, "usage_series": usage_series, "traffic_series": traffic_series}
_USES = {
    "services": (
        demand_sums.c.traced_service_id,
        span_sums.c.traced_service_id,
        call_sums.c.caller_id,
        call_sums.c.callee_id,
    ),
    "usage_series": (usage_hours.c.usage_series_id,),
    "traffic_series": (traffic_hours.c.traffic_series_id,),
}
_LOCKS = {"services": "traced_services", "usage_series": "usage_hours", "traffic_series": "traffic_hours"}
"""Whoever counts names, or patches samples, holds these while it does."""


@dataclass(frozen=True, slots=True)
class Named:
    """How many names there are, and how many of these one token brought."""

    total: int
    own: int

    def room(self, most: int) -> int:
        """How many more it may bring, so that it has no more than are free then. Less than 0: it has more already.

        So one token takes half of them at most, two take a third each, and however many there are, some stay free.
        Source: A. K. Choudhury, E. L. Hahne, Dynamic queue length thresholds for shared-memory packet switches, 1998.
        """
        return (most - self.total - self.own) // 2


def count_named(tx: Transaction, table: sa.Table, named_by: str) -> Named:
    """What there is in a table of names."""
    own = sa.func.count().filter(table.c.named_by == named_by)
    return Named(*tx.execute(sa.select(sa.func.count(), own).select_from(table)).one())


def list_named_by(tx: Transaction) -> tuple[NamedBy, ...]:
    """How much each token brought, by its name; None: what came from no token, or before that was noted."""
    found: dict[str | None, dict[str, int]] = {}
    for kind, table in _TABLES.items():
        by = table.c.named_by
        for name, number in tx.execute(sa.select(by, sa.func.count()).group_by(by)):
            found.setdefault(name, {})[kind] = number
    none = dict.fromkeys(_TABLES, 0)
    return tuple(NamedBy(named_by=name, **none | found[name]) for name in sorted(found, key=lambda name: name or ""))


def forget_named_by(tx: Transaction, named_by: str, *, since: datetime | None) -> Mapping[str, int]:
    """Forget the names that a token brought, since then, with all that was summed or measured of them; how many.

    Spans of theirs that wait are dropped when they are summed. What is sent again is there again.
    """
    return {kind: _forget(tx, kind, named_by, since) for kind in _TABLES}


def _forget(tx: Transaction, kind: str, named_by: str, since: datetime | None) -> int:
    tx.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), {"lock": _LOCKS[kind]})
    table = _TABLES[kind]
    [key] = table.primary_key
    wanted = sa.select(key).where(table.c.named_by == named_by)
    if since is not None:
        wanted = wanted.where(table.c.named_at >= since)
    # Locked first: nobody adds to a sum of theirs from here on.
    ids = list(tx.execute(wanted.order_by(key).with_for_update()).scalars())
    among = sa.any_(sa.literal(ids, sa.ARRAY(sa.BigInteger)))
    for use in _USES[kind]:
        tx.execute(sa.delete(use.table).where(use == among))
    tx.execute(sa.delete(table).where(key == among))
    return len(ids)

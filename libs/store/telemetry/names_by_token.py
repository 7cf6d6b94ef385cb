"""Names of services and series by token: the share of each token, and the deletion of a token's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from libs.domain.traced_lists import NamedBy
from libs.store.platform.database import Transaction
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
"""Advisory lock of each table. Code that counts names or patches samples holds it."""


@dataclass(frozen=True, slots=True)
class Named:
    """The number of names in a table, and the number of names in it that one token added."""

    total: int
    own: int

    def room(self, most: int) -> int:
        """Return how many more names the token may add. A token may have at most as many names as stay free.

        A negative number says how many names the token has too many. So one token takes at most half of `most`, two
        tokens take a third each, and some names always stay free.

        Source: A. K. Choudhury, E. L. Hahne, Dynamic queue length thresholds for shared-memory packet switches, 1998.
        """
        return (most - self.total - self.own) // 2


def count_named(tx: Transaction, table: sa.Table, named_by: str) -> Named:
    """Count the names in a table: all of them, and those that the token `named_by` added."""
    own = sa.func.count().filter(table.c.named_by == named_by)
    return Named(*tx.execute(sa.select(sa.func.count(), own).select_from(table)).one())


def list_named_by(tx: Transaction) -> tuple[NamedBy, ...]:
    """Return the numbers of names that each token added, in order of the token's name. The token None stands for names
    from no token or an unknown token.
    """
    found: dict[str | None, dict[str, int]] = {}
    for kind, table in _TABLES.items():
        by = table.c.named_by
        for name, number in tx.execute(sa.select(by, sa.func.count()).group_by(by)):
            found.setdefault(name, {})[kind] = number
    none = dict.fromkeys(_TABLES, 0)
    return tuple(NamedBy(named_by=name, **none | found[name]) for name in sorted(found, key=lambda name: name or ""))


def forget_named_by(tx: Transaction, named_by: str, *, since: datetime | None) -> Mapping[str, int]:
    """Delete the names that the token `named_by` added since `since`, with their sums and measurements. `since` None
    deletes all names of the token. Return kind of name -> number of deleted names.

    Waiting spans with these names are dropped when they are summed. A name that is sent again is added again.
    """
    return {kind: _forget(tx, kind, named_by, since) for kind in _TABLES}


def _forget(tx: Transaction, kind: str, named_by: str, since: datetime | None) -> int:
    tx.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext(:lock))"), {"lock": _LOCKS[kind]})
    table = _TABLES[kind]
    [key] = table.primary_key
    wanted = sa.select(key).where(table.c.named_by == named_by)
    if since is not None:
        wanted = wanted.where(table.c.named_at >= since)
    # Lock first, so that no other transaction adds to their sums from here on.
    ids = list(tx.execute(wanted.order_by(key).with_for_update()).scalars())
    among = sa.any_(sa.literal(ids, sa.ARRAY(sa.BigInteger)))
    for use in _USES[kind]:
        tx.execute(sa.delete(use.table).where(use == among))
    tx.execute(sa.delete(table).where(key == among))
    return len(ids)

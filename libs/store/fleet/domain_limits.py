"""The limits of reservations per kind of domain: rows of `reservation_domain_limits`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from libs.domain.arrays import Floats, Ints
from libs.domain.domain_kind import DomainKind
from libs.domain.domain_limits import HARD_LIMITS, LIMITS, DomainLimit, limit_kinds, limits_in
from libs.store.fleet.topology import rows_of
from libs.store.platform.bulk import copy_in, copy_out
from libs.store.platform.database import Transaction
from libs.store.tables import reservation_domain_limits

HAS_HARD = f"({' OR '.join(f'{name} IS NOT NULL' for name in HARD_LIMITS)})"
"""SQL condition on a row. It is true if one of its limits is hard."""
_ONE = ", ".join(f"coalesce(CAST({name} AS double precision), 'infinity')" for name in LIMITS)
_OF_KIND = f"""
    SELECT reservation_id, {_ONE} FROM reservation_domain_limits
    WHERE kind = %(kind)s AND reservation_id = ANY(%(ids)s)"""


def load_limits_table(tx: Transaction, ids: Ints, kinds: Sequence[DomainKind]) -> Floats:
    """Return the limits (R, K, L) of reservations `ids` (R,), ascending: see `Reservations.domain_limits`."""
    names = limit_kinds(kinds)
    table = np.full((len(ids), len(names), len(LIMITS)), np.inf)
    for column, kind in enumerate(names):
        found = load_limits_of_kind(tx, kind, ids)
        table[rows_of(found["id"].astype(np.int64), ids), column] = np.stack([found[name] for name in LIMITS], axis=1)
    return table


def add_limits_table(tx: Transaction, region_id: int, ids: Ints, table: Floats, kinds: Sequence[DomainKind]) -> None:
    """Add the rows of limits (R, K, L) of new reservations."""
    rows = [(int(i), limit) for i, one in zip(ids, table, strict=True) for limit in limits_in(one, kinds)]
    columns: dict[str, list[object]] = {
        "region_id": [region_id] * len(rows),
        "reservation_id": [i for i, _ in rows],
        "kind": [limit.kind for _, limit in rows],
        **{name: [getattr(limit, name) for _, limit in rows] for name in LIMITS},
    }
    copy_in(tx, reservation_domain_limits, columns)


def add_domain_limits(tx: Transaction, region_id: int, reservation_id: int, limits: Sequence[DomainLimit]) -> None:
    """Add the limits of one reservation."""
    key = {"region_id": region_id, "reservation_id": reservation_id}
    rows = [key | {"kind": limit.kind} | {name: getattr(limit, name) for name in LIMITS} for limit in limits]
    if rows:
        tx.execute(sa.insert(reservation_domain_limits), rows)


def load_domain_limits(tx: Transaction, ids: Sequence[int]) -> dict[int, tuple[DomainLimit, ...]]:
    """Return the limits of each reservation, in order of kind."""
    table = reservation_domain_limits.c
    columns = [table.reservation_id, table.kind, *(table[name] for name in LIMITS)]
    query = sa.select(*columns).where(table.reservation_id.in_(ids)).order_by(table.kind)
    found: dict[int, list[DomainLimit]] = {i: [] for i in ids}
    for reservation_id, kind, *values in tx.execute(query):
        found[reservation_id].append(DomainLimit(kind=kind, **dict(zip(LIMITS, values, strict=True))))
    return {i: tuple(limits) for i, limits in found.items()}


def load_limits_of_kind(tx: Transaction, kind: str, ids: Ints) -> NDArray[np.void]:
    """Return the limits of reservations `ids` for a kind: a row with `id` and LIMITS for each that has one."""
    fields = {"id": ">i8", **dict.fromkeys(LIMITS, ">f8")}
    return copy_out(tx, _OF_KIND, {"kind": kind, "ids": ids.tolist()}, fields)

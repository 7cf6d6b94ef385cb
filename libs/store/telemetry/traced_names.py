"""Numbers of the services and products that traces name. Spans and sums store only the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.arrays import Bools, Ints
from libs.store.platform.database import Transaction
from libs.store.tables import call_sums, demand_sums, entry_sums, span_sums, traced_products, traced_services
from libs.store.telemetry.names_by_token import count_named

NAME_LENGTH_MAX = 200


def is_name(name: str) -> bool:
    """Return whether this is a valid name: 1 to NAME_LENGTH_MAX printable characters."""
    return 0 < len(name) <= NAME_LENGTH_MAX and name.isprintable()


def number_services(tx: Transaction, names: Sequence[str], *, most: int, named_by: str) -> dict[str, int]:
    """Return name -> id for the services `names`. Add new services within the limits. A service beyond the limits is
    absent.

    most       largest number of services in total
    named_by   the token that names the services, which may add a share of the total
    """
    known = load_services(tx, names)
    new = sorted(set(names) - set(known))
    if not new:
        return known
    # One writer at a time, so that each counts the names that the one before added.
    tx.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('traced_services'))"))
    room = count_named(tx, traced_services, named_by).room(most)
    if room > 0:
        _insert(tx, traced_services, new[:room], named_by=named_by)
    return load_services(tx, names)


def load_services(tx: Transaction, names: Sequence[str]) -> dict[str, int]:
    """Return name -> id for those services of `names` that are stored."""
    return _load(tx, traced_services, traced_services.c.traced_service_id, names)


def number_products(tx: Transaction, names: Sequence[str]) -> dict[str, int]:
    """Return the ids of the products `names`. Add new products without a limit, because they come from an operator's
    list.
    """
    known = _load(tx, traced_products, traced_products.c.traced_product_id, names)
    if set(names) <= set(known):
        return known
    _insert(tx, traced_products, sorted(set(names) - set(known)))
    return _load(tx, traced_products, traced_products.c.traced_product_id, names)


def load_products(tx: Transaction) -> Mapping[int, str]:
    """Return id -> name of every product."""
    c = traced_products.c
    return {row.traced_product_id: row.name for row in tx.execute(sa.select(c.traced_product_id, c.name))}


def are_named(tx: Transaction, table: sa.Table, ids: Ints) -> Bools:
    """Return a (N,) mask of the ids in `table` that still have a name. Lock these names until the transaction ends."""
    [key] = table.primary_key
    query = sa.select(key).where(key == sa.any_(sa.cast(ids.tolist(), sa.ARRAY(sa.BigInteger))))
    return np.isin(ids, list(tx.execute(query.with_for_update(key_share=True, read=True)).scalars()))


def forget_names(tx: Transaction, *, named_before: datetime) -> None:
    """Delete names without sums that were first sent before `named_before`. Spans of younger names may still wait to be
    summed.
    """
    by_service = (demand_sums.c.traced_service_id, span_sums.c.traced_service_id)
    uses_of = (
        (traced_services, (*by_service, call_sums.c.caller_id, call_sums.c.callee_id)),
        (traced_products, (demand_sums.c.traced_product_id, entry_sums.c.traced_product_id)),
    )
    for table, uses in uses_of:
        [key] = table.primary_key
        unused = [~sa.exists().where(use == key) for use in uses]
        tx.execute(sa.delete(table).where(table.c.named_at < named_before, *unused))


def _load(tx: Transaction, table: sa.Table, key: sa.Column[int], names: Sequence[str]) -> dict[str, int]:
    query = sa.select(table.c.name, key).where(table.c.name == sa.any_(sa.cast(list(names), sa.ARRAY(sa.Text))))
    return {name: number for name, number in tx.execute(query)}  # noqa: C416  rows are no pairs to dict()


def _insert(tx: Transaction, table: sa.Table, names: Sequence[str], **same: str) -> None:
    rows = [{"name": name, "named_at": sa.func.now(), **same} for name in names]
    tx.execute(insert(table).values(rows).on_conflict_do_nothing())

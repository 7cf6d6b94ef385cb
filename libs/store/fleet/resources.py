"""The resources that reservations ask for beside RRU: rows of `reservation_resources`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from libs.domain.arrays import Floats, Ints
from libs.domain.resources import AMOUNT_MAX, AMOUNT_MIN, Resources, is_amount, resources_in
from libs.store.platform.bulk import copy_in
from libs.store.platform.database import Transaction
from libs.store.tables import hardware_types, reservation_resources

AMOUNT = f"""CASE WHEN jsonb_typeof(hardware_types.attributes -> resource) <> 'number' THEN 0
                WHEN CAST(hardware_types.attributes ->> resource AS numeric) BETWEEN {AMOUNT_MIN} AND {AMOUNT_MAX}
                THEN CAST(hardware_types.attributes ->> resource AS double precision) ELSE 0 END"""
"""SQL of the amount of `resource` in one server of a row of `hardware_types`: as `is_amount` has it."""


def load_amounts(tx: Transaction) -> dict[str, dict[str, float]]:
    """Return hardware type -> resource -> amount in one server, of all types with such figures."""
    rows = tx.execute(sa.select(hardware_types.c.name, hardware_types.c.attributes)).tuples()
    found = {name: {key: value for key, value in given.items() if is_amount(value)} for name, given in rows}
    return {name: amounts for name, amounts in found.items() if amounts}


def load_asked(tx: Transaction, ids: Sequence[int] | Ints) -> dict[int, dict[str, float]]:
    """Return what each of the reservations asks for: resource -> amount, in order of name."""
    table = reservation_resources.c
    found: dict[int, dict[str, float]] = {int(i): {} for i in ids}
    query = sa.select(table.reservation_id, table.resource, table.amount)
    query = query.where(table.reservation_id == sa.any_(sa.bindparam("ids", list(found), sa.ARRAY(sa.BigInteger))))
    for reservation_id, resource, amount in tx.execute(query.order_by(table.resource)).tuples():
        found[reservation_id][resource] = amount
    return found


def add_asked(tx: Transaction, region_id: int, reservation_id: int, resources: Mapping[str, float]) -> None:
    """Add what one reservation asks for."""
    key = {"region_id": region_id, "reservation_id": reservation_id}
    rows = [key | {"resource": name, "amount": amount} for name, amount in resources.items()]
    if rows:
        tx.execute(sa.insert(reservation_resources), rows)


def add_asked_table(tx: Transaction, region_id: int, ids: Ints, asked: Floats, resources: Resources) -> None:
    """Add what new reservations ask for, (R, Q)."""
    rows = [
        (int(i), name, amount)
        for i, row in zip(ids, asked, strict=True)
        for name, amount in resources_in(row, resources).items()
    ]
    columns: dict[str, list[object]] = {
        "region_id": [region_id] * len(rows),
        "reservation_id": [i for i, _, _ in rows],
        "resource": [name for _, name, _ in rows],
        "amount": [amount for _, _, amount in rows],
    }
    copy_in(tx, reservation_resources, columns)

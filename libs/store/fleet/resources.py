"""The resources that reservations ask for beside RRU: rows of `reservation_resources`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from libs.domain.arrays import Floats, Ints, Names
from libs.domain.guest import with_amounts
from libs.domain.resources import AMOUNT_MAX, AMOUNT_MIN, Resources, amounts_in, resources_in
from libs.store.fleet.guests import ASKED, load_guest_amounts
from libs.store.fleet.hardware_types import load_sizes
from libs.store.platform.bulk import copy_in
from libs.store.platform.database import Transaction
from libs.store.tables import hardware_types, reservation_resources

AMOUNT = f"""CASE WHEN guest_id IS NOT NULL THEN coalesce(
                    (SELECT guest.rru FROM reservation_rru AS guest WHERE guest.reservation_id = guest_id
                         AND guest.hardware_type_id = hardware_types.hardware_type_id), 0)
                WHEN jsonb_typeof(hardware_types.attributes -> resource) <> 'number' THEN 0
                WHEN CAST(hardware_types.attributes ->> resource AS numeric) BETWEEN {AMOUNT_MIN} AND {AMOUNT_MAX}
                THEN CAST(hardware_types.attributes ->> resource AS double precision) ELSE 0 END"""
"""SQL of the amount of `resource` in one server of a row of `hardware_types`, for a row of ASKED: as `is_amount` has
it.
"""
_CHOSEN = "WHERE reservation_id = ANY(CAST(:ids AS bigint[])) ORDER BY resource"
_ASKED = sa.text(f"SELECT reservation_id, resource, amount FROM reservation_resources {_CHOSEN}")
_ASKED_WITH_GUESTS = sa.text(f"SELECT reservation_id, resource, amount FROM {ASKED} AS asked {_CHOSEN}")


def load_amounts(tx: Transaction) -> dict[str, dict[str, float]]:
    """Return hardware type -> resource -> amount in one server, of all types with such figures."""
    rows = tx.execute(sa.select(hardware_types.c.name, hardware_types.c.attributes)).tuples()
    found = {name: amounts_in(given) for name, given in rows}
    return {name: amounts for name, amounts in found.items() if amounts}


def load_asked(tx: Transaction, ids: Sequence[int] | Ints, *, with_guests: bool = False) -> dict[int, dict[str, float]]:
    """Return what each of the reservations asks for: resource -> amount, in order of name. With guests, each guest is a
    resource of its host too.
    """
    found: dict[int, dict[str, float]] = {int(i): {} for i in ids}
    query = _ASKED_WITH_GUESTS if with_guests else _ASKED
    for reservation_id, resource, amount in tx.execute(query, {"ids": list(found)}).tuples():
        found[reservation_id][resource] = amount
    return found


def load_sizes_and_guests(tx: Transaction, region_id: int, names: Names) -> dict[str, dict[str, float]]:
    """Return hardware type -> its numeric attributes, and the RRU that each guest of the region has in one server."""
    return with_amounts(load_sizes(tx, names), load_guest_amounts(tx, region_id))


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

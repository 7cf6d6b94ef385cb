"""The names that filters of lists may give: whether one exists, and which are near it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias

import sqlalchemy as sa

from libs.store.platform.database import Transaction
from libs.store.tables import hardware_types, msbs, racks, regions, reservations, servers

Filtered: TypeAlias = Literal["live reservation", "server", "MSB", "rack", "hardware type"]
_TABLES: dict[Filtered, sa.Table] = {
    "live reservation": reservations,
    "server": servers,
    "MSB": msbs,
    "rack": racks,
    "hardware type": hardware_types,
}
_OF_REGION = 20
"""Names of each region before and after a name, where there are many regions."""


def is_known(tx: Transaction, noun: Filtered, name: str, region: str | None) -> bool:
    """Return whether something of this noun has this name, in a region or in any. A deleted reservation counts: who
    waits until its servers have left sees the list become empty.
    """
    table = _TABLES[noun]
    return any(
        tx.execute(sa.select(sa.exists().where(table.c.name == name, *where))).scalar_one()
        for where in _places(tx, noun, region)
    )


def names_near(
    tx: Transaction, noun: Filtered, name: str, region: str | None, *, others: Collection[str], most: int
) -> tuple[frozenset[str], int]:
    """Return names of a noun, in a region or in any, and the number of all of them. Names of deleted reservations are
    left out.

    Return the names before and after `name` in the order of names, of all regions about `most` of each, and those among
    `others`. So the time hardly grows with the number of servers.
    """
    table = _TABLES[noun]
    found: set[str] = set()
    total = 0
    places = _places(tx, noun, region)
    most = max(most // max(len(places), 1), _OF_REGION)
    for where in places:
        live = [*where, table.c.deleted_at.is_(None)] if table is reservations else where
        wanted = sa.select(table.c.name).where(*live)
        before = wanted.where(table.c.name < name).order_by(table.c.name.desc()).limit(most)
        after = wanted.where(table.c.name > name).order_by(table.c.name).limit(most)
        same = wanted.where(table.c.name == sa.any_(sa.cast(sorted(others), sa.ARRAY(sa.Text))))
        for query in (before, after, same):
            found.update(tx.execute(query).scalars())
        total += tx.execute(sa.select(sa.func.count()).select_from(table).where(*live)).scalar_one()
    return frozenset(found), total


def _places(tx: Transaction, noun: Filtered, region: str | None) -> list[list[sa.ColumnElement[bool]]]:
    """Return the conditions for each region, because the indexes begin with the region."""
    table = _TABLES[noun]
    if table is hardware_types:  # all regions share those
        return [[]]
    query = sa.select(regions.c.region_id)
    if region is not None:
        query = query.where(regions.c.name == region)
    return [[table.c.region_id == region_id] for region_id in tx.execute(query.order_by(regions.c.region_id)).scalars()]

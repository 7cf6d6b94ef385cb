"""The names that filters of lists may give: whether one exists, and which there are."""

from __future__ import annotations

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


def is_known(tx: Transaction, noun: Filtered, name: str, region: str | None) -> bool:
    """Return whether something of this noun has this name, in a region or in any. A deleted reservation counts: who
    waits until its servers have left sees the list become empty.
    """
    found = _names(noun, region).where(_TABLES[noun].c.name == name)
    return bool(tx.execute(sa.select(found.exists())).scalar_one())


def names_of(tx: Transaction, noun: Filtered, region: str | None) -> frozenset[str]:
    """Return all names of a noun, in a region or in any. Those of deleted reservations are left out."""
    query = _names(noun, region)
    if noun == "live reservation":
        query = query.where(reservations.c.deleted_at.is_(None))
    return frozenset(tx.execute(query).scalars())


def _names(noun: Filtered, region: str | None) -> sa.Select[tuple[str]]:
    table = _TABLES[noun]
    query = sa.select(table.c.name)
    if region is not None and table is not hardware_types:  # all regions share those
        query = query.join(regions, regions.c.region_id == table.c.region_id).where(regions.c.name == region)
    return query

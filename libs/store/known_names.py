"""The names that a request may use: for saying what was meant by one that nobody knows."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.database import Transaction
from libs.store.tables import datacenters, hardware_types, regions


def known_regions(tx: Transaction) -> frozenset[str]:
    """The names of all regions."""
    return frozenset(tx.execute(sa.select(regions.c.name)).scalars())


def known_hardware_types(tx: Transaction) -> frozenset[str]:
    """The names of all hardware types, of whatever region."""
    return frozenset(tx.execute(sa.select(hardware_types.c.name)).scalars())


def known_datacenters(tx: Transaction, region_id: int) -> frozenset[str]:
    """The names of a region's datacenters."""
    return frozenset(tx.execute(sa.select(datacenters.c.name).where(datacenters.c.region_id == region_id)).scalars())

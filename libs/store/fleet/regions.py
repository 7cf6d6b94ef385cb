"""Regions: created, found and listed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.page import Page
from libs.domain.policy import RegionPolicy
from libs.domain.region import Region
from libs.domain.stored_policy import of_stored, to_stored
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import AlreadyExists, NotFound
from libs.store.tables import regions


def create_region(tx: Transaction, name: str, policy: RegionPolicy, *, now: datetime) -> int:
    """Create a region without servers, and return its id. Raises AlreadyExists if the region exists, or if another
    transaction is creating it.
    """
    statement = insert(regions).values(name=name, policy=to_stored(policy), created_at=now).on_conflict_do_nothing()
    region_id: int | None = tx.execute(statement.returning(regions.c.region_id)).scalar_one_or_none()
    if region_id is None:
        raise AlreadyExists("region", name)
    return region_id


def load_region(tx: Transaction, name: str, *, lock: bool = False) -> Region:
    """Return one region. With `lock`, no other transaction can change the region until this transaction ends. Raises
    NotFound.
    """
    query = sa.select(regions).where(regions.c.name == name)
    row = tx.execute(query.with_for_update(key_share=True) if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound("region", name)
    return region_of(row)


def load_region_names(tx: Transaction) -> frozenset[str]:
    """Return the names of all regions."""
    return frozenset(tx.execute(sa.select(regions.c.name)).scalars())


def list_regions(tx: Transaction, *, after: int | None = None, limit: int = 100) -> Page[Region]:
    """Return a page of regions in order of id. `after` is the last id of the page before."""
    query = sa.select(regions).where(regions.c.region_id > (after or 0)).order_by(regions.c.region_id).limit(limit + 1)
    found = [region_of(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda region: region.region_id)


def region_of(row: Mapping[Any, Any]) -> Region:
    """Return a row of the table regions as a Region."""
    policy, unknown = of_stored(row["policy"])
    return Region(
        region_id=row["region_id"],
        name=row["name"],
        policy=policy,
        target_plan_id=row["target_plan_id"],
        solve_every_s=row["solve_every_s"],
        generation=row["generation"],
        created_at=row["created_at"],
        unknown_prices=unknown,
    )

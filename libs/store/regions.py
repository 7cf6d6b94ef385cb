"""Regions: their policies, and the plans that head the lineages of their targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.page import Page
from libs.domain.policy import RegionPolicy
from libs.domain.region import Region
from libs.reconcile.errors import StaleGeneration
from libs.store import audit
from libs.store.approvals import supersede_of_policy
from libs.store.database import Transaction
from libs.store.refusals import AlreadyExists, NotFound
from libs.store.tables import regions


def create_region(tx: Transaction, name: str, policy: RegionPolicy, *, now: datetime) -> int:
    """Create a region without servers and return its id. Raises AlreadyExists, also if one is being created now."""
    statement = insert(regions).values(name=name, policy=asdict(policy), created_at=now).on_conflict_do_nothing()
    region_id: int | None = tx.execute(statement.returning(regions.c.region_id)).scalar_one_or_none()
    if region_id is None:
        raise AlreadyExists("region", name)
    return region_id


def load_region(tx: Transaction, name: str, *, lock: bool = False) -> Region:
    """Return one region. With `lock`, no other transaction changes it until this one ends. Raises NotFound."""
    query = sa.select(regions).where(regions.c.name == name)
    row = tx.execute(query.with_for_update(key_share=True) if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound("region", name)
    return _region(row)


def list_regions(tx: Transaction, *, after: int | None = None, limit: int = 100) -> Page[Region]:
    """Return a page of regions by id; `after` is the id that the last page ended with."""
    query = sa.select(regions).where(regions.c.region_id > (after or 0)).order_by(regions.c.region_id).limit(limit + 1)
    found = [_region(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda region: region.region_id)


def update_policy(
    tx: Transaction,
    name: str,
    policy: RegionPolicy,
    *,
    generation: int,
    actor: str,
    now: datetime,
    reason: str | None = None,
) -> Region:
    """Set the policy of a region. Supersede a pending change of it, which starts from the policy before.

    Raises NotFound, and StaleGeneration unless it is at `generation`.
    """
    before = load_region(tx, name, lock=True)
    if before.generation != generation:
        raise StaleGeneration("region", name, expected=generation, found=before.generation)
    if policy == before.policy:
        return before
    update = sa.update(regions).where(regions.c.region_id == before.region_id).values(policy=asdict(policy))
    after = _region(tx.execute(update.returning(regions)).mappings().one())
    audit.append(
        tx,
        actor=actor,
        action="update_policy",
        subject_kind="region",
        subject_id=after.region_id,
        now=now,
        before=asdict(before.policy),
        after=asdict(policy),
        reason=reason,
    )
    supersede_of_policy(tx, after.region_id, decided_by=actor, reason="PolicyChanged", now=now)
    return after


def _region(row: Mapping[Any, Any]) -> Region:
    return Region(
        region_id=row["region_id"],
        name=row["name"],
        policy=RegionPolicy(**row["policy"]),
        target_plan_id=row["target_plan_id"],
        solve_every_s=row["solve_every_s"],
        generation=row["generation"],
        created_at=row["created_at"],
    )

"""Regions: their policy, and the plan that heads the lineage of their targets."""

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
    """Add a region without servers and return its id. Raises AlreadyExists, also for one that is being added now."""
    statement = insert(regions).values(name=name, policy=asdict(policy), created_at=now).on_conflict_do_nothing()
    region_id: int | None = tx.execute(statement.returning(regions.c.region_id)).scalar_one_or_none()
    if region_id is None:
        raise AlreadyExists("region", name)
    return region_id


def load_region(tx: Transaction, name: str, *, lock: bool = False) -> Region:
    """One region by name; with `lock` nobody else changes it until the transaction ends. Raises NotFound."""
    query = sa.select(regions).where(regions.c.name == name)
    row = tx.execute(query.with_for_update(key_share=True) if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound("region", name)
    return _region(row)


def list_regions(tx: Transaction, *, after: int | None = None, limit: int = 100) -> Page[Region]:
    """Regions in the order in which they came; `after` is the region_id that the page starts behind."""
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
    """Set the policy of a region. A change of it that waits for an approval is superseded: it rests on what was.

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

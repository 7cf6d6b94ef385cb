"""Policies of regions, changed by compare-and-swap."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import sqlalchemy as sa

from libs.domain.policy import RegionPolicy
from libs.domain.region import Region
from libs.domain.stored_policy import to_stored
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approvals import supersede_of_policy
from libs.store.capacity.shared_buffers import delete_shared_buffers
from libs.store.fleet.regions import load_region, region_of
from libs.store.plans.plans import commit_release
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.regions.rollout_stages import supersede_rollout
from libs.store.tables import regions


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
    """Set the policy of a region. Supersede a pending change and an open roll-out, because they start from the policy
    before.

    A shared_buffer_share that falls to 0 switches the shared buffers off: they are deleted, and their servers free.
    Fields that this version does not know stay as they are. Raises NotFound, and StaleGeneration unless the region is
    at `generation`.
    """
    before = load_region(tx, name, lock=True)
    if before.generation != generation:
        raise StaleGeneration("region", name, expected=generation, found=before.generation)
    if policy == before.policy:
        return before
    update = (
        sa.update(regions)
        .where(regions.c.region_id == before.region_id)
        .values(policy=to_stored(policy, before.unknown_prices))
    )
    after = region_of(tx.execute(update.returning(regions)).mappings().one())
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
    if before.policy.shared_buffer_share > 0 and policy.shared_buffer_share == 0:
        for reservation_id in delete_shared_buffers(tx, after.region_id, now=now):
            commit_release(tx, name, reservation_id, now=now)
    supersede_of_policy(tx, after.region_id, decided_by=actor, reason="PolicyChanged", now=now)
    supersede_rollout(tx, after, actor=actor, now=now)
    return after

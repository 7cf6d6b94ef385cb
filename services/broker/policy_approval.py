"""Hold a change of a region's policy for approval: of the shared buffers, because they take servers from all owners,
and of any price, if the region's approval limits say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind, ApprovalLimits, Cause
from libs.domain.policy import RegionPolicy
from libs.domain.policy_rollout import ended_by_policy
from libs.domain.region import Region
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approvals import ask_for_approval, supersede_of_policy
from libs.store.fleet.policy_rollouts import load_latest_rollout
from libs.store.platform.database import Transaction


def fields_that_wait(before: RegionPolicy, after: RegionPolicy, limits: ApprovalLimits) -> list[str]:
    """Return the changed fields that need an approval: the share of the shared buffers, or all if the limits say so."""
    was, now = asdict(before), asdict(after)
    return [name for name in now if now[name] != was[name] and (limits.policy_prices or name == "shared_buffer_share")]


def ask_for_policy(
    tx: Transaction,
    region: Region,
    change: Mapping[str, object],
    waiting: Sequence[str],
    *,
    generation: int,
    actor: str,
    reason: str | None,
    now: datetime,
) -> Approval:
    """Record the change as an approval, and supersede one that waits already.

    waiting   the fields of the change that need the approval

    The caller has locked `region`. Raises StaleGeneration.
    """
    if region.generation != generation:
        raise StaleGeneration("region", region.name, expected=generation, found=region.generation)
    supersede_of_policy(tx, region.region_id, decided_by=actor, reason="AskedAnew", now=now)
    now_so = asdict(region.policy)
    before = {name: now_so[name] for name in change}
    return ask_for_approval(
        tx,
        region.region_id,
        action="ask_for_policy",
        kind=ApprovalKind.REGION_POLICY,
        causes=[
            *(_cause(name, before[name], change[name]) for name in waiting),
            *ended_by_policy(load_latest_rollout(tx, region.region_id)),
        ],
        change=change,
        before=before,
        actor=actor,
        reason=reason,
        now=now,
    )


def _cause(name: str, before: float, asked: object) -> Cause:
    """Return the cause that one changed field is. A switch has 1 for True."""
    assert isinstance(asked, float | int)
    numbers = {name: float(before), f"asked_{name}": float(asked)}
    if name == "shared_buffer_share":
        message = f"the shared buffers would hold {asked:g} of each hardware type instead of {before:g}"
        return Cause(reason="SharedBufferSize", message=message, numbers=numbers)
    return Cause(reason="PolicyPrice", message=f"{name} would be {asked:g} instead of {before:g}", numbers=numbers)

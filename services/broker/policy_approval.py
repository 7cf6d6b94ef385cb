"""Hold a change of a region's shared buffers for approval, because the buffers take servers from all owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind, Cause
from libs.domain.region import Region
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approvals import ask_for_approval, supersede_of_policy
from libs.store.platform.database import Transaction


def ask_for_policy(
    tx: Transaction,
    region: Region,
    change: Mapping[str, object],
    *,
    generation: int,
    actor: str,
    reason: str | None,
    now: datetime,
) -> Approval:
    """Record the change as an approval, and supersede one that waits already.

    The caller has locked `region`. Raises StaleGeneration.
    """
    if region.generation != generation:
        raise StaleGeneration("region", region.name, expected=generation, found=region.generation)
    supersede_of_policy(tx, region.region_id, decided_by=actor, reason="AskedAnew", now=now)
    now_so = asdict(region.policy)
    share, asked = now_so["shared_buffer_share"], change["shared_buffer_share"]
    assert isinstance(asked, float)
    before = {name: now_so[name] for name in change}
    return ask_for_approval(
        tx,
        region.region_id,
        action="ask_for_policy",
        kind=ApprovalKind.REGION_POLICY,
        causes=[
            Cause(
                reason="SharedBufferSize",
                message=f"the shared buffers would hold {asked:g} of each hardware type instead of {share:g}",
                numbers={"shared_buffer_share": share, "asked_shared_buffer_share": asked},
            )
        ],
        change=change,
        before=before,
        actor=actor,
        reason=reason,
        now=now,
    )

"""Advance the roll-out of a policy by way of an approval, and take it back at once (docs/designs/0053)."""

from __future__ import annotations

from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind, Cause
from libs.domain.canary import chosen
from libs.domain.policy_rollout import (
    PolicyRollout,
    RolloutStage,
    refusal_to_advance,
    refusal_to_resume,
    refusal_to_take_back,
)
from libs.domain.region import Region
from libs.domain.stored_policy import changed
from libs.store.capacity.approvals import ask_for_approval, supersede_of_policy
from libs.store.fleet.snapshot import load_row_names
from libs.store.plans.policy_comparisons import count_comparisons
from libs.store.platform.database import Transaction
from libs.store.regions.region_policies import update_policy
from libs.store.regions.rollout_stages import enter_stage, resume_rollout
from libs.web.problems import Problem


def ask_to_advance(
    tx: Transaction,
    region: Region,
    rollout: PolicyRollout,
    share: float | None,
    *,
    actor: str,
    reason: str,
    now: datetime,
) -> Approval:
    """Record the next stage as an approval, and supersede a change of the policy that waits already.

    share   of the reservations in the canary; None: all of them

    The caller has locked the region and the roll-out. Raises Problem (409) if the roll-out cannot advance.
    """
    names = load_row_names(tx, region.region_id)
    refusal = refusal_to_advance(rollout, share, count_comparisons(tx, rollout), names)
    if refusal is not None:
        raise Problem(409, "wrong_phase", refusal)
    supersede_of_policy(tx, region.region_id, decided_by=actor, reason="AskedAnew", now=now)
    stage = RolloutStage.ALL if share is None else RolloutStage.CANARY
    to = "all reservations"
    if share is not None:
        has = int(chosen(names, share=share, salt=rollout.salt).sum())
        to = f"a share of {share:g} of the reservations, {has} of {len(names)} now"
    whole = rollout.only_at_all
    later = f"; {', '.join(whole)} would change for the whole region" if whole and share is None else ""
    return ask_for_approval(
        tx,
        region.region_id,
        action="ask_to_advance",
        kind=ApprovalKind.REGION_POLICY,
        causes=[
            Cause(
                reason="PolicyRollout",
                message=f"the prices of roll-out {rollout.policy_rollout_id} would apply to {to}{later}",
                numbers={} if share is None else {"share": share},
            )
        ],
        change={
            **rollout.change,
            "rollout": {
                "policy_rollout_id": rollout.policy_rollout_id,
                "generation": rollout.generation,
                "stage": stage.value,
                "share": share,
            },
        },
        before=dict(rollout.before),
        actor=actor,
        reason=reason,
        now=now,
    )


def accept_findings(
    tx: Transaction, region: Region, rollout: PolicyRollout, *, actor: str, reason: str, now: datetime
) -> PolicyRollout:
    """Accept the findings that hold the roll-out. The caller has locked the region and the roll-out.

    Raises Problem (409) if it is not held.
    """
    refusal = refusal_to_resume(rollout)
    if refusal is not None:
        raise Problem(409, "wrong_phase", refusal)
    generation = rollout.generation
    return resume_rollout(tx, region, rollout, generation=generation, actor=actor, reason=reason, now=now)


def take_back(
    tx: Transaction, region: Region, rollout: PolicyRollout, *, actor: str, reason: str, now: datetime
) -> PolicyRollout:
    """Return to the policy from before the roll-out. The caller has locked the region and the roll-out.

    A way back waits for no approval. Raises Problem (409) if the roll-out is over, or if the policy was changed since.
    """
    refusal = refusal_to_take_back(rollout, region.policy)
    if refusal is not None:
        raise Problem(409, "wrong_phase", refusal)
    of, why = rollout.policy_rollout_id, "RolloutTakenBack"
    supersede_of_policy(tx, region.region_id, policy_rollout_id=of, decided_by=actor, reason=why, now=now)
    back = enter_stage(
        tx,
        region,
        rollout,
        RolloutStage.BACK,
        generation=rollout.generation,
        actor=actor,
        reason=reason,
        now=now,
    )
    if rollout.stage is RolloutStage.ALL:
        policy = changed(region.name, region.policy, rollout.before)
        update_policy(tx, region.name, policy, generation=region.generation, actor=actor, reason=reason, now=now)
    return back

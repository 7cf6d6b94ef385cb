"""Bring the roll-out of a policy into the stage that was approved."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from libs.domain.approval import Approval
from libs.domain.policy_rollout import RolloutStage
from libs.domain.region import Region
from libs.store.fleet.policy_rollouts import load_rollout
from libs.store.platform.database import Transaction
from libs.store.regions.region_policies import update_policy
from libs.store.regions.rollout_stages import enter_stage
from libs.web.problems import Problem

ROLLOUT = "rollout"
"""The field of an approval's change that names the stage of a roll-out. Any other change of a policy lacks it."""


def advance_approved(
    tx: Transaction, region: Region, approval: Approval, *, actor: str, reason: str, now: datetime
) -> None:
    """Enter the approved stage. In the stage `all`, the new policy becomes the region's.

    The caller has locked the region. Raises Problem (409) if the roll-out was held or has moved on since.
    """
    asked = cast(Mapping[str, Any], approval.change[ROLLOUT])
    rollout = load_rollout(tx, asked["policy_rollout_id"], lock=True)
    if rollout.generation != asked["generation"]:
        state = "is held" if rollout.held else f"is in the stage {rollout.stage}"
        detail = (
            f"Roll-out {rollout.policy_rollout_id} has changed since this was asked, and {state}: reject this, and "
            "look at the roll-out before you advance it again."
        )
        raise Problem(409, "wrong_phase", detail)
    stage = RolloutStage(asked["stage"])
    enter_stage(
        tx,
        region,
        rollout,
        stage,
        generation=rollout.generation,
        share=asked["share"],
        actor=actor,
        reason=reason,
        now=now,
    )
    if stage is RolloutStage.ALL:
        policy = rollout.new_policy(region.policy)
        update_policy(tx, region.name, policy, generation=region.generation, actor=actor, reason=reason, now=now)

"""Changes of the roll-outs of policies: each compares and swaps the generation, and tells the region's condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.policy_rollout import (
    OPEN,
    Finding,
    PolicyRollout,
    RolloutStage,
    condition_of,
    ended_by_policy,
)
from libs.domain.region import Region
from libs.domain.region_condition import RegionConditionType
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approvals import note_ended_rollout
from libs.store.fleet.policy_rollouts import load_latest_rollout, load_rollout
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import AlreadyExists
from libs.store.regions.region_conditions import set_condition
from libs.store.tables import policy_rollouts

_table = policy_rollouts
_SUBJECT = "policy_rollout"


def create_rollout(
    tx: Transaction,
    region: Region,
    change: Mapping[str, float | bool],
    *,
    actor: str,
    reason: str,
    now: datetime,
) -> PolicyRollout:
    """Start a roll-out in the stage `shadow`. The caller has locked the region. Raises AlreadyExists if one is open."""
    values = {
        "region_id": region.region_id,
        "stage": RolloutStage.SHADOW,
        "change": dict(change),
        "before": {name: getattr(region.policy, name) for name in change},
        "held": [],
        "started_by": actor,
        "reason": reason,
        "created_at": now,
        "stage_at": now,
    }
    new = insert(_table).values(values).on_conflict_do_nothing().returning(_table.c.policy_rollout_id)
    new_id = tx.execute(new).scalar_one_or_none()
    if new_id is None:
        todo = f"advance it, or take it back first with `plimsoll rollout back {region.name}`"
        raise AlreadyExists("roll-out of a policy in the region", region.name, todo)
    rollout = load_rollout(tx, new_id)
    after = {"region": region.name, "change": dict(change)}
    _record(tx, rollout, "start", actor=actor, reason=reason, now=now, before=rollout.before, after=after)
    _tell(tx, region.region_id, rollout, now)
    return rollout


def enter_stage(
    tx: Transaction,
    region: Region,
    rollout: PolicyRollout,
    stage: RolloutStage,
    *,
    generation: int,
    share: float | None = None,
    actor: str,
    reason: str | None,
    now: datetime,
) -> PolicyRollout:
    """Bring a roll-out into another stage, which nothing holds yet.

    share  the share of the canary; None: as it was

    Raises StaleGeneration unless the roll-out is at `generation`.
    """
    values: dict[str, Any] = {"stage": stage, "held": [], "stage_at": now}
    if share is not None:
        values["share"] = share
    if stage is RolloutStage.CANARY and rollout.canary_at is None:
        values["canary_at"] = now
    after = _swap(tx, rollout, generation, values)
    told = {name: getattr(rollout, name) for name in ("stage", "share")}
    changed = {name: getattr(after, name) for name in ("stage", "share")}
    _record(tx, rollout, stage.value, actor=actor, reason=reason, now=now, before=told, after=changed)
    _tell(tx, region.region_id, after, now)
    return after


def resume_rollout(
    tx: Transaction,
    region: Region,
    rollout: PolicyRollout,
    *,
    generation: int,
    actor: str,
    reason: str,
    now: datetime,
) -> PolicyRollout:
    """Accept the findings that hold a roll-out. Raises StaleGeneration unless the roll-out is at `generation`."""
    after = _swap(tx, rollout, generation, {"held": []})
    held = {"held": [asdict(one) for one in rollout.held]}
    _record(tx, rollout, "resume", actor=actor, reason=reason, now=now, before=held, after={"held": []})
    _tell(tx, region.region_id, after, now)
    return after


def hold_rollout(
    tx: Transaction, region_id: int, rollout: PolicyRollout, findings: Sequence[Finding], now: datetime
) -> None:
    """Hold a roll-out because of `findings`. The caller has locked it."""
    after = _swap(tx, rollout, rollout.generation, {"held": [asdict(one) for one in findings]})
    _tell(tx, region_id, after, now)


def supersede_rollout(tx: Transaction, region: Region, *, actor: str, now: datetime) -> None:
    """End the region's open roll-out, if there is one, because the policy that it starts from has changed."""
    rollout = load_latest_rollout(tx, region.region_id)
    if rollout is not None and rollout.stage in OPEN:
        rollout = load_rollout(tx, rollout.policy_rollout_id, lock=True)
        stage, why = RolloutStage.SUPERSEDED, "the policy was changed otherwise"
        enter_stage(tx, region, rollout, stage, generation=rollout.generation, actor=actor, reason=why, now=now)


def _swap(tx: Transaction, rollout: PolicyRollout, generation: int, values: Mapping[str, Any]) -> PolicyRollout:
    key = sa.and_(_table.c.policy_rollout_id == rollout.policy_rollout_id, _table.c.generation == generation)
    if tx.execute(sa.update(_table).where(key).values(values)).rowcount == 0:
        found = load_rollout(tx, rollout.policy_rollout_id).generation
        raise StaleGeneration("roll-out", rollout.policy_rollout_id, expected=generation, found=found)
    return load_rollout(tx, rollout.policy_rollout_id)


def _tell(tx: Transaction, region_id: int, rollout: PolicyRollout, now: datetime) -> None:
    """Tell the region's operators of the roll-out by its condition, and those who decide on another policy."""
    note_ended_rollout(tx, region_id, ended_by_policy(rollout))
    told = condition_of(rollout)
    set_condition(
        tx,
        region_id,
        RegionConditionType.POLICY_ROLLOUT,
        told.status,
        reason=told.reason,
        message=told.message,
        numbers=told.numbers,
        now=now,
    )


def _record(
    tx: Transaction,
    rollout: PolicyRollout,
    action: str,
    *,
    actor: str,
    reason: str | None,
    now: datetime,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> None:
    audit.append(
        tx,
        actor=actor,
        action=action,
        subject_kind=_SUBJECT,
        subject_id=rollout.policy_rollout_id,
        now=now,
        before=before,
        after=after,
        reason=reason,
    )

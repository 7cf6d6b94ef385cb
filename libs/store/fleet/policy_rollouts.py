"""Roll-outs of policies, each with its generation, and the condition that it gives its region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.canary import Canary
from libs.domain.page import Page
from libs.domain.policy_rollout import OPEN, Finding, PolicyRollout, RolloutStage, condition_of
from libs.domain.region import Region
from libs.domain.region_condition import RegionConditionType
from libs.reconcile.errors import StaleGeneration
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import AlreadyExists, NotFound
from libs.store.regions.region_conditions import set_condition
from libs.store.tables import policy_rollouts, regions

_table = policy_rollouts
_SELECT = sa.select(_table, regions.c.name.label("region")).join(regions, regions.c.region_id == _table.c.region_id)
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
        raise AlreadyExists("roll-out of a policy in the region", region.name)
    rollout = load_rollout(tx, new_id)
    after = {"region": region.name, "change": dict(change)}
    _record(tx, rollout, "start", actor=actor, reason=reason, now=now, before=rollout.before, after=after)
    _tell(tx, region.region_id, rollout, now)
    return rollout


def load_rollout(tx: Transaction, policy_rollout_id: int, *, lock: bool = False) -> PolicyRollout:
    """Return one roll-out. With `lock`, nothing else changes it until this transaction ends. Raises NotFound."""
    query = _SELECT.where(_table.c.policy_rollout_id == policy_rollout_id)
    row = tx.execute(query.with_for_update(of=_table) if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound("roll-out", policy_rollout_id)
    return _rollout(row)


def load_latest_rollout(tx: Transaction, region_id: int) -> PolicyRollout | None:
    """Return the latest roll-out of a region, in any stage; None if there was none."""
    query = _SELECT.where(_table.c.region_id == region_id).order_by(_table.c.policy_rollout_id.desc()).limit(1)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _rollout(row)


def list_rollouts(
    tx: Transaction, region_id: int, *, before: int | None = None, limit: int = 100
) -> Page[PolicyRollout]:
    """Return a page of a region's roll-outs, latest first. `before` is the last id of the page before."""
    query = _SELECT.where(_table.c.region_id == region_id).order_by(_table.c.policy_rollout_id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(_table.c.policy_rollout_id < before)
    found = [_rollout(row) for row in tx.execute(query).mappings()]
    return Page.of(found, limit, lambda rollout: rollout.policy_rollout_id)


def has_open_rollout(tx: Transaction, region: str) -> bool:
    """Return whether a roll-out of the region has shadow solves: it is in an early stage, and nothing holds it."""
    query = _SELECT.where(regions.c.name == region, _table.c.stage.in_(OPEN))
    row = tx.execute(query).mappings().one_or_none()
    return row is not None and not _rollout(row).held


def load_canary(tx: Transaction, region: Region) -> Canary | None:
    """Return the canary of the region's open roll-out; None unless one is in the stage `canary`."""
    query = _SELECT.where(_table.c.region_id == region.region_id, _table.c.stage == RolloutStage.CANARY)
    row = tx.execute(query).mappings().one_or_none()
    return None if row is None else _rollout(row).canary_of(region.policy)


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


def _rollout(row: sa.RowMapping) -> PolicyRollout:
    fields = {name: row[name] for name in PolicyRollout.__dataclass_fields__}
    return PolicyRollout(
        **fields | {"stage": RolloutStage(row["stage"]), "held": tuple(Finding(**one) for one in row["held"])}
    )

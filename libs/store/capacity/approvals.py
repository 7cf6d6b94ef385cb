"""Approvals: pending, decided and superseded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

import sqlalchemy as sa

from libs.domain.approval import Approval, ApprovalKind, ApprovalStatus, Cause
from libs.domain.page import Page
from libs.domain.plan_execution import ExecutionState, RejectKind
from libs.domain.policy_rollout import ENDS_ROLLOUT
from libs.reconcile.errors import StaleGeneration
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound
from libs.store.tables import approvals, capacity_requests, plan_executions, regions

_table = approvals
_REGION = sa.func.coalesce(regions.c.name, _table.c.change["region"].as_string())
_OWNER = sa.func.coalesce(capacity_requests.c.owner, _table.c.for_owner)
_LATER = approvals.alias("later")
_SAME = {
    ApprovalKind.MAINTENANCE_OVERRIDE: "unavailability_event_id",
    ApprovalKind.RRU_CLASS: "workload_class",
}
"""Kind -> the field of a change that tells apart the subjects of a region. The other kinds have one subject in it."""
_SAME_SUBJECT = sa.and_(
    _LATER.c.region_id == _table.c.region_id,
    _LATER.c.kind == _table.c.kind,
    *(
        sa.or_(_table.c.kind != kind, _LATER.c.change[field].as_string() == _table.c.change[field].as_string())
        for kind, field in _SAME.items()
    ),
)
# A request is assessed again after its change. All else is asked for in the transaction that supersedes.
_SUCCESSOR = sa.case(
    (
        _table.c.status == ApprovalStatus.SUPERSEDED,
        sa.select(sa.func.min(_LATER.c.approval_id))
        .where(
            _LATER.c.approval_id > _table.c.approval_id,
            sa.or_(
                _LATER.c.capacity_request_id == _table.c.capacity_request_id,
                sa.and_(
                    _table.c.capacity_request_id.is_(None), _SAME_SUBJECT, _LATER.c.created_at == _table.c.decided_at
                ),
            ),
        )
        .correlate(_table)
        .scalar_subquery(),
    )
)
_SELECT = (
    sa.select(
        _table,
        _SUCCESSOR.label("superseded_by"),
        _REGION.label("region"),
        capacity_requests.c.reservation_name.label("reservation"),
        _OWNER.label("owner"),
        plan_executions.c.state.label("execution_state"),
    )
    .select_from(_table)
    .outerjoin(regions, regions.c.region_id == _table.c.region_id)
    .outerjoin(capacity_requests, capacity_requests.c.capacity_request_id == _table.c.capacity_request_id)
    .outerjoin(plan_executions, plan_executions.c.plan_execution_id == _table.c.plan_execution_id)
)


def create_approval(
    tx: Transaction,
    region_id: int,
    *,
    kind: ApprovalKind,
    capacity_request_id: int | None = None,
    causes: Sequence[Cause],
    change: Mapping[str, object],
    before: Mapping[str, object] | None,
    asked_by: Collection[str],
    given_reason: str | None,
    now: datetime,
) -> Approval:
    """Create a pending approval. The caller must first supersede any pending approval of the same subject."""
    values = {
        "region_id": region_id,
        "kind": kind,
        "capacity_request_id": capacity_request_id,
        "status": ApprovalStatus.PENDING,
        "causes": [asdict(cause) for cause in causes],
        "change": dict(change),
        "before": sa.null() if before is None else dict(before),
        "asked_by": sorted(set(asked_by)),
        "given_reason": given_reason,
        "created_at": now,
    }
    new_id = tx.execute(sa.insert(_table).values(values).returning(_table.c.approval_id)).scalar_one()
    return load_approval(tx, new_id)


def ask_for_approval(
    tx: Transaction,
    region_id: int,
    *,
    action: str,
    kind: ApprovalKind,
    causes: Sequence[Cause],
    change: Mapping[str, object],
    before: Mapping[str, object] | None,
    actor: str,
    reason: str | None,
    now: datetime,
) -> Approval:
    """Create a pending approval of a change to a region, with its audit entry, whose action is `action`.

    The caller must first supersede any pending approval of the same subject.
    """
    approval = create_approval(
        tx,
        region_id,
        kind=kind,
        causes=causes,
        change=change,
        before=before,
        asked_by=[actor],
        given_reason=reason,
        now=now,
    )
    audit.append(
        tx,
        actor=actor,
        action=action,
        subject_kind="region",
        subject_id=region_id,
        now=now,
        before=before,
        after={"approval_id": approval.approval_id, **change},
        reason=reason,
    )
    return approval


def load_approval(tx: Transaction, approval_id: int) -> Approval:
    """Return one approval. Raises NotFound."""
    row = tx.execute(_SELECT.where(_table.c.approval_id == approval_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("approval", approval_id)
    return _approval(row)


def list_approvals(
    tx: Transaction,
    *,
    region: str | None = None,
    status: ApprovalStatus | None = None,
    decided: bool | None = None,
    kind: ApprovalKind | None = None,
    owner: str | None = None,
    capacity_request_id: int | None = None,
    plan_execution_id: int | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Page[Approval]:
    """Return a page of approvals, latest first. `before` is the last id of the page before.

    decided   True: only those that a person decided; False: only the others; None: both
    """
    wanted = (
        (_REGION, region),
        (_OWNER, owner),
        (_table.c.status, status),
        (_table.c.kind, kind),
        (_table.c.capacity_request_id, capacity_request_id),
        (_table.c.plan_execution_id, plan_execution_id),
    )
    query = _SELECT.where(*(column == value for column, value in wanted if value is not None))
    if decided is not None:
        query = query.where(_table.c.decided_at.is_not(None) if decided else _table.c.decided_at.is_(None))
    if before is not None:
        query = query.where(_table.c.approval_id < before)
    rows = tx.execute(query.order_by(_table.c.approval_id.desc()).limit(limit + 1)).mappings()
    return Page.of([_approval(row) for row in rows], limit, lambda approval: approval.approval_id)


def is_approved(tx: Transaction, capacity_request_id: int) -> bool:
    """Return whether a person has approved the request, and the request has not changed since."""
    query = sa.select(_table.c.approval_id).where(
        _table.c.capacity_request_id == capacity_request_id, _table.c.status == ApprovalStatus.APPROVED
    )
    return tx.execute(query).first() is not None


def decide_approval(
    tx: Transaction,
    approval: Approval,
    status: ApprovalStatus,
    *,
    generation: int,
    decided_by: str,
    reason: str,
    now: datetime,
) -> Approval:
    """Record a person's decision on a pending approval.

    Raises StaleGeneration unless the stored approval is pending and at `generation`.
    """
    key = _table.c.approval_id == approval.approval_id
    values = {"status": status, "decided_by": decided_by, "decision_reason": reason, "decided_at": now}
    pending = sa.and_(_table.c.generation == generation, _table.c.status == ApprovalStatus.PENDING)
    if tx.execute(sa.update(_table).where(key, pending).values(values)).rowcount == 0:
        found = load_approval(tx, approval.approval_id).generation
        raise StaleGeneration("approval", approval.approval_id, expected=generation, found=found)
    return load_approval(tx, approval.approval_id)


def supersede_of_request(
    tx: Transaction, capacity_request_id: int, *, decided_by: str, reason: str, now: datetime
) -> None:
    """Supersede the pending and granted approvals of a request, because the request has changed."""
    _supersede(tx, _table.c.capacity_request_id == capacity_request_id, decided_by, reason, now)


def supersede_of_policy(
    tx: Transaction,
    region_id: int,
    *,
    policy_rollout_id: int | None = None,
    decided_by: str,
    reason: str,
    now: datetime,
) -> None:
    """Supersede the pending policy changes of a region, because the policy that they start from has changed.

    policy_rollout_id   only those that ask for a stage of this roll-out
    """
    waits = sa.and_(
        _table.c.region_id == region_id,
        _table.c.kind == ApprovalKind.REGION_POLICY,
        _table.c.status == ApprovalStatus.PENDING,
    )
    if policy_rollout_id is not None:
        asked = _table.c.change["rollout", "policy_rollout_id"].as_integer()
        waits = sa.and_(waits, asked == policy_rollout_id)
    _supersede(tx, waits, decided_by, reason, now)


def note_ended_rollout(tx: Transaction, region_id: int, ended: Sequence[Cause]) -> None:
    """Let the pending change of a region's policy name the roll-out that it would end. A stage of a roll-out ends none.

    ended   the causes of reason ENDS_ROLLOUT that hold from now on

    An approval that changes so has another generation: it must be read again before it can be decided.
    """
    query = _SELECT.where(
        _table.c.region_id == region_id,
        _table.c.kind == ApprovalKind.REGION_POLICY,
        _table.c.status == ApprovalStatus.PENDING,
        _table.c.change["rollout"].is_(None),
    )
    for approval in [_approval(row) for row in tx.execute(query).mappings()]:
        causes = [*(cause for cause in approval.causes if cause.reason != ENDS_ROLLOUT), *ended]
        if causes != list(approval.causes):
            key = _table.c.approval_id == approval.approval_id
            tx.execute(sa.update(_table).where(key).values(causes=[asdict(cause) for cause in causes]))


def supersede_of_event(tx: Transaction, event_id: int, *, decided_by: str, reason: str, now: datetime) -> None:
    """Supersede the pending approval of an override of maintenance, because the event has ended."""
    waits = sa.and_(
        _table.c.kind == ApprovalKind.MAINTENANCE_OVERRIDE,
        _table.c.status == ApprovalStatus.PENDING,
        _table.c.change["unavailability_event_id"].as_integer() == event_id,
    )
    _supersede(tx, waits, decided_by, reason, now)


def supersede_of_class(
    tx: Transaction, region_id: int, workload_class: str, *, decided_by: str, reason: str, now: datetime
) -> None:
    """Supersede the pending version of a class of the RRU catalogue, because another one was asked for."""
    waits = sa.and_(
        _table.c.region_id == region_id,
        _table.c.kind == ApprovalKind.RRU_CLASS,
        _table.c.status == ApprovalStatus.PENDING,
        _table.c.change["workload_class"].as_string() == workload_class,
    )
    _supersede(tx, waits, decided_by, reason, now)


def supersede_below_hold(tx: Transaction, region_id: int, *, decided_by: str, reason: str, now: datetime) -> None:
    """Supersede the pending or approved departures below *hold* of a region, because a newer plan needs others."""
    of_region = sa.and_(_table.c.region_id == region_id, _table.c.kind == ApprovalKind.BELOW_HOLD)
    _supersede(tx, of_region, decided_by, reason, now)


def _supersede(tx: Transaction, which: sa.ColumnElement[bool], decided_by: str, reason: str, now: datetime) -> None:
    values = {
        "status": ApprovalStatus.SUPERSEDED,
        "decided_by": decided_by,
        "decision_reason": reason,
        "decided_at": now,
    }
    open_ones = _table.c.status.in_((ApprovalStatus.PENDING, ApprovalStatus.APPROVED))
    tx.execute(sa.update(_table).where(which, open_ones).values(values))


def _approval(row: sa.RowMapping) -> Approval:
    fields = {name: row[name] for name in Approval.__dataclass_fields__}
    state, reject_kind = row["execution_state"], row["reject_kind"]
    return Approval(
        **fields
        | {
            "kind": ApprovalKind(row["kind"]),
            "execution_state": None if state is None else ExecutionState(state),
            "reject_kind": None if reject_kind is None else RejectKind(reject_kind),
            "status": ApprovalStatus(row["status"]),
            "causes": tuple(Cause(**cause) for cause in row["causes"]),
            "asked_by": tuple(row["asked_by"]),
        }
    )

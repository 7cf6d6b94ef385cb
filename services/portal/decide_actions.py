"""Decide on actions of placement plans that wait for approval, with the commands of their executions."""

from __future__ import annotations

from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind
from libs.domain.plan_execution import Command, CommandLevel, RecordedCommand, RejectKind, Verb
from libs.domain.principal import Principal, Role
from libs.executions.give_command import give_or_refuse
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.approvals import load_approval
from libs.store.executions.executions import load_execution
from libs.store.platform.database import Transaction
from libs.web.auth import require_owner, require_role
from libs.web.problems import Problem
from services.portal.decide_approvals import require_pending


def require_decider(principal: Principal, approval: Approval) -> None:
    """Check that a principal may decide: operators on everything, owners on actions of their services.

    Raises Problem (403).
    """
    if approval.kind is ApprovalKind.PLAN_ACTION and approval.owner is not None:
        require_owner(principal, approval.owner)
    else:
        require_role(principal, Role.OPERATOR)


def decide_action(
    tx: Transaction,
    approval: Approval,
    verb: Verb,
    *,
    generation: int,
    actor: str,
    reason: str,
    now: datetime,
    reject_kind: RejectKind | None = None,
    size: float | None = None,
) -> Approval:
    """Approve, reject, edit or take over an action, and return its approval afterwards.

    Raises NotFound, StaleGeneration, CommandRefused, and Problem (409) if the approval is about something else.
    """
    if approval.plan_execution_id is None:
        detail = f"Approval {approval.approval_id} is of kind {approval.kind}: it can only be approved or rejected."
        raise Problem(409, "wrong_phase", detail)
    load_execution(tx, approval.plan_execution_id, lock=True)
    found = require_pending(tx, approval.approval_id)  # under the lock: its action cannot change any more
    if found.generation != generation:
        raise StaleGeneration("approval", approval.approval_id, expected=generation, found=found.generation)
    asked = RecordedCommand(
        command=Command(level=CommandLevel.ACTION, verb=verb, subject=str(approval.change["action"]), size=size),
        actor=actor,
        given_at=now,
        reason=reason,
        reject_kind=reject_kind,
    )
    give_or_refuse(tx, approval.plan_execution_id, asked, now=now)
    return load_approval(tx, approval.approval_id)

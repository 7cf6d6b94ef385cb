"""Approvals of actions of a placement plan: what people read before they decide, and what became of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from libs.domain.approval import ApprovalStatus, Cause
from libs.domain.execution_plan import Action
from libs.domain.plan_execution import ActionState, Verb

DECISIONS = (Verb.APPROVE, Verb.REJECT, Verb.EDIT, Verb.TAKE_OVER)
"""The commands about an action that waits for approval which `/v1/approvals` takes."""
_MESSAGES = {
    "OwnerApproves": "the inputs say that a person approves changes of this service here",
    "LowConfidence": "the model of this service is not certain: its service model says why",
    "NotAutomated": "the inputs say that changes of this service here are not automated",
    "AboveCapacityMax": "growth takes the service here beyond the capacity_max that the inputs set",
}


def causes_of(action: Action) -> tuple[Cause, ...]:
    """Return why a person must approve the action."""
    return tuple(Cause(reason=one, message=_MESSAGES.get(one, one), numbers={}) for one in action.approval)


def change_of(action: Action, size: float) -> Mapping[str, object]:
    """Return the change that waits, as people read it. `size` is what the action leads to now."""
    names = ("action", "phase", "service", "region", "hardware_type", "before", "after", "lead_time_h")
    return {name: getattr(action, name) for name in names} | {"size": size}


def outcome_of(state: ActionState, verb: Verb | None) -> ApprovalStatus:
    """Return the status of the approval of an action that is in `state` now.

    verb   the command that led there; None: no person gave one
    """
    if state is ActionState.AWAITING_APPROVAL:
        return ApprovalStatus.PENDING
    if verb is Verb.APPROVE:
        return ApprovalStatus.APPROVED
    return ApprovalStatus.REJECTED if verb is Verb.REJECT else ApprovalStatus.SUPERSEDED

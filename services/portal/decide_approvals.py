"""Record a person's decision on an approval, and apply its effects in the same transaction."""

from __future__ import annotations

from datetime import datetime

from libs.domain.approval import Approval, ApprovalKind, ApprovalStatus
from libs.domain.capacity_request import CapacityRequest, CapacityRequestPhase
from libs.domain.second_person_rule import lacks_second_person
from libs.domain.stored_policy import changed
from libs.domain.unavailability import EventState
from libs.reconcile.jobs import ASSESS, MOVE
from libs.store.capacity.approval_limits import load_approval_limits
from libs.store.capacity.approvals import decide_approval, load_approval
from libs.store.capacity.capacity_requests import change_phase, load_capacity_request
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import load_event, lock_events, refresh_unavailability, settle_event
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.tokens import load_persons
from libs.store.regions.region_policies import update_policy
from libs.web.problems import Problem
from services.portal.advance_rollout import ROLLOUT, advance_approved
from services.portal.end_reservation import drop_scheduled_reservation
from services.portal.propose_rru import append_approved

_OF_REGION = (ApprovalKind.REGION_POLICY, ApprovalKind.RRU_CLASS)
"""Kinds of changes that lock the region before their approval, as those that ask for them do."""


def approve(tx: Transaction, approval_id: int, *, generation: int, actor: str, reason: str, now: datetime) -> Approval:
    """Approve a change. Assess an approved capacity request again, set an approved policy, or append an approved
    version of a class. Enter an approved stage of a roll-out, or let approved maintenance or moves begin.

    Raises NotFound, StaleGeneration, and Problem: 409 if the approval no longer waits, 403 if `actor` requested the
    change and the region demands a second person.
    """
    approval = require_pending(tx, approval_id)
    # Lock the region before the approval, as every change of the policy does.
    region = load_region(tx, approval.region, lock=approval.kind in _OF_REGION)
    _lock_events(tx, approval, region.region_id)
    asked_by, [person] = load_persons(tx, approval.asked_by), load_persons(tx, [actor])
    if lacks_second_person(load_approval_limits(tx, region.region_id), asked_by, person):
        detail = f"{person} asked for this; in {approval.region} another person must approve it."
        raise Problem(403, "four_eyes", detail, asked_by=list(approval.asked_by))
    decided = _decide(tx, approval, ApprovalStatus.APPROVED, generation=generation, actor=actor, reason=reason, now=now)
    if approval.kind is ApprovalKind.REGION_POLICY and ROLLOUT in approval.change:
        advance_approved(tx, region, approval, actor=actor, reason=reason, now=now)
    elif approval.kind is ApprovalKind.REGION_POLICY:
        # Any other change of the policy would have superseded this one. So the region is as it was read.
        policy = changed(region.name, region.policy, approval.change)
        update_policy(tx, region.name, policy, generation=region.generation, actor=actor, reason=reason, now=now)
    elif approval.kind is ApprovalKind.RRU_CLASS:
        append_approved(tx, region, approval, actor=actor, now=now)
    elif approval.kind is ApprovalKind.MAINTENANCE_OVERRIDE:
        _settle_maintenance(tx, approval, region.region_id, EventState.ALLOWED, actor=actor, now=now)
    elif approval.kind is ApprovalKind.BELOW_HOLD:
        enqueue(tx, MOVE, region.name)
    else:
        request = _request(tx, approval)
        change_phase(
            tx,
            request,
            CapacityRequestPhase.SUBMITTED,
            reason="Approved",
            message=f"{actor} approved it: {reason}. Waiting to be assessed again, which takes seconds.",
            numbers={},
            now=now,
        )
        enqueue(tx, ASSESS, str(request.capacity_request_id), lane=request.owner)
    return decided


def reject(tx: Transaction, approval_id: int, *, generation: int, actor: str, reason: str, now: datetime) -> Approval:
    """Reject a change. Reject a capacity request with the person's reason, keep the policy or the class, or refuse the
    maintenance.

    Raises NotFound, StaleGeneration, and Problem (409) if the approval no longer waits.
    """
    approval = require_pending(tx, approval_id)
    region_id = load_region(tx, approval.region).region_id
    _lock_events(tx, approval, region_id)
    decided = _decide(tx, approval, ApprovalStatus.REJECTED, generation=generation, actor=actor, reason=reason, now=now)
    if approval.kind is ApprovalKind.CAPACITY_REQUEST:
        request = _request(tx, approval)
        drop_scheduled_reservation(tx, request, actor=actor, reason=reason, now=now)
        change_phase(
            tx,
            request,
            CapacityRequestPhase.REJECTED,
            reason="ApprovalRejected",
            message=f"{actor} rejected it: {reason}",
            numbers=request.numbers,
            now=now,
        )
    elif approval.kind is ApprovalKind.MAINTENANCE_OVERRIDE:
        _settle_maintenance(tx, approval, region_id, EventState.REFUSED, actor=actor, now=now)
    return decided


def _lock_events(tx: Transaction, approval: Approval, region_id: int) -> None:
    """Lock the region's unavailability events, if the approval is for maintenance. Call this before the approval is
    locked: code that ends an event locks in the same order, so the two cannot deadlock.
    """
    if approval.kind is ApprovalKind.MAINTENANCE_OVERRIDE:
        lock_events(tx, region_id)


def _settle_maintenance(
    tx: Transaction, approval: Approval, region_id: int, state: EventState, *, actor: str, now: datetime
) -> None:
    """Set the maintenance event of an approved or rejected override to `state`, ALLOWED or REFUSED. The event is still
    open: when an event ends, its pending approval is superseded.
    """
    event_id = approval.change["unavailability_event_id"]
    assert isinstance(event_id, int)
    event = load_event(tx, event_id)
    settle_event(tx, event, state, event.answer, actor=actor, now=now)
    refresh_unavailability(tx, region_id, now=now)


def require_pending(tx: Transaction, approval_id: int) -> Approval:
    """Return an approval that waits. Raises NotFound, and Problem (409) if it no longer waits."""
    approval = load_approval(tx, approval_id)
    if approval.status is not ApprovalStatus.PENDING:
        by = f" by {approval.decided_by}" if approval.decided_by else ""
        said = f"Approval {approval_id} no longer waits: it was {approval.status}{by}."
        if approval.superseded_by is not None:
            said += f" Approval {approval.superseded_by} took its place."
        raise Problem(409, "wrong_phase", said, superseded_by=approval.superseded_by)
    return approval


def _request(tx: Transaction, approval: Approval) -> CapacityRequest:
    assert approval.capacity_request_id is not None
    return load_capacity_request(tx, approval.capacity_request_id)


def _decide(
    tx: Transaction,
    approval: Approval,
    status: ApprovalStatus,
    *,
    generation: int,
    actor: str,
    reason: str,
    now: datetime,
) -> Approval:
    decided = decide_approval(tx, approval, status, generation=generation, decided_by=actor, reason=reason, now=now)
    audit.append(
        tx,
        actor=actor,
        action="approve" if status is ApprovalStatus.APPROVED else "reject",
        subject_kind="approval",
        subject_id=approval.approval_id,
        now=now,
        before={"status": approval.status.value},
        after={
            "status": status.value,
            "capacity_request_id": approval.capacity_request_id,
            "change": dict(approval.change),
        },
        reason=reason,
    )
    return decided

"""Tell what an approval would take from others: from the reservations that exist, and from the requests that wait.
Each request that waits is judged without the approval, and after it.

See docs/designs/0057. Nothing is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from libs.domain.approval import ApprovalKind, ApprovalStatus
from libs.domain.capacity_request import CapacityRequest, CapacityRequestPhase
from libs.domain.fleet import FleetSnapshot
from libs.reconcile.clock import Clock
from libs.store.capacity.approvals import load_approval
from libs.store.capacity.capacity_requests import list_capacity_requests, load_capacity_request
from libs.store.capacity.shared_buffers import load_shared_buffer_ids
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from libs.web.problems import Problem
from libs.web.solving_slots import solving_slot
from services.portal.case import load_case, question_of_request
from services.portal.effect_on_present import EffectOnPresent, effect_on_present
from services.portal.judge import Case, Judgement, judge

OTHERS_MAX = 20
"""Most other requests that are judged. Each takes two admissions."""
_WORSE = {
    CapacityRequestPhase.GRANTED: 0,
    CapacityRequestPhase.SCHEDULED: 0,
    CapacityRequestPhase.DEGRADED: 1,
    CapacityRequestPhase.REJECTED: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectOnOther:
    """Another request that waits: what it would get if it were approved first, and if it were approved after."""

    request: CapacityRequest
    without: Judgement
    after: Judgement

    @property
    def is_lost(self) -> bool:
        """Return whether it would get less: rejected in place of accepted, or short in place of whole."""
        return _WORSE[self.after.phase] > _WORSE[self.without.phase]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalEffects:
    """The judgement of the own request of an approval, and its effect on others.

    present    the effect on the reservations that exist
    rebooked   reservations that begin later, and get other servers booked
    others     the other requests that wait; `more` says that some are left out
    """

    request: CapacityRequest
    own: Judgement
    present: EffectOnPresent
    rebooked: tuple[str, ...]
    others: tuple[EffectOnOther, ...]
    more: bool


def effects_of(database: Database, clock: Clock, approval_id: int, *, holder: int | str) -> ApprovalEffects:
    """Return the effects of approving a capacity request now.

    Raises NotFound, and Problem: 409 if the approval does not wait or is of another kind, 429 while too many answers
    of this size are computed.
    """
    now = clock.now()
    with solving_slot(holder):
        with database.snapshot() as tx:
            approval = load_approval(tx, approval_id)
            if approval.kind is not ApprovalKind.CAPACITY_REQUEST or approval.capacity_request_id is None:
                detail = f"Approval {approval_id} is of kind {approval.kind}; only approvals of capacity requests "
                raise Problem(409, "not_for_this", detail + "take capacity from other requests.")
            if approval.status is not ApprovalStatus.PENDING:
                raise Problem(409, "wrong_phase", f"Approval {approval_id} is {approval.status}: it waits no more.")
            request = load_capacity_request(tx, approval.capacity_request_id)
            own = replace(load_case(tx, question_of_request(request), now=now), approved=True)
            buffers = load_shared_buffer_ids(tx, load_region(tx, request.region).region_id)
            waiting = list_capacity_requests(
                tx, region=request.region, phase=CapacityRequestPhase.AWAITING_APPROVAL, limit=OTHERS_MAX + 1
            )
            others = [one for one in waiting.items if one.capacity_request_id != request.capacity_request_id]
            cases = [
                replace(load_case(tx, question_of_request(one), now=now, snapshot=own.snapshot), approved=True)
                for one in others[:OTHERS_MAX]
            ]
        judged = judge(own)
        after = _after(own, judged)
        found = tuple(
            EffectOnOther(
                request=one,
                without=judge(_with_quota(case, own, judged, is_counted=False)),
                after=judge(replace(_with_quota(case, own, judged, is_counted=True), snapshot=after)),
            )
            for one, case in zip(others, cases, strict=False)
        )
    name, types = own.asked.name, own.asked.spec.rru.keys()
    return ApprovalEffects(
        request=request,
        own=judged,
        present=effect_on_present(own.snapshot, after, name=name, types=types, buffers=buffers),
        rebooked=tuple(one.name for one in judged.rebooked),
        others=found,
        more=len(others) > OTHERS_MAX or waiting.next_cursor is not None,
    )


def _after(case: Case, judged: Judgement) -> FleetSnapshot:
    """Return the region with the reservation of the case and the targets that it gets."""
    if judged.plan is None or case.begins_later:
        return case.snapshot
    asked, _ = case.imagined()
    return replace(asked, servers=replace(asked.servers, target=judged.plan.target))


def _with_quota(case: Case, own: Case, judged: Judgement, *, is_counted: bool) -> Case:
    """Return the case with a quota in which what `own` adds is counted, or is not. Stored quotas count earlier requests
    only.
    """
    if case.question.owner != own.question.owner:
        return case
    first, second = own.question.capacity_request_id, case.question.capacity_request_id
    assert first is not None
    assert second is not None
    was_counted, added = first < second, max(0.0, judged.cost_units - own.quota.own_cost_units)
    change = (is_counted - was_counted) * added
    pending = max(0.0, case.quota.pending_cost_units + change)
    return replace(case, quota=replace(case.quota, pending_cost_units=pending))

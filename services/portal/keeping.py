"""Keep a submission as a capacity request; a delete is done at once, in the same transaction."""

from __future__ import annotations

from datetime import datetime

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.domain.job import MOVE
from libs.domain.principal import Principal
from libs.store import audit
from libs.store.capacity_requests import change_phase, create_capacity_request
from libs.store.database import Transaction
from libs.store.jobs import enqueue
from libs.store.plans import commit_release
from libs.store.reservations import delete_reservation
from services.portal.submissions import Submission


def keep(tx: Transaction, submission: Submission, *, principal: Principal, now: datetime) -> CapacityRequest:
    """The request: submitted, or granted already where it is a delete. Raises StaleGeneration."""
    reservation = submission.reservation
    request = create_capacity_request(
        tx,
        submission.region.region_id,
        kind=submission.kind,
        reservation_name=submission.name,
        reservation_id=None if reservation is None else reservation.reservation_id,
        reservation_generation=None if reservation is None else reservation.generation,
        owner=submission.owner,
        spec=submission.spec,
        requested_by=principal.name,
        message="Waiting to be assessed, which takes seconds: read this request again.",
        now=now,
    )
    audit.append(
        tx,
        actor=principal.name,
        action="submit",
        subject_kind="capacity_request",
        subject_id=request.capacity_request_id,
        now=now,
        after={"kind": submission.kind.value, "reservation": submission.name, "region": submission.region.name},
    )
    if submission.kind is CapacityRequestKind.DELETE:
        return _delete(tx, request, principal=principal, now=now)
    return request


def _delete(tx: Transaction, request: CapacityRequest, *, principal: Principal, now: datetime) -> CapacityRequest:
    assert request.reservation_id is not None
    assert request.reservation_generation is not None
    # In this order: a solve that would bind servers to it waits for the deletion, or is seen by the release.
    delete_reservation(tx, request.reservation_id, generation=request.reservation_generation, now=now)
    plan = commit_release(
        tx, request.region, request.reservation_id, now=now, capacity_request_id=request.capacity_request_id
    )
    if plan is not None:
        enqueue(tx, MOVE, request.region)
    released = 0 if plan is None else plan.changes
    audit.append(
        tx,
        actor=principal.name,
        action="delete",
        subject_kind="reservation",
        subject_id=request.reservation_id,
        now=now,
        after={"capacity_request_id": request.capacity_request_id, "released_servers": released},
    )
    return change_phase(
        tx,
        request,
        CapacityRequestPhase.GRANTED,
        reason="Deleted",
        message=f"{request.reservation_name} is deleted; the mover frees its {released} servers. Nothing is left to do",
        numbers={"released_servers": released},
        now=now,
    )

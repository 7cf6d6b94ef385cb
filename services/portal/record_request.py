"""Store a submission as a capacity request. A delete takes effect at once, in the same transaction."""

from __future__ import annotations

from datetime import datetime

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.store.capacity.capacity_requests import change_phase, create_capacity_request, spec_json
from libs.store.capacity.reservation_servers import count_in_use
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from services.portal.end_reservation import end_reservation, freed_words
from services.portal.submit_requests import Submission


def keep(
    tx: Transaction, submission: Submission, *, actor: str, given_reason: str | None, now: datetime
) -> CapacityRequest:
    """Return the stored request: submitted, or already granted for a delete. Raises StaleGeneration and HasGuests."""
    reservation, spec = submission.reservation, submission.spec
    request = create_capacity_request(
        tx,
        submission.region.region_id,
        kind=submission.kind,
        reservation_name=submission.name,
        reservation_id=None if reservation is None else reservation.reservation_id,
        reservation_generation=None if reservation is None else reservation.generation,
        owner=submission.owner,
        spec=spec,
        requested_by=actor,
        given_reason=given_reason,
        message="Waiting to be assessed, which takes seconds: read this request again.",
        now=now,
    )
    audit.append(
        tx,
        actor=actor,
        action="submit",
        subject_kind="capacity_request",
        subject_id=request.capacity_request_id,
        now=now,
        before=None if reservation is None else {"spec": spec_json(reservation.spec)},
        after={
            "kind": submission.kind.value,
            "reservation": submission.name,
            "region": submission.region.name,
            "spec": None if spec is None else spec_json(spec),
        },
        reason=given_reason,
    )
    if submission.kind is not CapacityRequestKind.DELETE:
        return request
    assert reservation is not None
    in_use = count_in_use(tx, reservation.reservation_id)
    released = end_reservation(tx, reservation, by=request, actor=actor, reason=given_reason, now=now)
    return change_phase(
        tx,
        request,
        CapacityRequestPhase.GRANTED,
        reason="Deleted",
        message=f"{request.reservation_name} is deleted: {freed_words(released, in_use)}.",
        numbers={"released_servers": released, "servers_in_use": in_use},
        now=now,
    )

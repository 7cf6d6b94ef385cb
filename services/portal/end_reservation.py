"""End a reservation: delete it, release its servers' targets, and close the requests behind it."""

from __future__ import annotations

from datetime import datetime

from libs.domain.capacity_request import CapacityRequest, CapacityRequestPhase
from libs.domain.reservation import Reservation
from libs.domain.words import counted
from libs.ras.findings import covered_finding
from libs.store.capacity.capacity_requests import change_phase, list_scheduled_requests, spec_json
from libs.store.capacity.findings import record_findings
from libs.store.capacity.reservations import delete_reservation, find_reservation, load_reservation
from libs.store.fleet.regions import load_region
from libs.store.plans.plans import commit_release
from libs.store.platform import audit
from libs.store.platform.database import Transaction


def freed_servers(reservation: Reservation) -> int:
    """Return the number of servers that a deletion frees. The servers of a guest are its host's, and stay with it."""
    return 0 if reservation.spec.guest_of is not None else reservation.target.servers


def freed_words(servers: int, in_use: int) -> str:
    """State how many servers a deletion frees, and how many of them still run containers."""
    using = f"{in_use} of them in use" if in_use else "none of them in use"
    return f"the mover frees its {counted(servers, 'server')}, {using}" if servers else "no server is freed"


def end_reservation(
    tx: Transaction, reservation: Reservation, *, by: CapacityRequest, actor: str, reason: str | None, now: datetime
) -> int:
    """Delete a reservation for the request `by`, and release its targets. Return the number of freed servers.

    Raises StaleGeneration and HasGuests.
    """
    reservation_id = reservation.reservation_id
    # In this order: a solve that would bind servers to it waits for the deletion, or the release sees that solve.
    delete_reservation(tx, reservation_id, generation=reservation.generation, now=now)
    plan = commit_release(tx, reservation.region, reservation_id, now=now, capacity_request_id=by.capacity_request_id)
    if reservation.spec.guest_of is not None:
        _tell_host(tx, reservation.region, reservation.spec.guest_of, now=now)
    withdraw_scheduled_requests(tx, reservation_id, by=by, reason="Deleted", actor=actor, now=now)
    released = 0 if plan is None else plan.changes
    audit.append(
        tx,
        actor=actor,
        action="delete",
        subject_kind="reservation",
        subject_id=reservation_id,
        now=now,
        before={"name": reservation.name, "owner": reservation.owner, "spec": spec_json(reservation.spec)},
        after={"capacity_request_id": by.capacity_request_id, "released_servers": released},
        reason=reason,
    )
    return released


def _tell_host(tx: Transaction, region: str, name: str, *, now: datetime) -> None:
    """Record the finding of a host without its deleted guest, if the host lacks nothing any more.

    If it does, only a solve knows what it lacks, and so it is with the domains beyond those that it prefers. Its
    finding then stays at the generation before.
    """
    host = find_reservation(tx, region, name)
    if host is None or host.target.shortfall_rru > 0:
        return
    if any(limit.domains_preferred is not None for limit in host.spec.domain_limits):
        return
    found = covered_finding(host.reservation_id, host.generation, host.spec.capacity_rru, host.target)
    record_findings(tx, load_region(tx, region).region_id, [found], now=now)


def drop_scheduled_reservation(
    tx: Transaction, request: CapacityRequest, *, actor: str, reason: str, now: datetime
) -> None:
    """Delete the reservation of a request that was accepted for later and is now rejected.

    If another request has changed the reservation since, the reservation stays.
    """
    if not request.accepted or request.reservation_id is None:
        return
    reservation = load_reservation(tx, request.reservation_id)
    if (
        reservation.scheduled
        and reservation.deleted_at is None
        and reservation.generation == request.reservation_generation
    ):
        end_reservation(tx, reservation, by=request, actor=actor, reason=reason, now=now)


def withdraw_scheduled_requests(
    tx: Transaction, reservation_id: int, *, by: CapacityRequest, reason: str, actor: str, now: datetime
) -> None:
    """Close the requests that wait for the window of `reservation_id`, because the request `by` has overtaken them."""
    for request in list_scheduled_requests(tx, reservation_id):
        change_phase(
            tx,
            request,
            CapacityRequestPhase.WITHDRAWN,
            reason=reason,
            message=f"Overtaken before it began, by request {by.capacity_request_id}.",
            numbers={},
            now=now,
        )
        audit.append(
            tx,
            actor=actor,
            action="withdraw",
            subject_kind="capacity_request",
            subject_id=request.capacity_request_id,
            now=now,
            before={"phase": request.phase.value},
            after={"phase": CapacityRequestPhase.WITHDRAWN.value, "overtaken_by": by.capacity_request_id},
            reason=reason,
        )

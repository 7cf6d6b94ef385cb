"""`/v1/capacity-requests`: request, change or return capacity, and follow the decision."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from libs.domain.capacity_request import CapacityRequest, CapacityRequestPhase
from libs.domain.principal import Principal, Role
from libs.reconcile.errors import StaleGeneration
from libs.reconcile.jobs import ASSESS
from libs.store.capacity.approvals import supersede_of_request
from libs.store.capacity.capacity_requests import (
    UNDECIDED,
    amend_capacity_request,
    change_phase,
    list_capacity_requests,
    load_capacity_request,
    spec_json,
)
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import drop_queued, enqueue
from libs.web.auth import Asking, require, require_owner
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import Problem
from libs.web.reasons import ReasonQuery
from services.portal.api.capacity_request_in import CapacityRequestIn, CapacityRequestPatch, submission_of
from services.portal.api.capacity_request_out import CapacityRequestOut, request_out
from services.portal.api.dry_runs import answer_dry_run
from services.portal.record_request import keep
from services.portal.submit_requests import (
    Submission,
    check_amendment,
    require_few_undecided,
    require_region,
)

router = APIRouter(prefix="/v1/capacity-requests", tags=["capacity requests"])
_NOUN = "capacity-requests"
RequestId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the capacity request")]
DryRun = Annotated[bool, Query(description="Assess it against the region as it is, and change nothing: answers 200")]


def answer_submission(
    tx: Transaction,
    submission: Submission,
    *,
    given_reason: str | None,
    principal: Principal,
    context: WebContext,
    status_code: int,
) -> Answer:
    """Store the submission, queue its assessment, and answer with the request to poll.

    Raises Problem: 403 for another owner's reservation, 429 if the owner has too many undecided requests.
    """
    require_owner(principal, submission.owner)
    require_few_undecided(tx, submission)
    request = keep(tx, submission, actor=principal.name, given_reason=given_reason, now=context.clock.now())
    if request.phase is CapacityRequestPhase.SUBMITTED:
        enqueue(tx, ASSESS, str(request.capacity_request_id), lane=request.owner)
    location = {"Location": f"/v1/capacity-requests/{request.capacity_request_id}"}
    return Answer(status_code, request_out(request), etag(request.generation) | location)


@router.post(
    "",
    operation_id="create_capacity_request",
    status_code=201,
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={
        201: {"headers": headers("ETag", "Location"), "description": "Stored; a delete is done already"},
        200: {"model": CapacityRequestOut, "description": "The answer to a dry run"},
        **problems(409),
    },
)
def create_capacity_request(
    body: CapacityRequestIn, write: Write, principal: Asking, context: Context, dry_run: DryRun = False
) -> Response:
    """Request a new reservation, a change of one, or its end. Poll the Location of the answer for the decision."""
    if dry_run:
        with context.database.snapshot() as tx:
            submission = submission_of(tx, body, now=context.clock.now())
        return answer_dry_run(submission, principal=principal, context=context)

    def effect(tx: Transaction) -> Answer:
        submission = submission_of(tx, body, now=context.clock.now())
        return answer_submission(
            tx, submission, given_reason=body.reason, principal=principal, context=context, status_code=201
        )

    return write.once(effect)


@router.get("", operation_id="list_capacity_requests")
def get_capacity_requests(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    phase: Annotated[CapacityRequestPhase | None, Query(description="In this phase only")] = None,
    owner: Annotated[SomeName | None, Query(description="Of this owner only")] = None,
    reservation: Annotated[SomeName | None, Query(description="About the reservation with this name only")] = None,
) -> PageOf[CapacityRequestOut]:
    """List requests, latest first."""
    before = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        if region is not None:
            require_region(tx, region, location="query")
        page = list_capacity_requests(
            tx, region=region, phase=phase, owner=owner, reservation=reservation, before=before, limit=paging.limit
        )
    items = [request_out(request) for request in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{capacity_request_id}",
    operation_id="get_capacity_request",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_capacity_request(capacity_request_id: RequestId, context: Context, response: Response) -> CapacityRequestOut:
    """Return one request with its state."""
    with context.database.snapshot() as tx:
        request = load_capacity_request(tx, capacity_request_id)
    response.headers.update(etag(request.generation))
    return request_out(request)


@router.patch(
    "/{capacity_request_id}",
    operation_id="amend_capacity_request",
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={200: {"headers": headers("ETag"), "description": "Submitted again"}, **problems(404, 409)},
)
def amend_request(
    capacity_request_id: RequestId,
    body: CapacityRequestPatch,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """Amend an undecided request. It is assessed again, and an earlier approval no longer counts."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        before = _require_undecided(tx, capacity_request_id, principal, expected, "amended")
        if before.spec is None:
            raise Problem(409, "wrong_phase", "A delete has nothing to amend.")
        spec = body.spec.to_spec(before.spec)
        spec = check_amendment(tx, before, spec, now=now)
        supersede_of_request(tx, capacity_request_id, decided_by=principal.name, reason="Amended", now=now)
        message = f"Amended by {principal.name}, and waiting to be assessed: read this request again in a few seconds."
        reason = before.given_reason if body.reason is None else body.reason
        request = amend_capacity_request(
            tx, before, spec, given_reason=reason, amended_by=principal.name, message=message, now=now
        )
        enqueue(tx, ASSESS, str(capacity_request_id), lane=request.owner)
        _audit_change(tx, "amend", before, request, principal, body.reason, now)
        return Answer(200, request_out(request), etag(request.generation))

    return write.once(effect)


@router.delete(
    "/{capacity_request_id}",
    operation_id="withdraw_capacity_request",
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={200: {"headers": headers("ETag"), "description": "Withdrawn"}, **problems(404, 409)},
)
def withdraw_capacity_request(
    capacity_request_id: RequestId,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
    reason: ReasonQuery = None,
) -> Response:
    """Withdraw an undecided request."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        before = _require_undecided(tx, capacity_request_id, principal, expected, "withdrawn")
        supersede_of_request(tx, capacity_request_id, decided_by=principal.name, reason="Withdrawn", now=now)
        drop_queued(tx, ASSESS, str(capacity_request_id))
        request = change_phase(
            tx,
            before,
            CapacityRequestPhase.WITHDRAWN,
            reason="Withdrawn",
            message=f"Withdrawn by {principal.name} before it was decided. Ask again whenever you like.",
            numbers={},
            now=now,
        )
        _audit_change(tx, "withdraw", before, request, principal, reason, now)
        return Answer(200, request_out(request), etag(request.generation))

    return write.once(effect)


def _require_undecided(
    tx: Transaction, capacity_request_id: int, principal: Principal, expected: int, done: str
) -> CapacityRequest:
    """Return the request. Raises NotFound, StaleGeneration, and Problem: 403 for another owner's request, 409 for a
    decided one.
    """
    request = load_capacity_request(tx, capacity_request_id)
    require_owner(principal, request.owner)
    if request.accepted or request.phase is CapacityRequestPhase.SCHEDULED:
        detail = f"It was accepted for later: resize or delete {request.reservation_name} instead."
        raise Problem(409, "wrong_phase", detail)
    if request.phase not in UNDECIDED:
        detail = f"Only a request that is not decided yet can be {done}; this one is {request.phase}."
        raise Problem(409, "wrong_phase", detail)
    if request.generation != expected:
        raise StaleGeneration("capacity request", capacity_request_id, expected=expected, found=request.generation)
    return request


def _audit_change(
    tx: Transaction,
    action: str,
    before: CapacityRequest,
    after: CapacityRequest,
    principal: Principal,
    reason: str | None,
    now: datetime,
) -> None:
    audit.append(
        tx,
        actor=principal.name,
        action=action,
        subject_kind="capacity_request",
        subject_id=after.capacity_request_id,
        now=now,
        before=_told(before),
        after=_told(after),
        reason=reason,
    )


def _told(request: CapacityRequest) -> dict[str, object]:
    return {"phase": request.phase.value, "spec": None if request.spec is None else spec_json(request.spec)}

"""`/v1/capacity-requests`: ask for capacity, change it, return it, and see what became of that."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse
from pydantic import ConfigDict, Field

from libs.domain.capacity_request import CapacityRequest, CapacityRequestKind, CapacityRequestPhase
from libs.domain.principal import Principal, Role
from libs.reconcile.errors import StaleGeneration
from libs.store import audit
from libs.store.capacity_requests import UNASSESSED, change_phase, list_capacity_requests, load_capacity_request
from libs.store.database import Transaction
from libs.store.jobs import enqueue
from libs.web.auth import Asking, require
from libs.web.context import Context, WebContext
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Name, PageOf, RequestModel, ResponseModel, SomeName, Whole
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, Problem, invalid
from libs.web.specs import SpecIn, SpecOut
from services.portal.keeping import keep
from services.portal.preview import preview
from services.portal.reconcilers.capacity_requests_enqueue import ASSESS
from services.portal.submissions import (
    Submission,
    require_live,
    require_region,
    submit_create,
    submit_delete,
    submit_resize,
)

router = APIRouter(prefix="/v1/capacity-requests", tags=["capacity requests"])
_NOUN = "capacity-requests"
RequestId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the capacity request")]
DryRun = Annotated[bool, Query(description="Assess it against the region as it is, and change nothing: answers 200")]


_EXAMPLE: dict[str, Any] = {
    "kind": "create",
    "region": "west",
    "reservation": "web",
    "owner": "web-team",
    "spec": {"capacity_rru": 6, "rru": {"hw-a": 1, "hw-b": 1.5}, "msb_spread_limit": 0.5},
}


class CapacityRequestIn(RequestModel):
    """What is asked. A create needs owner and spec, a resize needs spec, a delete neither."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    kind: CapacityRequestKind
    region: SomeName
    reservation: Name = Field(description="Name of the reservation, unique among the region's live ones")
    owner: Name | None = Field(default=None, description="Who answers for it; for a create")
    spec: SpecIn | None = Field(default=None, description="What is wanted; for a create or a resize")
    reservation_generation: Annotated[Whole, Field(ge=1, le=ID_MAX)] | None = Field(
        default=None, description="For a resize or delete: the generation it rests on; left out, the present one"
    )


class CapacityRequestStatus(ResponseModel):
    """What became of it."""

    phase: CapacityRequestPhase
    reason: str = Field(description="Identifier to match on", examples=["Covered"])
    message: str = Field(description="For people: what is so, and what to do next")
    numbers: dict[str, object] = Field(description="The figures behind the message")
    changed_at: datetime | None


class CapacityRequestOut(ResponseModel):
    """One request; its id and times are null in the answer to a dry run."""

    capacity_request_id: int | None
    kind: CapacityRequestKind
    region: str
    reservation: str
    reservation_id: int | None
    reservation_generation: int | None
    owner: str
    spec: SpecOut | None
    status: CapacityRequestStatus
    requested_by: str
    generation: int | None
    created_at: datetime | None


def request_out(request: CapacityRequest) -> CapacityRequestOut:
    """As JSON has it."""
    return CapacityRequestOut(
        capacity_request_id=request.capacity_request_id,
        kind=request.kind,
        region=request.region,
        reservation=request.reservation_name,
        reservation_id=request.reservation_id,
        reservation_generation=request.reservation_generation,
        owner=request.owner,
        spec=None if request.spec is None else SpecOut.model_validate(request.spec),
        status=CapacityRequestStatus(
            phase=request.phase,
            reason=request.reason,
            message=request.message,
            numbers=dict(request.numbers),
            changed_at=request.changed_at,
        ),
        requested_by=request.requested_by,
        generation=request.generation,
        created_at=request.created_at,
    )


def answer_submission(
    tx: Transaction, submission: Submission, *, principal: Principal, context: WebContext, status_code: int
) -> Answer:
    """Keep it, queue its assessment, and answer with the request to poll."""
    request = keep(tx, submission, principal=principal, now=context.clock.now())
    if request.phase is CapacityRequestPhase.SUBMITTED:
        enqueue(tx, ASSESS, str(request.capacity_request_id))
    location = {"Location": f"/v1/capacity-requests/{request.capacity_request_id}"}
    return Answer(status_code, request_out(request), etag(request.generation) | location)


def dry_run_out(submission: Submission, *, principal: Principal, context: WebContext) -> CapacityRequestOut:
    """What would become of it."""
    phase, reason, message, numbers = preview(context.database, submission)
    reservation = submission.reservation
    return CapacityRequestOut(
        capacity_request_id=None,
        kind=submission.kind,
        region=submission.region.name,
        reservation=submission.name,
        reservation_id=None if reservation is None else reservation.reservation_id,
        reservation_generation=None if reservation is None else reservation.generation,
        owner=submission.owner,
        spec=None if submission.spec is None else SpecOut.model_validate(submission.spec),
        status=CapacityRequestStatus(phase=phase, reason=reason, message=message, numbers=numbers, changed_at=None),
        requested_by=principal.name,
        generation=None,
        created_at=None,
    )


@router.post(
    "",
    operation_id="create_capacity_request",
    status_code=201,
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={
        201: {"headers": headers("ETag", "Location"), "description": "Kept; a delete is done already"},
        200: {"model": CapacityRequestOut, "description": "The answer to a dry run"},
        **problems(409),
    },
)
def create_capacity_request(
    body: CapacityRequestIn, write: Write, principal: Asking, context: Context, dry_run: DryRun = False
) -> Response:
    """Ask for a reservation, for a change of one, or for its end. Poll the answer's Location for what becomes of it."""
    if dry_run:
        with context.database.snapshot() as tx:
            submission = _submission(tx, body)
        return JSONResponse(dry_run_out(submission, principal=principal, context=context).model_dump(mode="json"))

    def effect(tx: Transaction) -> Answer:
        return answer_submission(tx, _submission(tx, body), principal=principal, context=context, status_code=201)

    return write.once(effect)


@router.get("", operation_id="list_capacity_requests")
def get_capacity_requests(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    phase: Annotated[CapacityRequestPhase | None, Query(description="In this phase only")] = None,
    owner: Annotated[SomeName | None, Query(description="Of this owner only")] = None,
    reservation: Annotated[SomeName | None, Query(description="About the reservation of this name only")] = None,
) -> PageOf[CapacityRequestOut]:
    """Requests, the latest first."""
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
    """One request, and what became of it."""
    with context.database.snapshot() as tx:
        request = load_capacity_request(tx, capacity_request_id)
    response.headers.update(etag(request.generation))
    return request_out(request)


@router.delete(
    "/{capacity_request_id}",
    operation_id="withdraw_capacity_request",
    response_model=CapacityRequestOut,
    dependencies=[Depends(require(Role.REQUESTER))],
    responses={200: {"headers": headers("ETag"), "description": "Withdrawn"}, **problems(404, 409)},
)
def withdraw_capacity_request(
    capacity_request_id: RequestId, expected: ExpectedGeneration, write: Write, principal: Asking, context: Context
) -> Response:
    """Take a request back before it is decided."""

    def effect(tx: Transaction) -> Answer:
        request = load_capacity_request(tx, capacity_request_id)
        if request.phase not in UNASSESSED:
            detail = f"Only a request that is not decided yet can be withdrawn; this one is {request.phase}."
            raise Problem(409, "wrong_phase", detail)
        if request.generation != expected:
            raise StaleGeneration("capacity request", capacity_request_id, expected=expected, found=request.generation)
        now = context.clock.now()
        request = change_phase(
            tx,
            request,
            CapacityRequestPhase.WITHDRAWN,
            reason="Withdrawn",
            message=f"Withdrawn by {principal.name} before it was decided. Ask again whenever you like.",
            numbers={},
            now=now,
        )
        audit.append(
            tx,
            actor=principal.name,
            action="withdraw",
            subject_kind="capacity_request",
            subject_id=capacity_request_id,
            now=now,
        )
        return Answer(200, request_out(request), etag(request.generation))

    return write.once(effect)


def _submission(tx: Transaction, body: CapacityRequestIn) -> Submission:
    """Raises Problem where fields are missing for this kind, or do not belong to it."""
    create, delete = body.kind is CapacityRequestKind.CREATE, body.kind is CapacityRequestKind.DELETE
    errors = [
        _error(field, given, body.kind)
        for field, given, needed, allowed in (
            ("owner", body.owner is not None, create, create),
            ("spec", body.spec is not None, not delete, not delete),
            ("reservation_generation", body.reservation_generation is not None, False, not create),
        )
        if (needed and not given) or (given and not allowed)
    ]
    if errors:
        raise invalid(*errors)
    if create:
        assert body.owner is not None
        assert body.spec is not None
        return submit_create(tx, region=body.region, name=body.reservation, owner=body.owner, spec=body.spec.to_spec())
    reservation = require_live(tx, body.region, body.reservation)
    generation = body.reservation_generation or reservation.generation
    if delete:
        return submit_delete(tx, reservation, generation=generation)
    assert body.spec is not None
    return submit_resize(tx, reservation, body.spec.to_spec(reservation.spec), generation=generation)


def _error(field: str, given: bool, kind: CapacityRequestKind) -> FieldError:
    code, message = ("not_expected", "does not belong to") if given else ("missing", "is required for")
    return FieldError(field=field, location="body", code=code, message=f"{message} a {kind}")

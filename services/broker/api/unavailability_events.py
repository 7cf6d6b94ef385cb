"""`/v1/unavailability-events`: failures and maintenance, as health systems report them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.unavailability import EventState, Unavailability, UnavailabilityEvent
from libs.domain.words import moment
from libs.store.capacity.approvals import supersede_of_event
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import end_event, list_events, load_event, open_event
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.domain_kinds import PlaceKind, wrong_scope
from libs.web.generations import etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Moment, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.past import past_error
from libs.web.problems import FieldError, Problem, invalid
from libs.web.reasons import GivenReason
from services.broker.api.maintenance_out import MaintenanceAnswerOut, NewcomersOut
from services.broker.ask_maintenance import (
    MaintenanceRefused,
    MaintenanceRequest,
    ask_queue,
    foresee,
    request_maintenance,
)

router = APIRouter(prefix="/v1/unavailability-events", tags=["unavailability events"])
_NOUN = "unavailability-events"
EventId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the event")]
Health = Depends(require(Role.HEALTH))


class UnavailabilityEventIn(RequestModel):
    """A present or future unavailability."""

    region: SomeName
    scope: PlaceKind = Field(
        description="server, rack, msb, datacenter, or a further kind of domain of the region, such as network_block"
    )
    scope_name: SomeName = Field(description="Name of the server, rack, MSB, datacenter or domain")
    kind: Literal["planned", "unplanned"] = Field(
        description="unplanned: it takes effect at once, and its servers count for no capacity; planned: it asks "
        "first, and its servers still count"
    )
    reason: SomeName
    starts_at: Moment | None = Field(default=None, description="Left out: now")
    ends_at: Moment | None = Field(
        default=None, description="When it ends by itself; if omitted, it lasts until a call ends it"
    )
    override_reason: GivenReason | None = Field(
        default=None,
        description="Planned only: why it must begin against the rules. It needs an operator's token, and an approval "
        "where the region's approval limits demand four eyes",
    )


class UnavailabilityEventOut(ResponseModel):
    """A failure or a maintenance."""

    unavailability_event_id: int
    region: str
    scope: str = Field(description="server, rack, msb, datacenter, or a further kind of domain")
    scope_name: str
    kind: Unavailability
    reason: str
    starts_at: datetime
    ends_at: datetime | None = Field(description="Expected end. Maintenance that waited keeps its length")
    ended_at: datetime | None = Field(description="null while it is open")
    state: EventState = Field(description="Only an allowed event takes effect, from starts_at until it ends")
    answer: MaintenanceAnswerOut | None = Field(description="Of the rules of maintenance; null: it did not ask yet")
    newcomers: NewcomersOut | None = Field(
        description="Servers in its scope that it does not take, because they came after it was allowed; null: there "
        "are none, or it does not take effect"
    )
    generation: int


@router.post(
    "",
    operation_id="create_unavailability_event",
    status_code=201,
    response_model=UnavailabilityEventOut,
    dependencies=[Health],
    responses={
        200: {"model": MaintenanceAnswerOut, "description": "With dry_run: the answer; nothing is written"},
        201: {"headers": headers("ETag", "Location"), "description": "It has begun, or is announced"},
        202: {
            "model": UnavailabilityEventOut,
            "headers": headers("ETag", "Location"),
            "description": "Its `answer` says what it waits for; or it waits for an approval",
        },
        **problems(404, 409),
    },
)
def post_event(
    body: UnavailabilityEventIn,
    write: Write,
    principal: Asking,
    context: Context,
    dry_run: Annotated[
        bool, Query(description="Planned only: answer what it would be told now. Writes nothing")
    ] = False,
) -> Response:
    """Report an event. A failure takes effect in the same transaction, or when it begins. Planned maintenance begins
    if the rules allow it; otherwise it is queued (202) or refused (409 `maintenance_refused`, nothing is kept).
    """
    now = context.clock.now()
    starts_at = now if body.starts_at is None else body.starts_at
    _check(body, starts_at, dry_run=dry_run, is_operator=principal.role.includes(Role.OPERATOR))
    if dry_run:
        _check_due(body, now)
        with context.database.snapshot() as tx:
            _check_scope(tx, body)
            answer = MaintenanceAnswerOut.of(foresee(tx, _request(body, starts_at), now=now))
        return Response(answer.model_dump_json(), media_type="application/json")

    def effect(tx: Transaction) -> Answer:
        _check_scope(tx, body)
        if body.kind == "planned":
            _check_due(body, now)
            try:
                event, approval = request_maintenance(tx, _request(body, starts_at), actor=principal.name, now=now)
            except MaintenanceRefused as refused:
                raise _refusal(body, refused) from refused
        else:
            event, approval = _report_failure(tx, body, starts_at, actor=principal.name, now=now), None
        waits = event.state in (EventState.QUEUED, EventState.AWAITING_APPROVAL)
        location = f"/v1/unavailability-events/{event.unavailability_event_id}"
        if approval is not None:
            location = f"/v1/approvals/{approval.approval_id}"
        out = UnavailabilityEventOut.model_validate(event)
        return Answer(202 if waits else 201, out, {"Location": location, **etag(event.generation)})

    return write.once(effect)


@router.get("", operation_id="list_unavailability_events", responses=problems(404))
def get_events(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    is_open: Annotated[bool | None, Query(alias="open", description="true: not ended; false: ended")] = None,
    kind: Annotated[Literal["planned", "unplanned"] | None, Query(description="Of this kind only")] = None,
    state: Annotated[EventState | None, Query(description="In this state only; queued: waiting")] = None,
    ended_after: Annotated[Moment | None, Query(description="Only those that ended after this moment")] = None,
) -> PageOf[UnavailabilityEventOut]:
    """List events in the order of their reports."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_events(
            tx,
            region,
            is_open=is_open,
            kind=kind,
            state=state,
            ended_after=ended_after,
            after=after,
            limit=paging.limit,
        )
    items = [UnavailabilityEventOut.model_validate(event) for event in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{unavailability_event_id}",
    operation_id="get_unavailability_event",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_event(unavailability_event_id: EventId, context: Context, response: Response) -> UnavailabilityEventOut:
    """Return one event."""
    with context.database.snapshot() as tx:
        event = load_event(tx, unavailability_event_id)
    response.headers.update(etag(event.generation))
    return UnavailabilityEventOut.model_validate(event)


@router.post(
    "/{unavailability_event_id}/end",
    operation_id="end_unavailability_event",
    response_model=UnavailabilityEventOut,
    dependencies=[Health],
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def post_end(unavailability_event_id: EventId, write: Write, principal: Asking, context: Context) -> Response:
    """End an event, or withdraw one that waits. No If-Match is needed: ending an ended event changes nothing."""

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        event = end_event(tx, unavailability_event_id, generation=None, actor=actor, now=now)
        supersede_of_event(tx, unavailability_event_id, decided_by=actor, reason="Ended", now=now)
        ask_queue(tx, load_region(tx, event.region).region_id, now=now)
        event = load_event(tx, unavailability_event_id)
        return Answer(200, UnavailabilityEventOut.model_validate(event), etag(event.generation))

    return write.once(effect)


def _request(body: UnavailabilityEventIn, starts_at: datetime) -> MaintenanceRequest:
    return MaintenanceRequest(
        region=body.region,
        scope=body.scope,
        scope_name=body.scope_name,
        reason=body.reason,
        starts_at=starts_at,
        ends_at=body.ends_at,
        override_reason=body.override_reason,
    )


def _report_failure(
    tx: Transaction, body: UnavailabilityEventIn, starts_at: datetime, *, actor: str, now: datetime
) -> UnavailabilityEvent:
    """Record an unplanned event. The queue hears of it in the same transaction."""
    event = open_event(
        tx,
        body.region,
        scope=body.scope,
        scope_name=body.scope_name,
        kind=Unavailability.UNPLANNED,
        reason=body.reason,
        starts_at=starts_at,
        ends_at=body.ends_at,
        actor=actor,
        now=now,
    )
    ask_queue(tx, load_region(tx, body.region).region_id, now=now)
    return event


def _check(body: UnavailabilityEventIn, starts_at: datetime, *, dry_run: bool, is_operator: bool) -> None:
    """Check what the fields mean together. Raises Problem."""
    if body.ends_at is not None and body.ends_at <= starts_at:
        message = f"must be after the event starts, at {moment(starts_at)}"
        raise invalid(FieldError(field="ends_at", location="body", code="not_after_start", message=message))
    if body.kind == "unplanned":
        message = "is for planned maintenance; a failure takes effect at once"
        if body.override_reason is not None:
            raise invalid(FieldError(field="override_reason", location="body", code="not_planned", message=message))
        if dry_run:
            raise invalid(FieldError(field="dry_run", location="query", code="not_planned", message=message))
    if body.override_reason is not None and not is_operator:
        raise Problem(403, "forbidden", "Only an operator may let maintenance begin against the rules.")


def _check_scope(tx: Transaction, body: UnavailabilityEventIn) -> None:
    """Check that the region has the kind and the domain. Raises Problem, and NotFound for the region."""
    wrong = wrong_scope(tx, load_region(tx, body.region), body.scope, body.scope_name)
    if wrong:
        raise invalid(*wrong)


def _check_due(body: UnavailabilityEventIn, now: datetime) -> None:
    """Check that maintenance does not lie in the past. It begins when it is asked for, so a wrong year would begin it
    at once. A repeated call is answered from its key before this check. Raises Problem.
    """
    past = past_error("starts_at", body.starts_at, now=now, todo="leave it out to begin at once")
    errors = [] if past is None else [past]
    if body.ends_at is not None and body.ends_at <= now:
        message = "is over: name a later time, or leave it out"
        errors.append(FieldError(field="ends_at", location="body", code="past", message=message))
    if errors:
        raise invalid(*errors)


def _refusal(body: UnavailabilityEventIn, refused: MaintenanceRefused) -> Problem:
    detail = f"Maintenance of {body.scope} {body.scope_name} is refused: {refused}. An operator may override that."
    answer = MaintenanceAnswerOut.of(refused.answer).model_dump(mode="json")
    return Problem(409, "maintenance_refused", detail, answer=answer)

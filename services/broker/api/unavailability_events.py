"""`/v1/unavailability-events`: failures and maintenance, as health systems report them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.unavailability import Unavailability, UnavailabilityScope
from libs.store.fleet.unavailability_events import end_event, list_events, load_event, open_event
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Moment, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, invalid

router = APIRouter(prefix="/v1/unavailability-events", tags=["unavailability events"])
_NOUN = "unavailability-events"
EventId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the event")]
Health = Depends(require(Role.HEALTH))


class UnavailabilityEventIn(RequestModel):
    """A present or future unavailability."""

    region: SomeName
    scope: UnavailabilityScope
    scope_name: SomeName = Field(description="Name of the server, rack, MSB or datacenter")
    kind: Literal["planned", "unplanned"] = Field(
        description="unplanned: its servers count for no capacity; planned: they still do"
    )
    reason: SomeName
    starts_at: Moment | None = Field(default=None, description="Left out: now")
    ends_at: Moment | None = Field(
        default=None, description="When it ends by itself; if omitted, it lasts until a call ends it"
    )


class UnavailabilityEventOut(ResponseModel):
    """A failure or a maintenance."""

    unavailability_event_id: int
    region: str
    scope: UnavailabilityScope
    scope_name: str
    kind: Unavailability
    reason: str
    starts_at: datetime
    ends_at: datetime | None
    ended_at: datetime | None = Field(description="null while it is open")
    generation: int


@router.post(
    "",
    operation_id="create_unavailability_event",
    status_code=201,
    response_model=UnavailabilityEventOut,
    dependencies=[Health],
    responses={201: {"headers": headers("ETag", "Location")}, **problems(404)},
)
def post_event(body: UnavailabilityEventIn, write: Write, principal: Asking, context: Context) -> Response:
    """Report an event. The unavailability of its servers changes in the same transaction, or when the event begins."""
    now = context.clock.now()
    starts_at = now if body.starts_at is None else body.starts_at
    if body.ends_at is not None and body.ends_at <= starts_at:
        message = f"must be after {starts_at.isoformat()}, when the event starts"
        raise invalid(FieldError(field="ends_at", location="body", code="not_after_start", message=message))

    def effect(tx: Transaction) -> Answer:
        event = open_event(
            tx,
            body.region,
            scope=body.scope,
            scope_name=body.scope_name,
            kind=Unavailability(body.kind),
            reason=body.reason,
            starts_at=starts_at,
            ends_at=body.ends_at,
            actor=principal.name,
            now=now,
        )
        location = {"Location": f"/v1/unavailability-events/{event.unavailability_event_id}"}
        return Answer(201, UnavailabilityEventOut.model_validate(event), {**location, **etag(event.generation)})

    return write.once(effect)


@router.get("", operation_id="list_unavailability_events", responses=problems(404))
def get_events(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    is_open: Annotated[bool | None, Query(alias="open", description="true: not ended; false: ended")] = None,
) -> PageOf[UnavailabilityEventOut]:
    """List events in the order of their reports."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_events(tx, region, is_open=is_open, after=after, limit=paging.limit)
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
    """End an event. No If-Match is needed, because ending an ended event changes nothing."""

    def effect(tx: Transaction) -> Answer:
        now, actor = context.clock.now(), principal.name
        event = end_event(tx, unavailability_event_id, generation=None, actor=actor, now=now)
        return Answer(200, UnavailabilityEventOut.model_validate(event), etag(event.generation))

    return write.once(effect)

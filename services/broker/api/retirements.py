"""`/v1/retirements`: places and servers that leave the fleet, or change their type, on a date."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.retirement import Retirement, RetirementKind, RetirementScope, RetirementStatus, condition_of
from libs.store.fleet.retirements import announce_retirement, cancel_retirement, list_retirements, load_retirement
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Moment, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.past import past_error
from libs.web.problems import FieldError, invalid

router = APIRouter(prefix="/v1/retirements", tags=["retirements"])
_NOUN = "retirements"
RetirementId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the retirement")]
Operator = Depends(require(Role.OPERATOR))


class RetirementIn(RequestModel):
    """A request to empty a place or a server by a date."""

    region: SomeName
    scope: RetirementScope
    scope_name: SomeName = Field(description="Name of the server, rack, MSB or datacenter")
    kind: RetirementKind = Field(description="decommission: it leaves the fleet; refresh: it becomes another type")
    to_hardware_type: SomeName | None = Field(default=None, description="For a refresh: the type that comes back")
    reason: SomeName
    due_at: Moment = Field(description="When it must be empty")
    back_at: Moment | None = Field(
        default=None, description="For a refresh: the servers are down from due_at until this moment"
    )


class RetirementOut(ResponseModel):
    """A retirement, and the servers that still delay it."""

    retirement_id: int
    region: str
    scope: RetirementScope
    scope_name: str
    kind: RetirementKind
    to_hardware_type: str | None
    reason: str
    due_at: datetime
    back_at: datetime | None
    status: RetirementStatus
    condition: str = Field(description="Announced: Emptying, Empty or Overdue; else Done or Cancelled")
    message: str = Field(description="For people: the state, and what to do next")
    servers: int = Field(description="Servers of the fleet in the scope, while it is announced")
    held: dict[str, int] = Field(description="Reservation -> servers bound to it, by current or target binding")
    moving: int = Field(description="Servers with a move under way")
    booked: dict[str, int] = Field(description="Reservation that begins later -> servers that are booked for it")
    generation: int
    created_at: datetime
    finished_at: datetime | None


@router.post(
    "",
    operation_id="create_retirement",
    status_code=201,
    response_model=RetirementOut,
    dependencies=[Operator],
    responses={201: {"headers": headers("ETag", "Location")}, **problems(404, 409)},
)
def post_retirement(body: RetirementIn, write: Write, principal: Asking, context: Context) -> Response:
    """Announce a retirement. Its servers get no new targets from now on, and solves replace the bound ones."""
    now = context.clock.now()
    if body.back_at is not None and (body.kind is not RetirementKind.REFRESH or body.back_at <= body.due_at):
        message = "must be after due_at, and is for a refresh only"
        raise invalid(FieldError(field="back_at", location="body", code="not_after_start", message=message))

    def effect(tx: Transaction) -> Answer:
        past = past_error("due_at", body.due_at, now=now, todo="name a later time, or today for at once")
        if past is not None:
            raise invalid(past)
        found = announce_retirement(
            tx,
            body.region,
            scope=body.scope,
            scope_name=body.scope_name,
            kind=body.kind,
            to_hardware_type=body.to_hardware_type,
            reason=body.reason,
            due_at=body.due_at,
            back_at=body.back_at,
            actor=principal.name,
            now=now,
        )
        location = {"Location": f"/v1/retirements/{found.retirement_id}"}
        return Answer(201, _out(found, now), {**location, **etag(found.generation)})

    return write.once(effect)


@router.get("", operation_id="list_retirements", responses=problems(404))
def get_retirements(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
    status: Annotated[RetirementStatus | None, Query(description="With this status only")] = None,
) -> PageOf[RetirementOut]:
    """List retirements in the order of their announcement."""
    after, now = paging.after(_NOUN), context.clock.now()
    with context.database.snapshot() as tx:
        page = list_retirements(tx, region, status=status, after=after, limit=paging.limit)
    items = [_out(retirement, now) for retirement in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get(
    "/{retirement_id}",
    operation_id="get_retirement",
    responses={200: {"headers": headers("ETag")}, **problems(404)},
)
def get_retirement(retirement_id: RetirementId, context: Context, response: Response) -> RetirementOut:
    """Return one retirement."""
    with context.database.snapshot() as tx:
        found = load_retirement(tx, retirement_id)
    response.headers.update(etag(found.generation))
    return _out(found, context.clock.now())


@router.post(
    "/{retirement_id}/cancel",
    operation_id="cancel_retirement",
    response_model=RetirementOut,
    dependencies=[Operator],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_cancel(
    retirement_id: RetirementId, expected: ExpectedGeneration, write: Write, principal: Asking, context: Context
) -> Response:
    """Cancel a retirement. Its servers stay in the fleet. Servers that reservations gave up already stay free.

    A finished retirement does not change.
    """
    now = context.clock.now()

    def effect(tx: Transaction) -> Answer:
        found = cancel_retirement(tx, retirement_id, generation=expected, actor=principal.name, now=now)
        return Answer(200, _out(found, now), etag(found.generation))

    return write.once(effect)


def _out(retirement: Retirement, now: datetime) -> RetirementOut:
    said = condition_of(retirement, now)
    fields = {name: getattr(retirement, name) for name in Retirement.__dataclass_fields__}
    return RetirementOut(**fields, condition=said.reason, message=said.message)

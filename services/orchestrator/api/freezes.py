"""`/v1/freezes`: the calendar of times in which no action of a plan begins."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from libs.domain.freeze import Freeze, FreezeScope
from libs.domain.principal import Role
from libs.store.executions.freezes import count_open_freezes, end_freeze, insert_freeze, list_freezes, load_freeze
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, Moment, PageOf, RequestModel, ResponseModel, SomeName
from libs.web.openapi import headers, problems
from libs.web.problems import FieldError, Problem, invalid
from libs.web.reasons import GivenReason
from libs.web.world_names import require_known_scope

router = APIRouter(prefix="/v1/freezes", tags=["freezes"])
_NOUN = "freezes"
OPEN_MAX = 1000
"""Largest number of freezes that have not ended. Every tick reads those of the moment."""
LENGTH_MAX = timedelta(days=366)
FreezeId = Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the freeze")]
_EXAMPLE: dict[str, Any] = {
    "scope": "region",
    "name": "east",
    "starts_at": "2026-11-26T00:00:00Z",
    "ends_at": "2026-12-01T00:00:00Z",
    "reason": "the sale",
}


class FreezeIn(RequestModel):
    """A freeze to enter. Freezes may overlap."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})
    scope: FreezeScope = Field(description="region: its resizes and shifts; service: resizes; product: shifts")
    name: SomeName | None = Field(
        default=None, validate_default=True, description="Of the region, service or product; not for all"
    )
    starts_at: Moment
    ends_at: Moment
    reason: GivenReason

    @field_validator("name")
    @classmethod
    def _of_scope(cls, name: str | None, info: ValidationInfo) -> str | None:
        scope = info.data.get("scope")  # absent if it is not valid itself
        if scope is not None and (scope is FreezeScope.ALL) != (name is None):
            raise ValueError("name the region, service or product; a freeze of all has no name")
        return name

    @field_validator("ends_at")
    @classmethod
    def _bounded(cls, ends_at: datetime, info: ValidationInfo) -> datetime:
        starts_at = info.data.get("starts_at")
        if starts_at is not None and ends_at <= starts_at:
            raise ValueError("must be after starts_at")
        if starts_at is not None and ends_at - starts_at > LENGTH_MAX:
            raise ValueError(f"is too late: a freeze lasts at most {LENGTH_MAX.days} days")
        return ends_at


class EndIn(RequestModel):
    """Why a freeze ends early."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the sale is over"}]})
    reason: GivenReason


class FreezeOut(ResponseModel):
    """One freeze."""

    freeze_id: int
    scope: FreezeScope
    name: str | None
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None = Field(description="When a person ended it early")
    ended_by: str | None
    on: bool = Field(description="true: it holds actions now")
    generation: int


@router.post(
    "",
    operation_id="create_freeze",
    status_code=201,
    response_model=FreezeOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={201: {"headers": headers("ETag", "Location")}, **problems(409)},
)
def post_freeze(body: FreezeIn, write: Write, principal: Asking, context: Context) -> Response:
    """Enter a freeze. From its start on no action in its scope begins. An action in flight comes to its end, and a
    shift stays at the fraction that it has reached.
    """

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        if body.ends_at <= now:
            message = "is in the past"
            raise invalid(FieldError(field="ends_at", location="body", code="in_the_past", message=message))
        if body.name is not None:
            require_known_scope(tx, body.scope, body.name)
        if count_open_freezes(tx, now) >= OPEN_MAX:
            raise Problem(409, "conflict", f"There are {OPEN_MAX} freezes that have not ended: end some first.")
        given = {name: getattr(body, name) for name in ("scope", "name", "starts_at", "ends_at", "reason")}
        made = insert_freeze(tx, **given, created_by=principal.name, now=now)
        audit.append(
            tx,
            actor=principal.name,
            action="create",
            subject_kind="freeze",
            subject_id=made.freeze_id,
            now=now,
            after=body.model_dump(mode="json", exclude={"reason"}),
            reason=body.reason,
        )
        location = {"Location": f"/v1/freezes/{made.freeze_id}"}
        return Answer(201, _out(made, now), location | etag(made.generation))

    return write.once(effect)


@router.get("", operation_id="list_freezes")
def get_freezes(
    context: Context,
    paging: Paging,
    open_: Annotated[bool, Query(alias="open", description="Only those that have not ended")] = False,
) -> PageOf[FreezeOut]:
    """List freezes, latest first."""
    before, now = paging.after(_NOUN), context.clock.now()
    with context.database.snapshot() as tx:
        page = list_freezes(tx, open_at=now if open_ else None, before=before, limit=paging.limit)
    return PageOf(items=[_out(one, now) for one in page.items], next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.get("/{freeze_id}", operation_id="get_freeze", responses={200: {"headers": headers("ETag")}, **problems(404)})
def get_freeze(freeze_id: FreezeId, context: Context, response: Response) -> FreezeOut:
    """Return one freeze."""
    with context.database.snapshot() as tx:
        found = load_freeze(tx, freeze_id)
    response.headers.update(etag(found.generation))
    return _out(found, context.clock.now())


@router.post(
    "/{freeze_id}/end",
    operation_id="end_freeze",
    response_model=FreezeOut,
    dependencies=[Depends(require(Role.OPERATOR))],
    responses={200: {"headers": headers("ETag")}, **problems(404, 409)},
)
def post_end(
    freeze_id: FreezeId,
    body: EndIn,
    expected: ExpectedGeneration,
    write: Write,
    principal: Asking,
    context: Context,
) -> Response:
    """End a freeze early, or call it off before it starts."""

    def effect(tx: Transaction) -> Answer:
        now = context.clock.now()
        if load_freeze(tx, freeze_id).ended_at is not None:
            raise Problem(409, "wrong_phase", f"Freeze {freeze_id} has ended already.")
        ended = end_freeze(tx, freeze_id, generation=expected, ended_by=principal.name, now=now)
        audit.append(
            tx,
            actor=principal.name,
            action="end",
            subject_kind="freeze",
            subject_id=freeze_id,
            now=now,
            reason=body.reason,
        )
        return Answer(200, _out(ended, now), etag(ended.generation))

    return write.once(effect)


def _out(one: Freeze, now: datetime) -> FreezeOut:
    values = {name: getattr(one, name) for name in Freeze.__dataclass_fields__}
    return FreezeOut(**values, on=one.is_on(now))

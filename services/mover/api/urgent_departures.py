"""`/v1/urgent-departures`: servers that operators want out of their reservation at once, with a reason."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.domain.urgent_departure import URGENT_AT_ONCE_MAX
from libs.domain.words import as_sentence
from libs.reconcile.jobs import MOVE
from libs.store.fleet.regions import load_region
from libs.store.moves.urgent_departures import find_named, find_retiring, list_urgent, mark_urgent, unmark_urgent
from libs.store.platform.database import Transaction
from libs.store.platform.jobs import enqueue
from libs.store.platform.refusals import NotPossible
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.cursors import Paging, next_cursor
from libs.web.idempotency import Answer, Write
from libs.web.model import ID_MAX, PageOf, RequestModel, ResponseModel, SomeName, Whole
from libs.web.openapi import problems
from libs.web.problems import FieldError, Problem, invalid
from libs.web.reasons import GivenReason

router = APIRouter(prefix="/v1/urgent-departures", tags=["urgent-departures"])
_NOUN = "urgent-departures"
_OPERATOR = [Depends(require(Role.OPERATOR))]


class UrgentIn(RequestModel):
    """The servers to mark: named ones, or all of a retirement. A server must be in a reservation."""

    region: SomeName
    servers: list[SomeName] = Field(default_factory=list, max_length=URGENT_AT_ONCE_MAX, description="By name")
    retirement_id: Whole | None = Field(default=None, ge=1, le=ID_MAX, description="All servers of this retirement")
    reason: GivenReason = Field(description="One line, for the audit trail and the moves")


class UrgentOut(ResponseModel):
    """A marked server. The mark ends when the server has left its reservation."""

    region: str
    server_id: int
    server: str
    reservation: str | None = Field(description="The reservation that it is in now")
    reason: str
    marked_by: str
    marked_at: datetime


class MarkedOut(ResponseModel):
    """How many servers were marked."""

    marked: int = Field(
        description="Servers that were marked. A server in no reservation has nothing to leave, and is not marked"
    )


@router.get("", operation_id="list_urgent_departures", responses=problems(404))
def get_urgent_departures(
    context: Context,
    paging: Paging,
    region: Annotated[SomeName | None, Query(description="Of this region only")] = None,
) -> PageOf[UrgentOut]:
    """List the marked servers by id."""
    after = paging.after(_NOUN)
    with context.database.snapshot() as tx:
        page = list_urgent(tx, region=region, after=after, limit=paging.limit)
    items = [UrgentOut.model_validate(one) for one in page.items]
    return PageOf(items=items, next_cursor=next_cursor(_NOUN, page.next_cursor))


@router.post(
    "",
    operation_id="mark_urgent_departures",
    response_model=MarkedOut,
    dependencies=_OPERATOR,
    responses=problems(404, 409),
)
def post_urgent_departures(body: UrgentIn, write: Write, principal: Asking, context: Context) -> Response:
    """Let servers leave their reservation at the level *hold*, at once: its promise stays, and its embedded buffer for
    the loss of an MSB is used. The mover still moves them only where a plan sends them.
    """

    def effect(tx: Transaction) -> Answer:
        region_id = load_region(tx, body.region).region_id
        try:
            number = mark_urgent(
                tx, region_id, _ids(tx, region_id, body), reason=body.reason, actor=principal.name,
                now=context.clock.now(),
            )  # fmt: skip
        except NotPossible as none:
            raise Problem(409, "wrong_phase", as_sentence(str(none))) from none
        enqueue(tx, MOVE, body.region)
        return Answer(200, MarkedOut(marked=number))

    return write.once(effect)


@router.delete(
    "/{server_id}",
    operation_id="unmark_urgent_departure",
    status_code=204,
    response_model=None,
    dependencies=_OPERATOR,
    responses=problems(404),
)
def delete_urgent_departure(
    server_id: Annotated[int, Path(ge=1, le=ID_MAX, description="Id of the server")],
    write: Write,
    principal: Asking,
    context: Context,
    reason: Annotated[GivenReason, Query(description="One line, for the audit trail")],
) -> Response:
    """Remove the mark of a server. A step that was asked for goes on."""

    def effect(tx: Transaction) -> Answer:
        unmark_urgent(tx, server_id, reason=reason, actor=principal.name, now=context.clock.now())
        return Answer(204, None)

    return write.once(effect)


def _ids(tx: Transaction, region_id: int, body: UrgentIn) -> list[int]:
    if bool(body.servers) == (body.retirement_id is not None):
        message = "name servers, or one retirement_id"
        raise invalid(FieldError(field="servers", location="body", code="missing", message=message))
    if body.retirement_id is not None:
        return find_retiring(tx, region_id, body.retirement_id)
    ids, unknown = find_named(tx, region_id, body.servers)
    if unknown:
        message = f"no server of {body.region} has the name {unknown[0]!r}"
        raise invalid(FieldError(field="servers", location="body", code="unknown_name", message=message))
    return ids

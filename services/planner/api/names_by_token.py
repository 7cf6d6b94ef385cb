"""`/v1/telemetry/names`: the number of service and series names per token, and their deletion."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from libs.domain.principal import Role
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.platform.tokens import find_token
from libs.store.telemetry.names_by_token import forget_named_by, list_named_by
from libs.web.auth import Asking, require
from libs.web.context import Context
from libs.web.idempotency import Answer, Write
from libs.web.model import ResponseModel, SomeName, Time
from libs.web.openapi import problems
from libs.web.reasons import ReasonQuery
from services.planner.span_intake import SpanDoor

router = APIRouter(prefix="/v1/telemetry/names", tags=["telemetry"], dependencies=[Depends(require(Role.OPERATOR))])


class CountsOut(ResponseModel):
    """Numbers of names."""

    services: int = Field(description="Services that spans named")
    usage_series: int
    traffic_series: int


class NamedByOut(CountsOut):
    """The number of names that a token brought first."""

    named_by: str | None = Field(description="The token; null: none, or the name is older than this record")


class NamesOut(ResponseModel):
    """The number of names per token, and the limits on them."""

    tokens: list[NamedByOut]
    services_max: int
    series_max: int = Field(description="Largest number of series of usage, and likewise of traffic")


@router.get("", operation_id="list_telemetry_names")
def get_names(context: Context, door: SpanDoor) -> NamesOut:
    """Count names by the token that brought them. A token may bring at most as many names of a kind as are free."""
    with context.database.snapshot() as tx:
        found = list_named_by(tx)
    limits = door.settings
    return NamesOut(
        tokens=[NamedByOut.model_validate(one) for one in found],
        services_max=limits.traced_services_max,
        series_max=limits.series_max,
    )


@router.delete("", operation_id="forget_telemetry_names", response_model=CountsOut, responses=problems(404))
def delete_names(
    named_by: Annotated[SomeName, Query(description="The token that brought the names")],
    write: Write,
    principal: Asking,
    context: Context,
    since: Annotated[Time | None, Query(description="Only names that the token brought since this time")] = None,
    reason: ReasonQuery = None,
) -> Response:
    """Forget the names that a token brought, with all their sums and measurements. Other tokens may then use the room.

    Revoke a hostile token first, because names that it sends again count again.
    """

    def effect(tx: Transaction) -> Answer:
        token = find_token(tx, named_by)
        forgotten = forget_named_by(tx, named_by, since=since)
        audit.append(
            tx,
            actor=principal.name,
            action="forget_telemetry_names",
            subject_kind="telemetry_names",
            subject_id=token.token_id,
            now=context.clock.now(),
            before={"since": since and since.isoformat(), **forgotten},
            reason=reason,
        )
        return Answer(200, CountsOut(**forgotten))

    return write.once(effect)
